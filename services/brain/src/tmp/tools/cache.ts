/** svc_tmp_cache*: values that the workspace keeps for a while. */
import { z } from 'zod';
import { TimestampMs } from '@svc/contract/params.ts';
import { settled } from '@svc/runtime/idempotency.ts';
import { defineTool } from '../../deps.ts';
import { JsonValue } from './json-value.ts';
import { memberOf } from './member.ts';
import { asSomebody } from './shapes.ts';

const DEFAULT_TTL_MS = 3_600_000;
const MAX_TTL_MS = 2_592_000_000;

const key = z
  .string()
  .regex(/^[^\p{Cc}\p{Cs}]{1,200}$/u, 'must be 1-200 characters without control characters')
  .describe('Under which the workspace keeps the value.');

const cacheGet = defineTool({
  name: 'svc_tmp_cacheGet',
  area: 'tmp',
  description: 'Reads a value from the cache of the workspace.',
  input: z.strictObject({ key, ...asSomebody }),
  output: z.strictObject({
    key: z.string(),
    found: z.boolean(),
    value: z.unknown().describe('Null when there is none, or when null was kept.'),
    expiresAt: TimestampMs.nullable(),
  }),
  access: 'identified',
  effect: 'read',
  refuses: [],
  example: { key: 'exchange-rate' },
  async handler({ key: wanted }, { deps, caller }) {
    const cached = await deps.tmp.cache.read(memberOf(caller), wanted);
    const { value = null, expiresAt = null } = cached ?? {};
    return { key: wanted, found: cached !== null, value, expiresAt };
  },
});

const cacheSet = defineTool({
  name: 'svc_tmp_cacheSet',
  area: 'tmp',
  description: 'Keeps a value in the cache of the workspace; when that is full, what is soonest to expire goes.',
  input: z.strictObject({
    key,
    value: JsonValue.describe('Any JSON, at most 256 KiB.'),
    ttl: z
      .int()
      .min(1)
      .max(MAX_TTL_MS)
      .optional()
      .describe('How long it stays, in ms; default an hour, at most 30 days.'),
    ...asSomebody,
  }),
  output: z.strictObject({ cached: z.string(), key: z.string(), ttl: z.int(), expiresAt: TimestampMs }),
  access: 'identified',
  effect: 'write-idempotent',
  refuses: [],
  raises: ['FORBIDDEN'],
  example: { key: 'exchange-rate', value: { usd: 1.08 }, ttl: 600_000 },
  async handler({ key: wanted, value, ttl = DEFAULT_TTL_MS }, context) {
    const { deps, caller } = context;
    const wish = { key: wanted, value: JSON.stringify(value), ttlMs: ttl };
    const expiresAt = settled(context, await deps.tmp.cache.set(context, memberOf(caller), wish));
    return { cached: wanted, key: wanted, ttl, expiresAt };
  },
});

const cacheClear = defineTool({
  name: 'svc_tmp_cacheClear',
  area: 'tmp',
  description: 'Empties the cache of the workspace, for who may write there.',
  input: z.strictObject(asSomebody),
  output: z.strictObject({ cleared: z.literal(true), count: z.int() }),
  access: 'identified',
  effect: 'write',
  destructive: true,
  refuses: [],
  raises: ['FORBIDDEN'],
  async handler(_input, context) {
    const { deps, caller } = context;
    const count = settled(context, await deps.tmp.cache.clear(context, memberOf(caller)));
    return { cleared: true as const, count };
  },
});

export const cacheTools = [cacheGet, cacheSet, cacheClear];
