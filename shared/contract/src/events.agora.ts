/** Events of agora: to whoever may read the topic, channel or post they tell of. Never what a sealed ballot says, never a content. */
import { z } from 'zod';
import { by, type EventDeclaration, parties } from './event-declaration.ts';
import { FORUM_EVENTS } from './events.forum.ts';
import { MESSAGE_EVENTS } from './events.messages.ts';

const ofNode = z.strictObject({ node: z.string() });
const synced = z.strictObject({
  node: z.string().describe('With whom.'),
  topic: z.string(),
  adopted: z.int(),
  created: z.boolean(),
});

const topic = {
  topic: z.string(),
  owner: z.string().describe('Name of the node that decides; local while it has none.'),
  thread: z.string().nullable(),
  parties,
};
const ofTopic = <Shape extends z.ZodRawShape>(meaning: string, more: Shape) =>
  ({
    service: 'agora',
    meaning,
    audience: 'parties',
    payload: z.strictObject({ ...topic, ...more }),
  }) as const satisfies EventDeclaration;

export const AGORA_EVENTS = {
  ...MESSAGE_EVENTS,
  ...FORUM_EVENTS,
  'agora:joined': {
    service: 'agora',
    meaning: 'Another deployment is heard.',
    audience: 'operator',
    payload: ofNode,
  },
  'agora:left': {
    service: 'agora',
    meaning: 'Another deployment is not heard any more.',
    audience: 'operator',
    payload: ofNode,
  },
  'agora:rejected': {
    service: 'agora',
    meaning: 'Messages in the name of another deployment were dropped.',
    audience: 'operator',
    payload: z.strictObject({
      node: z.string().describe('As the message claims.'),
      reason: z.string(),
      count: z.int(),
    }),
  },
  'agora:disputed': {
    service: 'agora',
    meaning: 'The owner of a topic signed two things that contradict each other; its copy here is frozen.',
    audience: 'operator',
    payload: z.strictObject({ node: z.string(), topic: z.string() }),
  },
  'agora:pulled': {
    service: 'agora',
    meaning: 'A topic of another deployment was brought up to date here.',
    audience: 'operator',
    payload: synced,
  },
  'agora:pushed': {
    service: 'agora',
    meaning: 'Another deployment took a topic that was sent to it.',
    audience: 'operator',
    payload: synced,
  },
  'events:sink-changed': {
    service: 'agora',
    meaning: 'The copy of the events in files was switched on or off.',
    audience: 'operator',
    payload: z.strictObject({ enabled: z.boolean(), by }),
  },
  'vote:created': ofTopic('A topic was opened.', { author: z.string(), deadline: z.number() }),
  'vote:cast': ofTopic('A ballot was admitted.', {
    voter: z.string(),
    outcome: z.string().nullable().describe('null while the topic is sealed.'),
    votes: z.int(),
  }),
  'vote:voided': ofTopic('A voter signed two outcomes; no ballot of it counts.', { voter: z.string(), votes: z.int() }),
  'vote:decided': ofTopic('A topic was decided, by a ballot or by time.', {
    status: z.enum(['passed', 'rejected', 'expired']),
    winner: z.string().nullable(),
    votes: z.int(),
    decidedAt: z.number(),
  }),
} as const satisfies Record<string, EventDeclaration>;
