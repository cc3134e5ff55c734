/** What a brain tells of its past, to whom, and how brains end. */
export const BRAIN_HISTORY = {
  'history:told': [
    'ours: versioned memory',
    'The history of a brain and of one file, and the difference between any two states, page by page.',
  ],
  'history:hidden': [
    'amendment M12',
    'To whom something is hidden no answer names a commit or tree as git does, none is taken, and no hidden commit shows.',
  ],
  'lease:guest': [
    'amendment M13',
    'Who has no role where a brain is at home holds its lease five minutes at most; an admin of that home forces it.',
  ],
  'lease:departed': [
    'amendment M13',
    'Who loses its last role where a brain is at home holds its lease no longer than a guest; the leases of others stay.',
  ],
  'brains:deleted': [
    'ours: brains end',
    'An admin of its home deletes a brain; it is gone for all, kept whole, and comes back as the answer says.',
  ],
  'brains:renamed': [
    'ours: brains end',
    'A renamed brain keeps files, branches, sessions and boundaries; strangers get neither the old nor the new name.',
  ],
} as const;
