/** Crews that work on one budget. */
export const CREWS = {
  'crews:tasks': [
    'universe acceptance: crews 1',
    'A crew does its tasks by whom its seed draws, each voted on by all, noted and paid, until its pool is empty; everybody of it hears each step.',
  ],
  'crews:sizes': [
    'universe acceptance: crews 2',
    'Names, sizes, budgets and texts of tasks have their limits, and the default price is half of the budget in whole credits.',
  ],
  'crews:quarantine': [
    'universe acceptance: crews 3',
    'While a member is in quarantine nothing is held; once it is released the next task passes.',
  ],
  'crews:registry-away': [
    'universe acceptance: crews 3',
    'While nobody can say who is in quarantine no task is done and nothing is held; then the next one passes.',
  ],
  'crews:quorum': [
    'universe acceptance: crews 4',
    'Too few living members decide nothing and cost nothing, and where none lives nobody does it.',
  ],
  'crews:race': [
    'universe acceptance: crews 5',
    'Of two tasks at once that the pool bears one of, one is done and one is refused, through two gateways.',
  ],
  'crews:undone': [
    'universe acceptance: crews 6',
    'A crew that cannot be spawned whole leaves no agent, no workspace, no pool, and its name is free.',
  ],
  'crews:same': [
    'universe model: crews',
    'The same crew asked for again by the same caller is the one that is there; to others its name is taken.',
  ],
  'crews:hidden': [
    'universe model: crews',
    'To who is not of it a crew is one that there is not: in its tools and in its events.',
  ],
  'crews:killed': [
    'universe acceptance: crews 7',
    'Over kills at any moment each task is noted and paid once, or neither; nothing stays held.',
  ],
} as const;
