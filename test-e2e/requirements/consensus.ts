/** Topics: how they are counted, decided and closed, and who sees them. */
export const CONSENSUS = {
  'agora:garbage': [
    'agora: all tools',
    'Calls of each of its tools that are wrong, or almost right, are answered with what is wrong, never with a failure.',
  ],
  'consensus:passed': [
    'agora acceptance: consensus 1',
    'A topic is open until its quorum agrees; the ballot that makes it so decides it, for every gateway alike.',
  ],
  'consensus:leader': [
    'agora acceptance: consensus 2',
    'At a tie nobody leads; percentages have two decimals and name every option.',
  ],
  'consensus:deadline': [
    'agora acceptance: consensus 3',
    'Time closes a topic at its deadline, whoever looks and however late: rejected with a quorum, else expired.',
  ],
  'consensus:threshold': [
    'agora acceptance: consensus 4',
    'A topic with a threshold passes when its leader has that much of the weight.',
  ],
  'consensus:trust': [
    'agora acceptance: consensus 5',
    'Ballots weigh what their voters were trusted when they voted; trust that changes later changes nothing.',
  ],
  'consensus:outcome': ['agora acceptance: consensus 6', 'What is no option is refused, and changes nothing.'],
  'consensus:races': [
    'agora acceptance: consensus 7',
    'Of fifty ballots of one agent at once one counts, and of many voters on the deciding seat one decides.',
  ],
  'consensus:hidden': [
    'agora acceptance: consensus 8',
    'A topic of a scope is, for who is no member, one that there is not: in replies, lists and events, open or decided.',
  ],
  'consensus:once': [
    'agora acceptance: consensus 9',
    'A ballot that is sent again with its key is answered as it was the first time.',
  ],
  'consensus:sealed': [
    'agora acceptance: consensus 10',
    'While a topic is sealed and open only headcounts and one’s own ballot are seen; at its deadline all of it is.',
  ],
  'agora:restart': [
    'agora acceptance: consensus 9; agora acceptance: messages 1',
    'After everything has ended votes and messages are as they were, and a vote whose time has passed is closed at its deadline.',
  ],
  'consensus:refused': [
    'agora consensus refusals',
    'What may not be opened or voted is refused with its reason, and changes nothing.',
  ],
  'consensus:killed': [
    'agora acceptance: consensus 9',
    'Over kills while ballots are cast each that was acknowledged is there once, none beside them, and a topic whose time passed meanwhile is closed at its deadline.',
  ],
} as const;
