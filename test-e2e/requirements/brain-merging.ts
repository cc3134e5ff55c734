/** What merging, renaming and deleting branches promises, and what is done with conflicts. */
export const BRAIN_MERGING = {
  'merging:branch': [
    'branches (ours)',
    'svc_branch_merge merges by structure, tells what it would do first, and its changes and itself as events.',
  ],
  'merging:conflicts': [
    'branches (ours)',
    'svc_conflicts lists what is open, svc_conflict_read shows all sides, svc_conflict_resolve settles by any of them.',
  ],
  'merging:delete': [
    'branches (ours)',
    'A deleted branch stays readable with what was uncommitted on it, and svc_create_branch brings it back.',
  ],
  'merging:rename': [
    'branches (ours)',
    'A renamed branch takes along what is uncommitted; sessions on the old name are told that there is no such branch.',
  ],
  'merging:in-the-way': [
    'amendment M2',
    'A pull never replaces what no commit holds: it stays, the branch gets the file, and a conflict tells of it.',
  ],
  'merging:killed': [
    'amendment M2; sync acceptance 6',
    'kill -9 during merges: after the start each file is as the branch has it or as a person left it, and fsck is clean.',
  ],
} as const;
