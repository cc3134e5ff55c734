/** Helpers for callers: rates, sizes, breakers. */
import { z } from 'zod';
import { TimestampMs } from '@svc/contract/params.ts';
import type { Caller, IdempotencyScope } from '@svc/contract/tool.ts';
import { settled } from '@svc/runtime/idempotency.ts';
import { defineTool } from '../deps.ts';
import type { QosCall } from '../qos/qos.ts';
import { qosScope } from './overview.ts';

const key = z.string().min(1).max(128).describe('Free to choose; seen in the workspace of the caller alone.');

interface Counted {
  readonly caller: Caller;
  readonly idempotency: IdempotencyScope | null;
}

function qosCall({ caller, idempotency }: Counted, name: string): QosCall {
  return { scope: qosScope(caller), key: name, idempotency };
}

const canProceed = defineTool({
  name: 'qos_canProceed',
  area: 'qos',
  description: 'Whether one more call under the key fits into the last 60 seconds; it is counted when it does.',
  input: z.strictObject({ key, limit: z.int().min(1).max(100_000).optional().describe('Calls a minute, default 60.') }),
  output: z.strictObject({
    allowed: z.boolean(),
    key: z.string(),
    limit: z.int(),
    remaining: z.int(),
    resetAt: TimestampMs,
    reason: z.enum(['rate', 'breaker_open']).optional(),
    retryAfterMs: z.number().optional(),
  }),
  access: 'identified',
  effect: 'write',
  refuses: [],
  raises: ['SERVICE_UNAVAILABLE'],
  example: { key: 'mail', limit: 60 },
  async handler({ key: name, limit = 60 }, context) {
    const { allowed, ...rest } = settled(context, await context.deps.qos.canProceed(qosCall(context, name), limit));
    return { allowed, key: name, limit, ...rest };
  },
});

const checkQuota = defineTool({
  name: 'qos_checkQuota',
  area: 'qos',
  description: 'Whether something is small enough, measured in bytes of its text or its JSON.',
  input: z.strictObject({
    input: z.json(),
    maxSize: z.int().min(1).max(1_048_576).optional().describe('Bytes, default 1,000,000.'),
  }),
  output: z.strictObject({ allowed: z.boolean(), size: z.int(), maxSize: z.int() }),
  access: 'identified',
  effect: 'read',
  refuses: [],
  async handler({ input, maxSize = 1_000_000 }) {
    const size = Buffer.byteLength(typeof input === 'string' ? input : JSON.stringify(input));
    return { allowed: size <= maxSize, size, maxSize };
  },
});

const recordFailure = defineTool({
  name: 'qos_recordFailure',
  area: 'qos',
  description: 'Count failures under the key; five within 60 seconds open its breaker for as long.',
  input: z.strictObject({ key, count: z.int().min(1).max(1000).optional().describe('Default 1.') }),
  output: z.strictObject({
    key: z.string(),
    failures: z.int(),
    open: z.boolean(),
    openUntil: TimestampMs.optional(),
  }),
  access: 'identified',
  effect: 'write',
  refuses: [],
  raises: ['SERVICE_UNAVAILABLE'],
  example: { key: 'mail' },
  async handler({ key: name, count = 1 }, context) {
    return { key: name, ...settled(context, await context.deps.qos.recordFailure(qosCall(context, name), count)) };
  },
});

const withTimeout = defineTool({
  name: 'qos_withTimeout',
  area: 'qos',
  description: 'Says that a task cannot be sent over the wire to be timed here.',
  input: z.strictObject({ task: z.json(), ms: z.int().min(1).optional() }),
  output: z.strictObject({ applicable: z.literal(true) }),
  access: 'identified',
  effect: 'read',
  refuses: ['NOT_APPLICABLE'],
  dress: { applicable: false },
  async handler(_input, { refuse }) {
    throw refuse('NOT_APPLICABLE', {}, 'A task cannot cross the wire; give the call itself a deadline.');
  },
});

export const qosTools = [canProceed, checkQuota, recordFailure, withTimeout];
