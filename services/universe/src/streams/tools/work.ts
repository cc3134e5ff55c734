/** stream_complete, stream_fail: how an attempt ends. */
import { settled } from '@svc/runtime/idempotency.ts';
import { z } from 'zod';
import { defineTool } from '../../deps.ts';
import { standingOf } from '../../standing.ts';
import { handOf, jsonOf, leaseToken, sightOf, WorkId } from './shapes.ts';

const complete = defineTool({
  name: 'stream_complete',
  area: 'stream',
  description: 'The work is done, by whoever holds it.',
  input: z.strictObject({ id: WorkId, result: jsonOf(64).describe('Any JSON, at most 64 KiB.'), leaseToken }),
  output: z.strictObject({
    id: z.string(),
    status: z.literal('completed'),
    result: z.unknown(),
    attempts: z.int(),
  }),
  access: 'identified',
  effect: 'write',
  refuses: ['E_LEASE_LOST', 'E_WORK_ABSENT', 'E_WORK_CLOSED'],
  example: { id: 'wrk_1', result: 'looks good' },
  async handler({ id, result, leaseToken: token }, call) {
    const standing = await standingOf(call.deps, call.caller);
    const done = { hand: handOf(standing, token), result };
    const { attempts } = settled(call, await call.deps.work.complete(call, id, sightOf(standing), done));
    return { id, status: 'completed' as const, result, attempts };
  },
});

const fail = defineTool({
  name: 'stream_fail',
  area: 'stream',
  description: 'The attempt failed: the work is offered again after a while, or is dead after its last attempt.',
  input: z.strictObject({ id: WorkId, error: jsonOf(16).describe('Why: any JSON, at most 16 KiB.'), leaseToken }),
  output: z.strictObject({
    id: z.string(),
    status: z.enum(['pending', 'dead']),
    attempts: z.int(),
    willRetry: z.boolean(),
    retryAt: z.number().optional(),
  }),
  access: 'identified',
  effect: 'write',
  refuses: ['E_LEASE_LOST', 'E_WORK_ABSENT', 'E_WORK_CLOSED'],
  example: { id: 'wrk_1', error: 'the file is gone' },
  async handler({ id, error, leaseToken: token }, call) {
    const standing = await standingOf(call.deps, call.caller);
    const failed = { hand: handOf(standing, token), error };
    const outcome = settled(call, await call.deps.work.fail(call, id, sightOf(standing), failed));
    const { status, attempts, retryAt } = outcome;
    return { id, status, attempts, willRetry: retryAt !== null, ...(retryAt === null ? {} : { retryAt }) };
  },
});

export const workTools = [complete, fail];
