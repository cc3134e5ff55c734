/** What members of a workspace lay aside for each other, and handlers, of which there are none over this transport. */
import { z } from 'zod';
import { TimestampMs } from '@svc/contract/params.ts';
import { settled } from '@svc/runtime/idempotency.ts';
import { defineTool } from '../../deps.ts';
import { STASHES_KEPT } from '../domain/quota.ts';
import { JsonValue } from './json-value.ts';
import { memberOf } from './member.ts';
import { asSomebody } from './shapes.ts';

const entry = { id: z.string(), by: z.string(), at: TimestampMs };

const stash = defineTool({
  name: 'svc_brain_stash',
  area: 'brain-dropbox',
  description: `Lays JSON aside for the workspace, which keeps the newest ${STASHES_KEPT}.`,
  input: z.strictObject({ data: JsonValue.describe('Any JSON, at most 256 KiB.'), ...asSomebody }),
  output: z.strictObject({ stashed: z.literal(true), id: z.string(), at: TimestampMs }),
  access: 'identified',
  effect: 'write',
  refuses: [],
  example: { data: { draft: 'Chapter two', page: 14 } },
  async handler({ data }, context) {
    const { deps, caller } = context;
    const added = await deps.tmp.stash.add(context, memberOf(caller), JSON.stringify(data));
    const { id, at } = settled(context, added);
    return { stashed: true as const, id, at };
  },
});

const yourStuff = defineTool({
  name: 'svc_brain_your_stuff',
  area: 'brain-dropbox',
  description: 'Shows what was laid aside last for the workspace, and who laid aside what is kept.',
  input: z.strictObject(asSomebody),
  output: z.strictObject({
    stash: z.unknown().describe('The newest JSON; null when there is none.'),
    empty: z.boolean(),
    id: z.string().nullable(),
    by: z.string().nullable(),
    at: TimestampMs.nullable(),
    history: z.array(z.strictObject(entry)).describe('Newest first.'),
  }),
  access: 'identified',
  effect: 'read',
  refuses: [],
  async handler(_input, { deps, caller }) {
    const { data, entries } = await deps.tmp.stash.read(memberOf(caller));
    const { id = null, by = null, at = null } = entries[0] ?? {};
    const newest = data === null ? null : (JSON.parse(data) as unknown);
    return { stash: newest, empty: entries.length === 0, id, by, at, history: [...entries] };
  },
});

const clear = defineTool({
  name: 'svc_brain_clear',
  area: 'brain-dropbox',
  description: 'Deletes what the caller laid aside, for an admin of the workspace everything laid aside; nothing else.',
  input: z.strictObject(asSomebody),
  output: z.strictObject({ cleared: z.literal(true), count: z.int() }),
  access: 'identified',
  effect: 'write',
  destructive: true,
  refuses: [],
  async handler(_input, context) {
    const { deps, caller } = context;
    const count = settled(context, await deps.tmp.stash.clear(context, memberOf(caller)));
    return { cleared: true as const, count };
  },
});

const NO_HANDLERS = 'Functions cannot be sent over this transport; subscribe to events instead.';

const handlers = defineTool({
  name: 'svc_brain_handlers',
  area: 'brain-dropbox',
  description: 'Lists handlers, of which there are never any over this transport.',
  input: z.strictObject({}),
  output: z.strictObject({
    handlers: z.array(z.string()).describe('Always empty.'),
    count: z.literal(0),
    reason: z.string(),
  }),
  access: 'identified',
  effect: 'read',
  refuses: [],
  handler: async () => ({ handlers: [], count: 0 as const, reason: NO_HANDLERS }),
});

const clearHandlers = defineTool({
  name: 'svc_brain_clear_handlers',
  area: 'brain-dropbox',
  description: 'Removes handlers, of which there are never any over this transport.',
  input: z.strictObject({}),
  output: z.strictObject({ cleared: z.literal(0), reason: z.string() }),
  access: 'identified',
  effect: 'write-idempotent',
  refuses: [],
  handler: async () => ({ cleared: 0 as const, reason: NO_HANDLERS }),
});

export const stashTools = [stash, yourStuff, clear, handlers, clearHandlers];
