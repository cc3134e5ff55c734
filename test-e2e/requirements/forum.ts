/** Posts, and votes on what is talked about. */
export const FORUM = {
  'forum:place': [
    'agora acceptance: forum 1',
    'Nobody posts where it has no role; a name that can be no workspace is told apart, and an empty one is for everybody.',
  ],
  'forum:tenancy': [
    'agora acceptance: forum 2; agora acceptance: forum 3',
    'Posts of a workspace are there for who holds a role in it, from the next call after it is granted to the next after it is revoked; hidden and absent ones are answered and told alike.',
  ],
  'forum:message': [
    'agora model: forum',
    'A word to one agent arrives in its channel alone and counts as unread where the agent subscribed, until it is read; an unknown agent is told.',
  ],
  'forum:presence': [
    'agora model: forum',
    'A session that entered is there, once, and whoever shares its workspace hears of it.',
  ],
  'forum:kept': [
    'agora acceptance: forum 6',
    'What was published at the same moment is there after a restart, all of it.',
  ],
  'forum:votes': [
    'agora acceptance: forum 4',
    'A thread with a vote shows its topic, its ballots and the record in the ledger of money; decided, it shows the decision, and the record is voided.',
  ],
  'forum:threads': [
    'agora acceptance: forum 5',
    'A thread has one open vote; the next one supersedes the decided one, and a thread that nobody linked is absent.',
  ],
  'forum:votes:hidden': [
    'agora conventions: hidden = absent',
    'A vote of a workspace and its thread are, for who is no member, none that there is: in replies, lists and events.',
  ],
  'forum:votes:refused': [
    'agora model: forum',
    'What is refused to who opens a vote or casts one says why in a word and in a code.',
  ],
} as const;
