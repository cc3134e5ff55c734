/** svc_memory_state and svc_memory_recall: values under keys. */
import { z } from 'zod';
import { JsonData } from '@svc/contract/json-data.ts';
import { TimestampMs } from '@svc/contract/params.ts';
import { invalidArguments } from '@svc/runtime/arguments.ts';
import { defineTool } from '../../deps.ts';
import { opContext, settled } from '../../tools/target.ts';
import { MemoryKey } from '../domain/key.ts';
import { MEMORY_LIMITS } from '../domain/state.ts';
import { placeOf, scopeArguments, shownWorkspace } from './scope.ts';

const version = z.int().describe('1, 2, ... since the key was free last.');
const expiresAt = TimestampMs.nullable().describe('Null = kept until it is cleared.');

const state = defineTool({
  name: 'svc_memory_state',
  area: 'memory',
  description: "Stores a value under a key of the caller's workspace, for good or for a time.",
  input: z.strictObject({
    key: MemoryKey,
    value: JsonData.describe('Any JSON, at most 64 KiB as text.'),
    ttl: z.int().min(1).max(MEMORY_LIMITS.ttlMs).optional().describe('Milliseconds it is kept; default: for good.'),
    ifVersion: z.int().min(0).optional().describe('Version it must have now; 0 = it must be new.'),
    ...scopeArguments,
  }),
  output: z.strictObject({
    stored: z.literal(true),
    success: z.literal(true),
    key: z.string(),
    workspace: shownWorkspace,
    version,
    ttl: z.int().nullable(),
    expiresAt,
  }),
  access: 'identified',
  effect: 'write',
  refuses: ['E_CONFLICT', 'E_QUOTA'],
  raises: ['RLS_DENIED'],
  dress: { stored: false },
  example: { key: 'theme', value: 'dark' },
  async handler({ key, value, ttl = null, ifVersion = null, ...wish }, context) {
    const place = await placeOf(context, { key, ...wish });
    const { actor: by } = opContext(context);
    const stored = { ...place, value: valueText(value), by, ifVersion, ttlMs: ttl };
    const kept = context.take(settled(context, await context.deps.memory.state(context, stored)));
    return { stored: true as const, success: true as const, ...place, ttl, ...kept };
  },
});

function valueText(value: unknown): string {
  const text = JSON.stringify(value);
  if (Buffer.byteLength(text) > MEMORY_LIMITS.valueBytes)
    throw invalidArguments([{ path: 'value', message: 'must be at most 64 KiB as JSON' }]);
  return text;
}

const recall = defineTool({
  name: 'svc_memory_recall',
  area: 'memory',
  description: 'Finds the value that was stored under a key, unless it is past its time.',
  input: z.strictObject({ key: MemoryKey, ...scopeArguments }),
  output: z.strictObject({
    key: z.string(),
    workspace: shownWorkspace,
    found: z.boolean(),
    value: z.unknown().describe('Null when none was found, or null was stored.'),
    version: version.nullable(),
    expiresAt,
  }),
  access: 'public',
  effect: 'read',
  refuses: [],
  raises: ['RLS_DENIED'],
  example: { key: 'theme' },
  async handler(wish, context) {
    const place = await placeOf(context, wish);
    const kept = await context.deps.memory.recall(place);
    if (kept === null) return { ...place, found: false, value: null, version: null, expiresAt: null };
    const { value, ...rest } = kept;
    return { ...place, found: true, value: JSON.parse(value) as unknown, ...rest };
  },
});

export const stateTools = [state, recall];
