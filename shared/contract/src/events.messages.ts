/** Events of messages: to whoever may read the channel. Never what was said. */
import { z } from 'zod';
import { type EventDeclaration, parties } from './event-declaration.ts';

const message = { channel: z.string(), messageId: z.string(), seq: z.number(), from: z.string(), parties };

export const MESSAGE_EVENTS = {
  'msg:sent': {
    service: 'agora',
    meaning: 'Something was said in a channel.',
    audience: 'parties',
    payload: z.strictObject(message),
  },
  'msg:delivered': {
    service: 'agora',
    meaning: 'Something was said in a channel to which the agent subscribed; the handler is its own label.',
    audience: 'parties',
    payload: z.strictObject({ ...message, handler: z.string().nullable() }),
  },
} as const satisfies Record<string, EventDeclaration>;
