/** What the tools of the brain promise: core, search, brain_*, branches. */
export const BRAIN_TOOLS = {
  'brain:memory:round-trip': [
    'brain core acceptance 1',
    'What svc_set_memory stores, svc_get_memory returns, with its SHA-256, and the file on disk holds the bytes.',
  ],
  'brain:memory:at': ['brain core', 'at reads a past commit or another branch; an unknown one is E_REF_ABSENT.'],
  'brain:memory:dirty': ['brain core', 'A clean file names the head commit, a changed one says dirty and null.'],
  'brain:memory:absent': ['brain core', 'A missing file is E_FILE_ABSENT.'],
  'brain:cas:one-winner': [
    'brain core acceptance 2',
    "Of 20 simultaneous compare-and-swap writers one wins and 19 get E_CONFLICT with the winner's hash.",
  ],
  'brain:writers:all-kept': [
    'brain core acceptance 4',
    '4 client processes write many files each: all readable, fsck strict, one linear commit lists them.',
  ],
  'brain:crash:nothing-lost': [
    'brain core acceptance 5',
    'kill -9 at random points loses no acknowledged write or commit; the next write works within 2 s of boot.',
  ],
  'brain:branches:list': ['brain core', 'svc_list_branches shows each branch, the current one, and what is dirty.'],
  'brain:branches:create': [
    'brain core',
    'A branch starts at the head, a branch or a commit; an existing or colliding name is E_BRANCH_EXISTS.',
  ],
  'brain:branches:switch': ['brain core', 'Switching changes this session only; an unknown branch is E_BRANCH_ABSENT.'],
  'brain:commit:result': ['brain core', 'svc_commit lists what changed; with nothing to commit it says no-changes.'],
  'brain:health': ['brain core', 'svc_health shows brains, queue, lock counters, index and git, and is ok at rest.'],
  'brain:islands:list': ['brain core', "svc_get_islands lists the islands that are in the brain's files."],
  'brain:rerank': [
    'brain core',
    'svc_rerank orders given documents by a query and compresses within its budget, with citations.',
  ],
  'search:immediate': [
    'search acceptance 1',
    'An acknowledged write is found by its rarest word at once, every time, in every offered mode.',
  ],
  'search:modes': [
    'search acceptance 4',
    'All five modes answer without network and model, each as its own tool does.',
  ],
  'search:pages': [
    'search paging',
    'A search goes on where its cursor says, over any gateway and whatever is written between the pages: nothing comes twice, nothing that did not change is left out.',
  ],
  'search:semantic': [
    'embedder',
    'With an embedder set up, what is written is found by what it means, by itself and beside words; each passage is asked about once, and is gone with its text.',
  ],
  'search:semantic:rules': [
    'search acceptance 2',
    'A search by meaning finds and counts only what the caller may read.',
  ],
  'search:dead-embedder': [
    'search acceptance 4',
    'An embedder that fails, hangs or answers nonsense leaves searches to words, which say so; a search by meaning alone is a typed refusal in time.',
  ],
  'search:vectors-back': ['embedder', 'When the embedder is back, all vectors are made without anybody asking for it.'],
  'search:stable': [
    'search acceptance 5',
    'The same query gives the same bytes twice and on every gateway; a hostile query is refused or answered at once.',
  ],
  'search:budget': [
    'search acceptance 7',
    "Under a budget the context stays within it and each citation's lines hold the quoted sentence.",
  ],
  'search:scope': [
    'brain search',
    'category limits by path, limit by count, group passage gives passages, an empty query has no results.',
  ],
  'search:ranking': [
    'brain search',
    'Titles weigh more than bodies, inflected words match, order is by score and then file.',
  ],
  'search:deleted': ['brain search', 'A deleted or overwritten text is no longer found.'],
  'brain:switch:absent': [
    'brain tools acceptance 1',
    'Switching to an unknown brain is BRAIN_LOAD_FAIL 404 "Failed to load brain"; with create it exists with main.',
  ],
  'brain:push:own-stack': ['brain tools acceptance 2', "A push changes this session's stack only."],
  'brain:stack:walk': [
    'brain tools',
    'push moves to the top, pop goes back and keeps the last, load replaces the stack all or nothing, at most 16.',
  ],
  'brain:current': ['brain tools', 'brain_current and brain_state tell brain, branch, type, commit and dirt.'],
  'brain:list': ['brain tools', 'brain_list shows every brain, the current one and those on the stack.'],
  'brain:remove:order': [
    'brain tools acceptance 4',
    'brain_remove takes a brain off the stack first and only then a file of that name.',
  ],
  'brain:file-tools': [
    'brain tools',
    'brain_write, brain_read, brain_list_files, brain_get_file, brain_corpus and brain_delete_file are one store.',
  ],
  'brain:format': ['brain tools', 'format gives the extension; json and yaml must parse.'],
  'brain:save:one-file': [
    'brain tools',
    'brain_save commits the file it stores and no other; without arguments everything dirty.',
  ],
  'brain:delete:absent': ['brain tools', 'Deleting a missing file is deleted false with E_FILE_ABSENT.'],
  'brain:pages': ['brain tools', 'Lists come in pages that cover every row once.'],
  'brain:migration:status': ['brain tools', 'A new data directory is at layout 3, up to date, not legacy.'],
  'brain:migration:import': [
    'brain tools acceptance 7',
    'A legacy directory is imported by copy, existing files win, an unreadable one leaves no marker until a rerun.',
  ],
  'branch:is-dirty': ['branches acceptance 1', 'An uncommitted file is dirty until svc_commit or a commit by hand.'],
  'branch:auto': [
    'branches acceptance 2',
    'branch_auto commits the dirty files on a new branch, moves the session there, and leaves the old branch as it was.',
  ],
  'branch:changed-brains': [
    'branches',
    'svc_branch_changed_brains names the brains and branches with uncommitted files.',
  ],
  'events:files-and-commits': [
    'brain events',
    'A change gives brain:change with file, hash and kind, a commit brain:save, once each on every gateway.',
  ],
} as const;
