/** The log of what all services tell, and its copy in files. */
export const EVENT_LOG = {
  'log:tail': [
    'agora acceptance: event log 1',
    'event_tail goes on after an event without gap and without repeat, and says when that event is no longer kept.',
  ],
  'log:names': [
    'agora acceptance: event log 2',
    'Only names, beginnings of names, services and areas that were asked for.',
  ],
  'log:hidden': [
    'agora acceptance: event log 2',
    'An event of a workspace is absent for a stranger, and its last id is that of the last event it was shown.',
  ],
  'log:story': [
    'agora event log',
    'A socket that resumes and event_tail tell the same story, to whoever asks: the same events in the same order, masked alike.',
  ],
  'log:killed': [
    'agora acceptance: event log 1',
    'Kills of relays, of the log and of NATS lose no event and double none, and each thing keeps its order.',
  ],
  'log:sink': [
    'agora acceptance: event log 3',
    'The copy in files is off until an operator switches it on, once; a restart keeps it on, and nothing is written twice.',
  ],
} as const;
