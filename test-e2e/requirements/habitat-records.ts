/** What the registry records for good: the audit, decisions, and whom a brain took over from. */
export const HABITAT_RECORDS = {
  'habitat:audit:log': [
    'audit acceptance 1',
    'An entry is logged under `event` or `type`, never under both; the list shows it as it was hashed.',
  ],
  'habitat:audit:concurrent': [
    'audit acceptance 2',
    'Two hundred entries at once through every gateway make one chain without a gap that verifies.',
  ],
  'habitat:audit:tampering': [
    'audit acceptance 3',
    'Whoever rules the database and edits, deletes, inserts, swaps, stamps anew or cuts off is found out every time.',
  ],
  'habitat:audit:limits': [
    'audit limits',
    'A caller logs 60 entries a minute and no more, and learns nothing of where an entry stands among those of others.',
  ],
  'habitat:audit:kinds': [
    'audit acceptance 4',
    'What somebody logs stays an entry of theirs, whatever its name says; what the system did is told apart.',
  ],
  'habitat:audit:tenants': [
    'audit acceptance 5',
    'An admin sees the chain of one workspace and nothing of another, neither entries nor how many.',
  ],
  'habitat:audit:folding': [
    'audit acceptance 6',
    'Thousands of equal denials within a window are at most two entries that count all of them.',
  ],
  'habitat:audit:killed': [
    'audit acceptance 7',
    'Killed between an effect and its audit entry, the node has the entry after the restart, once.',
  ],
  'habitat:audit:services': [
    'audit of services',
    'A lease that was forced in the brain is in the audit within moments.',
  ],
  'habitat:governance:checks': [
    'governance acceptance 1',
    'Consent that is required and not given denies; given, it allows.',
  ],
  'habitat:governance:reasons': [
    'governance acceptance 2',
    'Harm of 0.5 denies and 0.499999 does not; of two reasons the first is named and both are told.',
  ],
  'habitat:governance:standing': [
    'governance acceptance 3',
    'A decision of an admin stands until an admin decides otherwise; advice changes nothing.',
  ],
  'habitat:governance:tenants': ['governance acceptance 4', 'A decision in one workspace has no effect in another.'],
  'habitat:governance:restart': [
    'governance acceptance 5',
    'Decisions and their figures are the same after a restart.',
  ],
  'habitat:succession:fresh': ['succession acceptance 1', 'A fresh node is at medium and took over from nobody.'],
  'habitat:succession:import': [
    'succession acceptance 2',
    'After an import of an old brain its name is told, also after a restart.',
  ],
  'habitat:succession:required': [
    'succession acceptance 3',
    'What an action requires shows beside the default as soon as it is set.',
  ],
} as const;
