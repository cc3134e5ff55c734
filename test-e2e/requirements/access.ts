/** What holds across all families of the registry of identities. */
export const ACCESS = {
  'access:matrix': [
    'access matrix',
    'Every tool answers each of seven kinds of callers, about their own and about foreign things, as the written rules say.',
  ],
  'access:unknown-like-forbidden': [
    'access matrix',
    'What a caller may not see is answered exactly like what does not exist.',
  ],
  'access:concurrent-changes': [
    'registry concurrency',
    'Workspaces, organisations, agents and roles made at once through two gateways: none lost, duplicates refused with their code.',
  ],
  'access:killed-in-the-middle': [
    'registry concurrency',
    'Killed in the middle of changes, the registry keeps every acknowledged one, and each has its audit entry exactly once.',
  ],
} as const;
