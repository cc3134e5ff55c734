/** Where a session is: its brains, their state. */
import { z } from 'zod';
import { CommitId, page, TimestampMs } from '@svc/contract/params.ts';
import { nextPage, positionOf } from '@svc/runtime/paging.ts';
import { type BrainDeps, defineTool } from '../deps.ts';
import type { CatalogueSize } from '../store/catalogue.ts';
import { nextCursor, shownStack, stackNames, stackShown } from './results.ts';
import { findBranch, readDirty } from '../operations/branches.ts';
import { settle } from '../operations/summary.ts';
import {
  opContext,
  present,
  PRESENT_REFUSES,
  READ_RAISES,
  type ReadableBrain,
  readableBrains,
  resolveTarget,
} from './target.ts';

const current = defineTool({
  name: 'brain_current',
  area: 'brain',
  description: 'Shows the current brain of the session, its branch and whether it has uncommitted files.',
  input: z.strictObject({}),
  output: z.strictObject({
    current: z.string(),
    branch: z.string(),
    type: z.enum(['private', 'public']),
    commit: CommitId,
    dirty: z.boolean(),
    stack: stackNames,
  }),
  access: 'public',
  effect: 'read',
  refuses: PRESENT_REFUSES,
  raises: READ_RAISES,
  async handler(_input, context) {
    const { ask, brain, branch, type } = await resolveTarget(context, {});
    const { commit } = context.take(await ask(findBranch, { branch }));
    const { files } = context.take(present(await ask(readDirty, { branch })));
    const pointer = await context.deps.sessions.read(context.caller.session);
    return { current: brain, branch, type, commit, dirty: files.length > 0, stack: shownStack(pointer).stack };
  },
});

const stack = defineTool({
  name: 'brain_stack',
  area: 'brain',
  description: "Shows the session's stack; can wait until queued writes have settled.",
  input: z.strictObject({
    wait: z
      .union([z.boolean(), z.int().min(0).max(10_000)])
      .optional()
      .describe('true, or at most so many ms.'),
  }),
  output: z.strictObject({ ...stackShown, settled: z.boolean() }),
  access: 'public',
  effect: 'read',
  refuses: [],
  raises: READ_RAISES,
  async handler({ wait = false }, context) {
    const { deps, caller } = context;
    const pointer = await deps.sessions.read(caller.session);
    const waitMs = wait === true ? 10_000 : wait === false ? 0 : wait;
    const op = opContext(context);
    if (waitMs === 0) return { ...shownStack(pointer), settled: true };
    const waits = pointer.stack.map(({ brain }) => deps.router.brain(brain, op).ask(settle, { waitMs }));
    return { ...shownStack(pointer), settled: (await Promise.all(waits)).every(Boolean) };
  },
});

const list = defineTool({
  name: 'brain_list',
  area: 'brain',
  description: 'Lists the brains of this node.',
  input: z.strictObject({ ...page }),
  output: z.strictObject({
    brains: z.array(
      z.strictObject({
        name: z.string(),
        current: z.boolean(),
        onStack: z.boolean(),
        branch: z.string(),
        files: z.int(),
        modifiedAt: TimestampMs.nullable(),
      }),
    ),
    names: z.array(z.string()),
    count: z.int(),
    ...nextCursor,
  }),
  access: 'public',
  effect: 'read',
  refuses: [],
  async handler({ limit, cursor }, context) {
    const { deps, caller } = context;
    const position = positionOf(limit, cursor);
    const { after } = position;
    const readable = (await readableBrains(context)).filter(({ name }) => after === null || name > after);
    const { items, next } = nextPage(readable, position, ({ name }) => name);
    const pointer = await deps.sessions.read(caller.session);
    const sizes = await sizesOf(deps, items);
    const brains = items.map(({ name }) => {
      const entry = pointer.stack.find(({ brain }) => brain === name);
      const { files = 0, modifiedAt = null } = sizes.get(name) ?? {};
      const branch = entry?.branch ?? 'main';
      return {
        name,
        current: pointer.stack[0].brain === name,
        onStack: entry !== undefined,
        branch,
        files,
        modifiedAt,
      };
    });
    return { brains, names: brains.map(({ name }) => name), count: brains.length, ...next };
  },
});

/** Counted by the database where all files are alike; where some are not, those are judged one by one. */
async function sizesOf(deps: BrainDeps, brains: readonly ReadableBrain[]): Promise<Map<string, CatalogueSize>> {
  const ruled = brains.map(({ name, rows }) => ({
    name,
    counted: { scopes: rows.scopes(), shutHomes: rows.shutHomes(), bounded: rows.bounded(), isCounted: rows.mayRead },
  }));
  const isAlike = ({ counted: { scopes, shutHomes } }: (typeof ruled)[number]) =>
    scopes.length + shutHomes.length === 0;
  const sizes = await deps.catalogueSizes(ruled.filter(isAlike).map(({ name }) => name));
  for (const brain of ruled) {
    if (!isAlike(brain)) sizes.set(brain.name, await deps.catalogueSizeOf(brain.name, brain.counted));
  }
  return sizes;
}

const migrationStatus = defineTool({
  name: 'brain_migration_status',
  area: 'brain',
  description: 'Tells whether the data directory has the current layout, and what to do when an old one is found.',
  input: z.strictObject({}),
  output: z.strictObject({
    markerVersion: z.int().nullable(),
    targetVersion: z.literal(3),
    upToDate: z.boolean(),
    legacy: z.boolean(),
    guidance: z.string().nullable(),
  }),
  access: 'public',
  effect: 'read',
  refuses: [],
  handler: async (_input, { deps }) => deps.layout.status(),
});

export const sessionTools = [current, stack, list, migrationStatus];
