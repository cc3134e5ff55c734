/** Budgets, holds, pools and the ledger under them. `acceptance n` = the n-th example of the ledger's contract. */
export const ESCROW = {
  'escrow:create': [
    'escrow acceptance 1',
    'A budget starts with 1000; another limit keeps what is committed, and one below that is refused.',
  ],
  'escrow:hold:reserves': [
    'escrow acceptance 2',
    'A hold lowers what is available and spends nothing; one that does not fit is refused and leaves no trace.',
  ],
  'escrow:hold:one-id': ['escrow acceptance 3', 'One id names one live hold; once released, it is free again.'],
  'escrow:hold:own-ids': [
    'escrow holds',
    "Ids of holds are each caller's own: who takes one that is taken is answered as by a free one, and neither hold touches the other.",
  ],
  'escrow:hold:record': [
    'escrow acceptance 4',
    'A hold without an amount reserves nothing, shows in the status, and is gone after five minutes.',
  ],
  'escrow:storm': [
    'escrow acceptance 5',
    'Many spends of 1 at once through three gateways on a pool of half as much: half of them are recorded, half refused.',
  ],
  'escrow:pool:race': [
    'escrow acceptance 6',
    'Of two draws at once that the pool can bear only one of, exactly one is recorded.',
  ],
  'escrow:pool:limits': [
    'escrow acceptance 7',
    'A draw counts for the member and for the pool; each of the two limits refuses by its own reason.',
  ],
  'escrow:amounts': [
    'escrow acceptance 8',
    'Ten tenths are exactly one; forty bad amounts are refused as bad input and leave no row.',
  ],
  'escrow:settle-race': [
    'escrow acceptance 9',
    'Fifty racers that capture and void one hold: one of them decides, money moves once or not at all, and the ledger stays balanced.',
  ],
  'escrow:service-holds': [
    'escrow acceptance 10',
    'The hold of a service is released by no tool, whoever calls it, and by no other service.',
  ],
  'escrow:deadlines': [
    'escrow acceptance 11',
    'A hold is captured until its deadline and not after it, its amount is free at once, and a voided id is never held.',
  ],
  'escrow:killed': [
    'escrow acceptance 12',
    'Killed at any moment and repeated with the same key or hold, every spend happens once, and the ledger is whole at each start.',
  ],
  'escrow:idempotency': [
    'escrow acceptance 13',
    'A spend sent three times, two at once, with one key is one entry and one reply; a refused one stays refused.',
  ],
  'escrow:money-admins': [
    'escrow acceptance 14',
    'Limits of a pool are set by an admin of that workspace, as of this moment, and by nobody else.',
  ],
  'escrow:unknown-workspace': [
    'escrow acceptance 15',
    'A workspace that the registry does not know, or cannot be asked about, has nothing to spend and gets no row.',
  ],
  'escrow:foreign': [
    'escrow acceptance 16',
    "A token spends and reads for its own agent alone; another agent's budget looks like none.",
  ],
  'escrow:opening': [
    'escrow acceptance 17',
    'An invented name opens no account unless an operator calls, and no question opens one for anybody.',
  ],
  'escrow:bank': [
    'escrow acceptance 18',
    'Random transfers while a process is killed again and again: every snapshot sums to nothing, no account is overdrawn.',
  ],
  'escrow:frozen': [
    'escrow acceptance 18',
    'An account whose row was changed by hand is frozen, alone and visibly, until it is whole and an operator lifts it.',
  ],
  'escrow:restart': [
    'escrow acceptance 19',
    'After a restart budgets, holds with their deadlines, pools, members and stored replies are as before.',
  ],
  'escrow:events': [
    'escrow events',
    'Movements of a pool are heard by those with a role in its workspace, those of a budget by its agent, and by no others.',
  ],
  'escrow:events:orgs': [
    'escrow events',
    'Movements of the account of an organisation are heard by its owner and its members of now, and by operators; not by strangers, not by former members, not by one who took its id as a name.',
  ],
  'escrow:events:scenarios': [
    'escrow events',
    'Movements of the line of a scenario are heard by the agent that it is for, and by no others.',
  ],
  'escrow:audit': ['escrow audit', 'Each movement of money is in the audit once; a refused one is not.'],
  'qos:rate': [
    'qos acceptance 1',
    'A hundred calls at once under a limit of 60, through all replicas: sixty pass, the others are told when to come back.',
  ],
  'qos:breaker': ['qos acceptance 2', 'Five failures open the breaker; after its time one call passes.'],
  'qos:tenants': ['qos acceptance 3', 'The same key of another workspace counts for itself.'],
  'qos:quota': ['qos acceptance 4', 'A size is counted in bytes, to the last one.'],
  'qos:keyed': [
    'qos idempotency',
    'A keyed call that is sent again, also at once and to another replica, counts once and is answered alike.',
  ],
  'qos:timeout': ['qos acceptance 5', 'A task cannot be timed over the wire, and nothing claims that it was.'],
} as const;
