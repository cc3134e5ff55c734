/** Events of jobs, for whoever made them. */
import { z } from 'zod';
import { by, type EventDeclaration, parties } from './event-declaration.ts';

const job = { id: z.string(), parties };
/** Null = beside the schedule. */
const tick = z.number().nullable();

const cron = <Shape extends z.ZodRawShape>(meaning: string, shape: Shape) =>
  ({
    service: 'universe',
    meaning,
    audience: 'parties',
    payload: z.strictObject({ ...job, ...shape }),
  }) as const satisfies EventDeclaration;

export const CRON_EVENTS = {
  'cron:scheduled': cron('A job was scheduled, or made anew.', { by, interval: z.int(), replaced: z.boolean() }),
  'cron:cancelled': cron('A job was cancelled.', { by }),
  'cron:ticked': cron('A job that calls nothing is due.', { tick }),
  'cron:ran': cron('A job ran.', { tick, durationMs: z.number() }),
  'cron:failed': cron('A run of a job failed, was refused, or nobody knows what came of it.', {
    tick,
    status: z.string(),
    code: z.string().nullable(),
  }),
} as const satisfies Record<string, EventDeclaration>;
