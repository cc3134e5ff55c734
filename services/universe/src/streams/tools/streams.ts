/** stream_*: queues, what is put into them and what is in them. */
import { DEFAULT_LIMIT, encodeCursor, page, PlainText } from '@svc/contract/params.ts';
import { familyOf } from '@svc/contract/subject.ts';
import type { Caller } from '@svc/contract/tool.ts';
import { invalidArguments } from '@svc/runtime/arguments.ts';
import { settled } from '@svc/runtime/idempotency.ts';
import { nextPage, positionOf } from '@svc/runtime/paging.ts';
import { z } from 'zod';
import { defineTool } from '../../deps.ts';
import { homeOf, type Standing, standingOf, withoutRole } from '../../standing.ts';
import { DEFAULT_OPTIONS, inboxOf, isInbox } from '../domain/stream.ts';
import { placeKey, type Seen } from '../stream-rows.ts';
import { findStream, jsonOf, LeaseMs, shownWork, Status, StreamName, workspace, WorkShown } from './shapes.ts';

const Options = z.strictObject({
  maxAttempts: z.int().min(1).max(20).default(DEFAULT_OPTIONS.maxAttempts),
  leaseMs: LeaseMs.default(DEFAULT_OPTIONS.leaseMs),
  backoffMs: z.int().min(0).max(3_600_000).default(DEFAULT_OPTIONS.backoffMs),
  backoffMaxMs: z.int().min(0).max(86_400_000).default(DEFAULT_OPTIONS.backoffMaxMs),
  retentionMs: z.int().min(1000).max(31_536_000_000).default(DEFAULT_OPTIONS.retentionMs),
  maxItems: z.int().min(1).max(DEFAULT_OPTIONS.maxItems).default(DEFAULT_OPTIONS.maxItems),
  ordered: z.boolean().default(DEFAULT_OPTIONS.ordered),
});
const counts = { pending: z.int(), delayed: z.int(), working: z.int(), completed: z.int(), dead: z.int() };
const NOTHING = { pending: 0, delayed: 0, working: 0, completed: 0, dead: 0, oldestPendingMs: 0 };

function ownerOfNew({ subject }: Caller, { name, operator }: Standing): { by: string; family: string | null } {
  return { by: name, family: operator ? null : (familyOf(subject) ?? name) };
}

const create = defineTool({
  name: 'stream_create',
  area: 'stream',
  description: 'Makes a queue of work with options of its own.',
  input: z.strictObject({
    stream: StreamName,
    options: Options.prefault({}).describe('What is not named has its default.'),
    workspace,
  }),
  output: z.strictObject({ stream: z.string(), created: z.boolean(), options: Options }),
  access: 'workspace:editor',
  effect: 'write-idempotent',
  refuses: ['E_QUOTA', 'E_STREAM_EXISTS', 'E_STREAM_INBOX'],
  example: { stream: 'reviews', options: { maxAttempts: 5 } },
  async handler({ stream, options, workspace: named }, call) {
    const { deps, caller, refuse } = call;
    if (isInbox(stream)) throw refuse('E_STREAM_INBOX');
    const of = ownerOfNew(caller, await standingOf(deps, caller));
    const place = { workspace: homeOf(caller, named), stream };
    const creators = of.family === null ? [] : await deps.streams.creatorsWithoutRoom(place.workspace, of.family);
    const gone = await withoutRole(call, place.workspace, creators);
    const wish = { ...place, ...of, implicit: false, options };
    const created = settled(call, await deps.streams.create(call, wish, gone));
    return { stream, created, options };
  },
});

