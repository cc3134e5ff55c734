/** lineage_record, lineage_trace and lineage_stats. */
import { z } from 'zod';
import { CallError } from '@svc/contract/codes.ts';
import { JsonData } from '@svc/contract/json-data.ts';
import { TimestampMs } from '@svc/contract/params.ts';
import { DEFAULT_WORKSPACE, type Subject, UserCtx } from '@svc/contract/subject.ts';
import { invalidArguments } from '@svc/runtime/arguments.ts';
import { defineTool } from '../../deps.ts';
import { opContext, settled } from '../../tools/target.ts';
import { LINEAGE_LIMITS } from '../domain/lineage.ts';
import { EVENTS_COUNTED } from '../lineage-store.ts';

const printable = '[^\\p{Cc}\\p{Cf}\\p{Cs}\\p{Zl}\\p{Zp}]';
const EventName = z
  .string()
  .regex(new RegExp(`^${printable}{1,200}$`, 'u'), 'must be 1-200 characters without control characters');
const userCtx = { userCtx: UserCtx.optional() };
const data = z.unknown();

/** Throws RLS_DENIED where there is none of that name: whoever makes it later would find what others left. */
function workspaceOf({ workspace = DEFAULT_WORKSPACE, unknownWorkspace }: Subject): string {
  if (unknownWorkspace === true) throw new CallError('RLS_DENIED');
  return workspace;
}

interface Kept {
  readonly id: string;
  readonly event: string;
  readonly data: string;
  readonly by: string;
  readonly at: number;
}

function shown({ id, event, data: text, by, at }: Kept) {
  return { id, event, data: JSON.parse(text) as unknown, by, at };
}

const record = defineTool({
  name: 'lineage_record',
  area: 'lineage',
  description: 'Records an event of the workspace and what it came of; nothing of it is ever changed.',
  input: z.strictObject({
    event: EventName.describe('What happened, 1-200 characters.'),
    data: JsonData.default(null).describe('Any JSON, at most 64 KiB as text.'),
    parent: z
      .union([EventName, z.array(EventName).max(LINEAGE_LIMITS.parents)])
      .optional()
      .describe('What it came of: an id, or the newest event of that name; up to 16 of them.'),
    id: z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9._:-]{0,99}$/, 'must be 1-100 letters, digits, dots, underscores, colons or dashes')
      .optional()
      .describe('An id of your own; where it is there with the same event and data, only parents are added.'),
    ...userCtx,
  }),
  output: z.strictObject({
    recorded: z.literal(true),
    id: z.string(),
    event: z.string(),
    parents: z.array(z.string()).describe('Ids.'),
    data,
    by: z.string(),
    at: TimestampMs,
    existed: z.boolean(),
  }),
  access: 'identified',
  effect: 'write',
  refuses: ['E_LINEAGE_PARENT', 'E_LINEAGE_CYCLE', 'E_CONFLICT', 'E_QUOTA'],
  raises: ['RLS_DENIED'],
  dress: { recorded: false },
  example: { event: 'measured', data: { metres: 3 } },
  async handler({ event, data: value, parent = [], id = null }, context) {
    const { deps, caller, now: at } = context;
    const text = JSON.stringify(value);
    if (Buffer.byteLength(text) > LINEAGE_LIMITS.dataBytes)
      throw invalidArguments([{ path: 'data', message: 'must be at most 64 KiB as JSON' }]);
    const workspace = workspaceOf(caller.subject);
    const parents = typeof parent === 'string' ? [parent] : parent;
    const { actor: by } = opContext(context);
    const wish = { workspace, id, event, data: text, parents, by, at };
    const recorded = context.take(settled(context, await deps.lineage.record(context, wish)));
    const { existed } = recorded;
    return { recorded: true as const, ...shown(recorded), parents: [...recorded.parents], existed };
  },
});

const step = z.strictObject({
  id: z.string(),
  event: z.string(),
  depth: z.int().describe('Steps from the entry.'),
  at: TimestampMs,
  data,
});

const trace = defineTool({
  name: 'lineage_trace',
  area: 'lineage',
  description: 'Follows an event to what it came of, or to what came of it, nearest first.',
  input: z.strictObject({
    id: EventName.describe('An id, or the newest event of that name.'),
    depth: z.int().min(1).max(100).default(10).describe('Steps.'),
    direction: z.enum(['up', 'down']).default('up').describe('up = what it came of, down = what came of it.'),
    ...userCtx,
  }),
  output: z.strictObject({
    entry: z.strictObject({ id: z.string(), event: z.string(), data, by: z.string(), at: TimestampMs }),
    ancestors: z.array(step).optional().describe('With direction up; at most 1000, and 1 MiB of data.'),
    descendants: z.array(step).optional().describe('With direction down.'),
    edges: z.array(z.tuple([z.string(), z.string()])).describe('[child, parent] among those shown.'),
    truncated: z.boolean(),
  }),
  access: 'identified',
  effect: 'read',
  refuses: ['E_LINEAGE_ABSENT'],
  raises: ['RLS_DENIED'],
  example: { id: 'measured' },
  async handler({ id, depth, direction }, context) {
    const workspace = workspaceOf(context.caller.subject);
    const traced = await context.deps.lineage.trace({ workspace, from: id, depth, direction });
    if (traced === null) throw context.refuse('E_LINEAGE_ABSENT', { id });
    const found = traced.found.map(({ distance, ...node }) => {
      const { by: _by, ...rest } = shown(node);
      return { ...rest, depth: distance };
    });
    return {
      entry: shown(traced.entry),
      ...(direction === 'up' ? { ancestors: found } : { descendants: found }),
      edges: traced.edges.map(([child, parent]): [string, string] => [child, parent]),
      truncated: traced.truncated,
    };
  },
});

const stats = defineTool({
  name: 'lineage_stats',
  area: 'lineage',
  description: 'How many events and edges the lineage of the workspace has, and how deep it is.',
  input: z.strictObject({ ...userCtx }),
  output: z.strictObject({
    total: z.int(),
    edges: z.int(),
    roots: z.int().describe('Events that came of none.'),
    events: z.record(z.string(), z.int()).describe(`By name, the ${EVENTS_COUNTED} most frequent.`),
    maxDepth: z.int(),
    workspace: z.string(),
  }),
  access: 'identified',
  effect: 'read',
  refuses: [],
  raises: ['RLS_DENIED'],
  async handler(_input, { deps, caller }) {
    const workspace = workspaceOf(caller.subject);
    const { nodes: total, edges, roots, maxDepth, events } = await deps.lineage.stats(workspace);
    return { total, edges, roots, events: Object.fromEntries(events), maxDepth, workspace };
  },
});

export const lineageTools = [record, trace, stats];
