/** What a sync promises when the remote does not do its part, and what it tells. */
export const BRAIN_SYNC = {
  'sync:silent': [
    'amendment M6',
    'A remote that falls silent at any stage is E_REMOTE_UNREACHABLE in time; other calls are served meanwhile.',
  ],
  'sync:under-way': [
    'amendment M6',
    'A transfer that outlives its call goes on and tells how far it is; a repeat of the call tells how it ended.',
  ],
  'sync:kinds': [
    'sync acceptance 3',
    "Each kind of failure has a code of its own, a sentence that names the host, and the remote's own words.",
  ],
  'sync:words-hidden': [
    'amendment M12',
    'The words of a remote may name files: who may not read all of a brain does not hear them.',
  ],
  'sync:busy': ['amendment M6', 'A pull comes through beside callers who write all the time.'],
  'sync:counts': ['brain sync', 'What was pushed is told and counted exactly, and so is what stays uncommitted.'],
  'sync:rewritten': [
    'brain sync',
    'A history rewritten at the remote, or one that shares nothing, is merged; what was there before stays readable.',
  ],
  'sync:several': [
    'brain sync',
    'One call pulls each brain of a session, one pushes every branch with changes; what is not pushed is told.',
  ],
  'sync:rebase': [
    'brain sync',
    'Commits of our own are replayed one by one on the remote; a clash leaves the branch as it was, both tips readable.',
  ],
  'sync:lease': [
    'sync acceptance 7',
    "Another agent's lease keeps from pulling, and not from pushing what is committed.",
  ],
} as const;
