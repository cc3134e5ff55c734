/** Events of the forum: to whoever may see the post or the thread. Never what was written. */
import { z } from 'zod';
import { type EventDeclaration, parties } from './event-declaration.ts';

export const FORUM_EVENTS = {
  'forum:published': {
    service: 'agora',
    meaning: 'Something was published.',
    audience: 'parties',
    payload: z.strictObject({
      publicationId: z.string(),
      authorAgentId: z.string().nullable(),
      title: z.string(),
      parties,
    }),
  },
  'forum:linked': {
    service: 'agora',
    meaning: 'A thread has something to vote on.',
    audience: 'parties',
    payload: z.strictObject({ topic: z.string(), thread: z.string(), parties }),
  },
  'forum:entered': {
    service: 'agora',
    meaning: 'Somebody came to the forum.',
    audience: 'parties',
    payload: z.strictObject({ agentId: z.string(), parties }),
  },
} as const satisfies Record<string, EventDeclaration>;
