/** Code and fetches of callers. */
export const SANDBOX = {
  'sandbox:compute-off': [
    'universe acceptance: compute 1',
    'Until an operator switches it on no code runs, and each tool says what is missing.',
  ],
  'sandbox:compute': [
    'universe acceptance: compute 2; universe acceptance: compute 3',
    'Switched on, code runs with nothing of the host in reach, ends at its limits while others are served, and leaves nothing to the next.',
  ],
  'sandbox:network': [
    'universe acceptance: network 1',
    'Fetches reach listed hosts at public addresses and listed endpoints alone; nothing else sees a connection.',
  ],
  'sandbox:network-bodies': [
    'universe acceptance: network 2',
    'What is larger than it looks, never ends or is no JSON is refused as that, however it is sent.',
  ],
  'sandbox:shell-off': [
    'universe acceptance: shell 1',
    'Until an operator switches programs on none is started, and each tool says what is missing.',
  ],
  'sandbox:shell-absent': [
    'universe acceptance: shell 1',
    'Switched on where bubblewrap is not installed, no program runs, and each tool says what the machine lacks.',
  ],
  'sandbox:shell-on': [
    'universe acceptance: shell 2',
    'Programs see nothing of the host, a line is words alone, and what does not end is ended; the status tells what the probe found.',
  ],
} as const;
