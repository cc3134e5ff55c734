/** Events of the universe: of its queues to the members of their workspace, of an inbox to its agent. Never what the work is. */
import { z } from 'zod';
import { by, type EventDeclaration, parties } from './event-declaration.ts';
import { CRON_EVENTS } from './events.cron.ts';
import { DOOR_EVENTS } from './events.doors.ts';
import { SANDBOX_EVENTS } from './events.sandbox.ts';
import { SCENARIO_EVENTS } from './events.scenario.ts';
import { WORLD_EVENTS } from './events.worlds.ts';

const stream = { stream: z.string(), by };
const work = { stream: z.string(), id: z.string(), seq: z.number() };

const queue = <Shape extends z.ZodRawShape>(meaning: string, shape: Shape) =>
  ({
    service: 'universe',
    meaning,
    audience: 'parties',
    payload: z.strictObject({ ...shape, parties }),
  }) as const satisfies EventDeclaration;

export const UNIVERSE_EVENTS = {
  ...CRON_EVENTS,
  ...SANDBOX_EVENTS,
  ...DOOR_EVENTS,
  ...SCENARIO_EVENTS,
  ...WORLD_EVENTS,
  'stream:created': queue('A queue of work was made.', stream),
  'stream:deleted': queue('A queue and everything in it was removed.', { ...stream, removed: z.int() }),
  'stream:enqueued': queue('Work was put into a queue.', work),
  'stream:claimed': queue('Somebody took work out of a queue, for a while.', {
    ...work,
    agentId: z.string(),
    attempts: z.int(),
  }),
  'stream:released': queue('Work was given back to its queue, or begun anew after its last attempt.', work),
  'stream:completed': queue('Work is done.', { ...work, agentId: z.string() }),
  'stream:failed': queue('An attempt at work failed or ran out of time; it is offered again.', {
    ...work,
    attempts: z.int(),
    retryAt: z.number(),
  }),
  'stream:dead': queue('The last attempt at work failed or ran out of time.', { ...work, attempts: z.int() }),
} as const satisfies Record<string, EventDeclaration>;
