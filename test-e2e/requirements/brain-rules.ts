/** What the brain promises of files, names, git, leases and sync: sections 1 to 6 of its contract. */
export const BRAIN_RULES = {
  'brain:path:blocked': [
    'brain core acceptance 12',
    'Every illegal path is VAF_PATH_BLOCKED and no file outside the brain changes.',
  ],
  'brain:path:root': ['brain files', 'A file may lie at the root of a brain and up to 8 segments deep.'],
  'brain:path:case': ['brain files', 'A new name that case-folds to an existing one is VAF_PATH_BLOCKED.'],
  'brain:path:both-forms': [
    'brain files',
    'category and filename together with a file that differs is VAF_INPUT_INVALID; each form alone means the same path.',
  ],
  'brain:path:extension': [
    'brain files',
    'x and x.md are one file, data.json stays, v1.2 becomes v1.2.md, an exact match wins.',
  ],
  'brain:content:bytes': [
    'brain files',
    'Text comes back byte for byte, CRLF, emoji and conflict markers included; the hash is that of sha256sum.',
  ],
  'brain:content:limits': [
    'brain files',
    'NUL, lone surrogates and more than 1 MiB are refused and nothing is written.',
  ],
  'brain:content:not-text': ['brain files', 'A file that is not UTF-8 text is E_NOT_TEXT.'],
  'brain:names:brain': ['brain files', 'Illegal brain names are refused as arguments.'],
  'brain:names:branch': [
    'brain core acceptance 12',
    'Illegal branch names, options of git among them, are refused; names that fold to an existing one too.',
  ],
  'brain:names:options-as-text': [
    'brain core acceptance 12',
    'Messages, agent ids and contents that look like options of git come back exactly and run nothing.',
  ],
  'brain:git:repository': [
    'brain files',
    'A brain is an ordinary git repository on main whose first commit is the empty tree.',
  ],
  'brain:git:foreign': [
    'brain files',
    'Dot files, symlinks and bad names made by a person stay in commits, are listed with their kind, and are never served or followed.',
  ],
  'brain:git:config': [
    'brain files',
    'A repository whose own configuration is dangerous is BRAIN_LOAD_FAIL 503, and health names it.',
  ],
  'brain:git:inert': ['brain core acceptance 11', 'Hooks and filters planted in the repository never run.'],
  'brain:git:person-commit': [
    'brain files',
    "After a commit by the service a person's git status is clean; it waits for a person's index.lock and takes away one that nobody holds any more.",
  ],
  'brain:external:seen': [
    'brain core acceptance 11',
    'An edit by hand is found by search within 2 s, gives an external event, and makes an old ifMatch E_CONFLICT.',
  ],
  'brain:external:removed': ['brain files', 'A file added or removed by hand is served or gone at the next read.'],
  'brain:diverted': [
    'brain files',
    'While a person has another branch or a merge in the worktree, writes are E_BRAIN_DIVERTED and reads go on.',
  ],
  'brain:commit:shape': [
    'brain files',
    'A commit has the actor as author, the service as committer and its trailers; user lines cannot forge them.',
  ],
  'brain:worktree:separate': [
    'brain core acceptance 10',
    'Two sessions on two branches write the same path at once; each reads its own bytes, both trees hold them.',
  ],
  'brain:worktree:lost': [
    'branches acceptance 3',
    'A worktree deleted by hand is reopened from its last commit and health names the loss.',
  ],
  'brain:write:fallthrough': [
    'brain tools acceptance 3',
    'Reads fall through the stack and name the brain; writes go to the top; a public one is E_READ_ONLY.',
  ],
  'brain:write:same-bytes': [
    'brain core acceptance 3',
    'The same bytes again with the old ifMatch are saved, changed false, without a second event.',
  ],
  'brain:write:if-match': [
    'brain files',
    'ifMatch none refuses an existing file, a stale hash is E_CONFLICT with the current one.',
  ],
  'brain:write:quiet-paths': [
    'brain files',
    'No temporary or lock file of the service is left in a brain after writes and commits.',
  ],
  'brain:boot:lock': [
    'brain files',
    'A second process on one embedded data directory does not start; the lock of a dead one is taken over.',
  ],
  'brain:boot:leftovers': [
    'brain files',
    'Leftovers in the data directory are removed at boot and differences to the catalogue become recovery events.',
  ],
  'brain:session:own': [
    'brain session pointer',
    "A fresh session is on the default brain and main; two sessions never see each other's stack or branch.",
  ],
  'brain:session:branch-remembered': [
    'brain session pointer',
    'Switching back to a brain brings the branch this session last used there.',
  ],
  'brain:session:override': [
    'brain session pointer',
    'brain and branch arguments override the pointer for that call only.',
  ],
  'brain:session:durable': ['brain tools acceptance 2', "A session's stack and branch survive a restart."],
  'lease:acquire': [
    'brain lease',
    'A free lease is granted with token, fence and expiry; fences only grow; a second agent is E_LOCKED with holder and expiry.',
  ],
  'lease:refresh': ['brain lease', 'Acquire with the token moves the expiry, keeps the fence, and needs no event.'],
  'lease:release': [
    'brain core acceptance 9',
    'Release frees with the right token; a wrong one is E_LEASE_TOKEN and counted; without a lease E_LEASE_ABSENT.',
  ],
  'lease:force': ['brain lease', 'Force frees the lease, raises the fence, and fences the holder off.'],
  'lease:expiry': ['brain lease', 'An expired lease is free at once, and its end is told within 5 s.'],
  'lease:guard': [
    'brain core acceptance 7',
    'Only the holder writes, whatever fence others pass; a fence of no live lease is E_FENCED and changes nothing.',
  ],
  'lease:guarded-tools': [
    'brain lease',
    'Every change to files and refs is guarded; reads, search and the pointer are not.',
  ],
  'lease:busy-writers': [
    'brain core acceptance 8',
    'With writers busy on 4 branches a lease is granted within a second, and nobody else writes after it.',
  ],
  'lease:paused-holder': ['brain lease', 'A holder stopped past its ttl has all of its 100 stale writes refused.'],
  'lease:secret': [
    'brain core acceptance 9',
    'Status, stack, stats, health, events and logs hold neither the token nor its hash.',
  ],
  'lease:events': ['brain lease', 'Grant and end give lock:acquired and lock:released once each, refresh none.'],
  'lease:counters': ['brain lease', 'The counters of the queue and of the lease satisfy their identities at rest.'],
  'sync:up-to-date': ['brain sync', 'Equal histories, or ours ahead, pull as up-to-date without a change.'],
  'sync:fast-forward': ['brain sync', 'A remote that is ahead moves the branch and its files.'],
  'sync:merged': [
    'brain sync',
    'Changes of both sides that do not clash are merged, JSON by key and text by lines, into a commit of two parents.',
  ],
  'sync:conflicts': [
    'sync acceptance 2',
    'A clash keeps ours, no marker is written, both tips stay under a rescue ref and are readable with at.',
  ],
  'sync:conflict-closed': ['brain sync', 'A later write to the clashing file closes its conflict.'],
  'sync:dirty-first': ['brain sync', 'Uncommitted files are committed before a pull and are not lost.'],
  'sync:push': ['brain sync', 'Push moves the remote without force; one that moved meanwhile is integrated first.'],
  'sync:not-configured': ['brain sync', 'A remote that is not configured is E_NOT_CONFIGURED.'],
  'sync:unreachable': ['brain sync', 'A remote that does not answer is E_REMOTE_UNREACHABLE and changes nothing.'],
  'sync:rejected': ['brain sync', "A push that the remote's hook refuses is E_REMOTE_REJECTED."],
  'sync:https': [
    'sync acceptance 5',
    'Push and pull work over https with a private certificate and a token, which shows up nowhere.',
  ],
  'sync:auth': ['brain sync', 'A remote that refuses the credential is E_REMOTE_AUTH.'],
  'sync:foreign': [
    'brain sync',
    'Foreign entries of a remote stay in history and are never written where they could act.',
  ],
  'sync:events': ['brain sync', 'A sync gives one sync:start and then exactly one of sync:complete and sync:error.'],
} as const;