const remove = defineTool({
  name: 'stream_delete',
  area: 'stream',
  description: 'Removes a queue with everything in it; who works on something of it loses that.',
  input: z.strictObject({ stream: StreamName, workspace }),
  output: z.strictObject({ stream: z.string(), deleted: z.literal(true), removed: z.int() }),
  access: 'identified',
  effect: 'write',
  destructive: true,
  refuses: ['E_STREAM_ABSENT', 'E_NOT_CREATOR', 'E_STREAM_INBOX'],
  example: { stream: 'reviews' },
  async handler({ stream, workspace: named }, call) {
    if (isInbox(stream)) throw call.refuse('E_STREAM_INBOX');
    const { standing, place, row } = await findStream(call.deps, call.caller, { stream, workspace: named });
    const who = { name: standing.name, sees: row !== null, mayAll: standing.holds(place.workspace, 'admin') };
    const removed = settled(call, await call.deps.streams.remove(call, place, who));
    return { stream, deleted: true as const, removed };
  },
});

const enqueue = defineTool({
  name: 'stream_enqueue',
  area: 'stream',
  description: 'Puts work into a queue, which is made with default options if there is none.',
  input: z.strictObject({
    stream: StreamName,
    task: jsonOf(64).describe('What is to be done: any JSON, at most 64 KiB.'),
    key: PlainText.min(1).max(128).optional().describe('With the same key it is put there once.'),
    delayMs: z.int().min(0).max(604_800_000).default(0).describe('It is offered no sooner than this.'),
    workspace,
  }),
  output: z.strictObject({
    id: z.string(),
    stream: z.string(),
    status: z.literal('pending'),
    seq: z.int(),
    duplicate: z.boolean(),
  }),
  access: 'workspace:editor',
  effect: 'write',
  refuses: ['E_QUOTA', 'E_STREAM_FULL', 'E_STREAM_INBOX'],
  example: { stream: 'reviews', task: { file: 'notes.md' }, key: 'notes.md' },
  async handler({ stream, task, key = null, delayMs, workspace: named }, call) {
    const { deps, caller, refuse } = call;
    if (isInbox(stream)) throw refuse('E_STREAM_INBOX');
    const of = ownerOfNew(caller, await standingOf(deps, caller));
    const wish = { workspace: homeOf(caller, named), stream, ...of, implicit: true, options: DEFAULT_OPTIONS };
    const put = settled(call, await deps.streams.enqueue(call, wish, { key, task, delayMs }));
    return { stream, status: 'pending' as const, ...put };
  },
});

const peek = defineTool({
  name: 'stream_peek',
  area: 'stream',
  description: 'Shows the work that the next poll would get, and takes nothing.',
  input: z.strictObject({ stream: StreamName, workspace }),
  output: z.strictObject({ stream: z.string(), work: WorkShown.nullable() }),
  access: 'identified',
  effect: 'read',
  refuses: ['E_STREAM_ABSENT'],
  example: { stream: 'reviews' },
  async handler({ stream, workspace: named }, { deps, caller, refuse }) {
    const { row } = await findStream(deps, caller, { stream, workspace: named });
    if (row === null) throw refuse('E_STREAM_ABSENT');
    const work = await deps.streams.peek(row);
    return { stream, work: work === null ? null : shownWork(work) };
  },
});

const info = defineTool({
  name: 'stream_info',
  area: 'stream',
  description: 'How much work a queue holds, in which state, and under which options.',
  input: z.strictObject({ stream: StreamName, workspace }),
  output: z.strictObject({
    stream: z.string(),
    exists: z.boolean(),
    total: z.int(),
    ...counts,
    oldestPendingMs: z.int(),
    options: Options,
  }),
  access: 'identified',
  effect: 'read',
  refuses: [],
  example: { stream: 'reviews' },
  async handler({ stream, workspace: named }, { deps, caller }) {
    const { row } = await findStream(deps, caller, { stream, workspace: named });
    if (row === null) return { stream, exists: false, total: 0, ...NOTHING, options: DEFAULT_OPTIONS };
    const counted = await deps.streams.count(row);
    const total = counted.pending + counted.working + counted.completed + counted.dead;
    return { stream, exists: true, total, ...counted, options: row.options };
  },
});

