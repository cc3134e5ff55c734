/** What memory, addresses and lineage promise. */
export const BRAIN_MEMORY = {
  'memory:workspaces': [
    'memory acceptance 1',
    'What a member of a workspace stores is found there alone, falsy values as themselves; no argument leads elsewhere.',
  ],
  'memory:keys': [
    'memory acceptance 2',
    'A key too long for its workspace is refused, never cut, and none of the shared space poses as that of a workspace.',
  ],
  'memory:ttl': [
    'memory acceptance 3',
    'A value past its time is not found, whichever process is asked, and its key is free again.',
  ],
  'memory:versions': [
    'memory acceptance 4',
    'Of 50 writers who expect the same version one stores, and 49 are told the version that is there.',
  ],
  'address:same': [
    'memory acceptance 5',
    'Equal data has one address; it is found however the address is typed; a slip is noticed, and nothing is replaced.',
  ],
  'memory:learned': [
    'memory acceptance 6',
    'A learned document is found by what it says and by its key; cleared ones can be read where the answer says.',
  ],
  'lineage:acyclic': [
    'lineage acceptance 1',
    'Nothing descends from itself, neither through others nor at once; an id that is there takes only further parents.',
  ],
  'lineage:rings': [
    'lineage acceptance 2',
    'Of two who would close a ring from both ends at once, one does it and the other is refused.',
  ],
  'lineage:trace': [
    'lineage acceptance 3',
    'A trace has each ancestor once, nearest first, and says when there is more.',
  ],
  'lineage:workspaces': [
    'lineage acceptance 4',
    'What another workspace recorded is not there, neither to follow nor as a parent.',
  ],
  'geometry:places': [
    'geometry acceptance 1',
    'A remembered text is found by place, by key and by address, in every place it lies, and not when its file is gone.',
  ],
  'address:workspace': ['brain memory', 'A new workspace shows the address of its name.'],
  'memory:crash': [
    'brain memory',
    'kill -9 loses nothing acknowledged of any family that keeps rows or files, leaves nothing half made and every count right.',
  ],
  'members:at-once': [
    'brain memory',
    'Members in processes of their own, through several gateways, write values, files, links, lineage and insights at once; afterwards all of them read the same, and none took back what another had changed.',
  ],
  'memory:stats': [
    'brain memory',
    'svc_memory_stats counts values, learned files and addresses that the caller may see.',
  ],
} as const;
