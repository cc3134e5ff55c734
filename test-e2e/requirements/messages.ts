/** Channels, what is said there, who hears it. */
export const MESSAGES = {
  'messages:order': [
    'agora acceptance: messages 1',
    'A hundred messages sent to one channel at once have the numbers 1 to 100, each once, and are read the same through every gateway.',
  ],
  'messages:hidden': [
    'agora acceptance: messages 2',
    'A channel of an agent or a workspace is, for who may not read it, one that there is not: in replies and in events.',
  ],
  'messages:actor': [
    'agora acceptance: messages 3',
    'Who has a token speaks as nobody else, and nobody does not speak.',
  ],
  'messages:delivered': [
    'agora acceptance: messages 4',
    'A message reaches the sockets of who subscribed with their own label, nobody else, and no more from the moment a role is gone.',
  ],
  'messages:inboxes': [
    'agora model: messages',
    'A task that is delegated to an agent, and what is said to the agents of a workspace, arrive in their channels, each once.',
  ],
  'messages:killed': [
    'agora acceptance: messages 1',
    'Over kills while it is sent, numbers have no gap, nothing that was acknowledged is lost, nothing is there twice, and who subscribed still is.',
  ],
} as const;