const list = defineTool({
  name: 'stream_list',
  area: 'stream',
  description: 'The work of a queue in its order; without a queue the queues that the caller may see.',
  input: z.strictObject({
    stream: StreamName.optional(),
    status: Status.optional().describe('Only work in that state.'),
    ...page,
    workspace,
  }),
  output: z.union([
    z.strictObject({ stream: z.string(), items: z.array(WorkShown), nextCursor: z.string().optional() }),
    z.strictObject({
      streams: z.array(
        z.strictObject({
          stream: z.string(),
          workspace: z.string().nullable().describe('None of an inbox.'),
          ...counts,
        }),
      ),
      nextCursor: z.string().optional(),
    }),
  ]),
  access: 'identified',
  effect: 'read',
  refuses: [],
  example: { stream: 'reviews', status: 'dead' },
  async handler({ stream, status = null, limit = DEFAULT_LIMIT, cursor, workspace: named }, { deps, caller }) {
    const position = positionOf(limit, cursor);
    if (stream === undefined) {
      const rows = await deps.streams.counts(seenBy(await standingOf(deps, caller), named), {
        after: position.after,
        limit: limit + 1,
      });
      const { items, next } = nextPage(rows, position, placeKey);
      const streams = items.map(({ workspace: home, ...shown }) => ({
        ...shown,
        workspace: home === '' ? null : home,
      }));
      return { streams, ...next };
    }
    const { row } = await findStream(deps, caller, { stream, workspace: named });
    if (row === null) return { stream, items: [] };
    const after = position.after === null ? 0 : seqOf(position.after);
    const { items, isLast } = await deps.streams.list(row, { status, after, limit });
    const last = items.at(-1);
    const next = isLast || last === undefined ? {} : { nextCursor: encodeCursor(String(last.seq)) };
    return { stream, items: items.map(shownWork), ...next };
  },
});

/** In one workspace, or everywhere with one's own inbox; null = every queue there is. */
function seenBy({ workspaces, identity }: Standing, only?: string): Seen | null {
  if (only !== undefined) {
    return { workspaces: (workspaces ?? [only]).filter((one) => one === only), inbox: null };
  }
  return workspaces === null ? null : { workspaces, inbox: identity === null ? null : inboxOf(identity).stream };
}

function seqOf(position: string): number {
  if (!/^\d{1,15}$/.test(position)) throw invalidArguments([{ path: 'cursor', message: 'is not a cursor' }]);
  return Number(position);
}

const MOST_COUNTED = 1000;

const stats = defineTool({
  name: 'stream_stats',
  area: 'stream',
  description: 'How much work is in all the queues that the caller may see, by state, at most 1000 of them.',
  input: z.strictObject({}),
  output: z.strictObject({
    streams: z.record(z.string(), z.strictObject(counts)).describe('By workspace/name, inboxes by their name.'),
    leases: z.int(),
    workspaces: z.int(),
  }),
  access: 'identified',
  effect: 'read',
  refuses: [],
  example: {},
  async handler(_input, { deps, caller }) {
    const rows = await deps.streams.counts(seenBy(await standingOf(deps, caller)), {
      after: null,
      limit: MOST_COUNTED,
    });
    const byName = rows.map(
      ({ workspace: home, stream, ...counted }) =>
        [home === '' ? stream : placeKey({ workspace: home, stream }), counted] as const,
    );
    return {
      streams: Object.fromEntries(byName),
      leases: rows.reduce((sum, { working }) => sum + working, 0),
      workspaces: new Set(rows.map((row) => row.workspace).filter((home) => home !== '')).size,
    };
  },
});

const watch = defineTool({
  name: 'stream_watch',
  area: 'stream',
  description: 'A request cannot watch: subscribe to stream:* events on the socket.',
  input: z.strictObject({ event: PlainText.max(100).optional() }),
  output: z.strictObject({}),
  access: 'public',
  effect: 'read',
  refuses: ['NOT_APPLICABLE'],
  example: {},
  async handler(_input, { refuse }) {
    throw refuse('NOT_APPLICABLE');
  },
});

export const streamTools = [create, remove, enqueue, peek, info, list, stats, watch];
