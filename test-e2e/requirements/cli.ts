/** The command line. */
export const CLI = {
  'cli:commands': [
    'issue 12',
    'Every command of svc does what it says at a real node, and writes JSON lines where no person reads them.',
  ],
  'cli:exit-codes': [
    'issue 12',
    'The exit code tells a refusal, a wrong command, a missing credential and a node that is not there apart, and the sentence says what to do.',
  ],
  'cli:doctor:hangs': [
    'ours',
    'What is behind a gateway hangs: svc doctor says within seconds what does not answer, once.',
  ],
  'cli:terminal': [
    'issue 12',
    'A person at a terminal gets tables and colours that fit it; what others wrote cannot write on it.',
  ],
  'cli:edit': [
    'issue 12',
    'An edited file is written over what was read and over nothing else; the text of a person whose edit comes too late is kept.',
  ],
  'cli:watch': [
    'issue 12',
    'Events are shown as they happen, and go on after the last one when the node was restarted.',
  ],
  'cli:completion': ['issue 12', 'A shell completes commands, tools, arguments and values from the node.'],
  'cli:prompt': [
    'SVC_MODE',
    'At the prompt every command and every tool runs by its name, and one that fails ends nothing.',
  ],
} as const;
