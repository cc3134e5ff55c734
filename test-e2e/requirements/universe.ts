/** Queues of work. */
export const UNIVERSE = {
  'streams:order': [
    'universe acceptance: streams 1',
    'Work is offered in its order, and with many who take it through several gateways each item is taken once.',
  ],
  'streams:lease': [
    'universe acceptance: streams 2',
    'Work whose lease is over goes to the next worker, and what its late holder says is refused and changes nothing.',
  ],
  'streams:retry': [
    'universe acceptance: streams 3',
    'Work that fails is offered again later each time, is dead after its last attempt, and begins anew by who made its queue.',
  ],
  'streams:key': [
    'universe acceptance: streams 4',
    'Work that is put into a queue many times at once under one key is there once; what nobody took nobody completes.',
  ],
  'streams:killed': [
    'universe acceptance: streams 5',
    'Over kills of the service and of workers every acknowledged item is there, and each is completed once, by who held it.',
  ],
  'streams:stalled': [
    'universe acceptance: streams 2',
    'What a worker that stood still says of work which somebody else has meanwhile is refused each time, also under its own name.',
  ],
  'streams:inbox': [
    'habitat model: inbox of an agent',
    'A delegated task lies in the inbox of its agent once, over kills, for that agent alone; the agent works until it is done.',
  ],
  'streams:quota': [
    'universe streams: quotas',
    'Of the queues that one family makes there are so many at once, also when it asks for more of them together.',
  ],
  'streams:hidden': [
    'universe acceptance: streams 6',
    'A queue of a workspace is, for who has no role there, one that there is not: in replies and in events.',
  ],
  'cron:wrong': [
    'universe acceptance: cron 1',
    'A job with an interval out of bounds, an unknown tool or arguments that do not fit it does not come to be, nor one of jobs.',
  ],
  'cron:rights': [
    'universe acceptance: cron 2',
    'A job does its work where who made it is at home, as that identity; without its role the next run is refused and the job off.',
  ],
  'cron:heard': ['universe cron: events', 'Who made a job hears its ticks, and nobody else of its workspace does.'],
  'cron:now': [
    'universe cron: cron_run',
    'A run that is asked for many times at once under one key, through several gateways, is made once and told to all.',
  ],
  'cron:session': [
    'ground rules: P6',
    'What one run leaves current is so for the next one of that job, and for no other job that is made under its id later.',
  ],
  'cron:skipped': [
    'universe acceptance: cron 3',
    'A job never overlaps itself: what is due while a run goes on is skipped, and told as that.',
  ],
  'cron:missed': [
    'universe acceptance: cron 3',
    'Of the ticks for which nothing was there to run them the latest is run at most, and the others are counted.',
  ],
  'cron:killed': [
    'universe acceptance: cron 1; universe acceptance: cron 4',
    'Over kills each tick of a job has one run at most, those that were missed are counted, and money moves once for a run at most.',
  ],
  'recursion:circle': [
    'universe acceptance: recursion 1',
    'Data that goes round is visited once, and the circle is told.',
  ],
  'recursion:chain': [
    'universe acceptance: recursion 2',
    'A chain leads to its value; what is deeper than the limit is told as cut off.',
  ],
  'recursion:batch': [
    'universe acceptance: recursion 3',
    'A bad item of a batch spoils itself alone, and the same question has the same answer each time.',
  ],
  'recursion:rights': [
    'universe acceptance: recursion 4',
    'Tools are called in the name of who asked: twice under one key take effect once, and without the right not at all.',
  ],
  'universe:restart': [
    'universe acceptance: streams 5',
    'After everything has ended queues, leases, jobs, operations and crews are as they were, and go on.',
  ],
  'universe:garbage': [
    'universe: all tools',
    'Calls of each of its tools that are wrong, or almost right, are answered with what is wrong, never with a failure.',
  ],
} as const;
