/** Acceptance examples that this release does not have to meet here, each with its reason. */
export const LATER = {
  'brain core acceptance 6': 'Traced by system calls, beside the code of the write path and of the commit.',
  'brain core acceptance 13': 'Figures of speed belong to the benchmark, not to a pass or fail on a shared machine.',
  'search acceptance 6': 'Measured by the benchmark on collections kept outside the repository.',
  'sync acceptance 1':
    'Histories, trees and texts by chance are merged beside the code, where thousands of them take seconds.',
  'sync acceptance 4': 'Two nodes with one remote, in turns, are run beside the code: a target is one node.',
  'trust acceptance 4': 'Needs two months to pass; shown beside the code on rows that were made older.',
  'trust acceptance 7':
    'The market reports a trade until it is answered; that a second report counts nothing is shown beside the code of the registry.',
  'named crash points of a capture': 'Shown beside the code of the ledger, where a process can be stopped at each.',
} as const;

/** How many acceptance examples each part of the contracts has. */
export const ACCEPTANCE_COUNTS = {
  'gateway acceptance': 19,
  'brain core acceptance': 13,
  'search acceptance': 7,
  'context acceptance': 4,
  'embeddings acceptance': 1,
  'brain tools acceptance': 8,
  'branches acceptance': 3,
  'resolution acceptance': 5,
  'stego acceptance': 4,
  'skill prototypes acceptance': 1,
  'storage acceptance': 4,
  'sync acceptance': 7,
  'tmp acceptance': 5,
  'dropbox acceptance': 5,
  'islands acceptance': 7,
  'habitat acceptance': 16,
  'auth acceptance': 6,
  'agents acceptance': 8,
  'teams acceptance': 7,
  'trust acceptance': 9,
  'sudo acceptance': 9,
  'governance acceptance': 5,
  'audit acceptance': 7,
  'succession acceptance': 3,
  'memory acceptance': 6,
  'geometry acceptance': 1,
  'lineage acceptance': 4,
  'escrow acceptance': 19,
  'qos acceptance': 5,
} as const;
