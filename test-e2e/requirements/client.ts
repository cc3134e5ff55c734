/** The typed client of programs: shared/client. */
export const CLIENT = {
  'client:calls': [
    'docs/client.md',
    'Through any gateway a program gets what its tools declare, and tells refusals, call errors and silence apart by type.',
  ],
  'client:repeats': [
    'docs/client.md',
    'Payments in hand while the node is killed are each made once, and the program that made them hears of each.',
  ],
  'client:events': [
    'docs/client.md',
    'A listener hears each event once and in order, also those that happened while its node was killed.',
  ],
} as const;
