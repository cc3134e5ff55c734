/** What health and lists say about a brain, counted over the files that the caller may read; and whether its writes are done. */
import { z } from 'zod';
import { LATE, within } from '@svc/runtime/within.ts';
import { remoteState } from '../brain/remote-state.ts';
import { EntryKind } from '../files/file-entry.ts';
import { readHeads } from '../git/refs.ts';
import type { RowView } from '../ports.ts';
import type { RuledIndex } from '../search/ruled-index.ts';
import type { BranchWriter } from '../writer/branch-writer.ts';
import { LeaseCounters, MutexCounters } from '../writer/counters.ts';
import { dirtyCount } from './branches.ts';
import { defineOperation, list } from './operation.ts';

const SHOWN_GROUPS = 20;

/** Entries of one kind that are not served for one reason. */
const UnservedGroup = z.strictObject({ kind: EntryKind, problem: z.string(), count: z.number() });
type UnservedGroup = z.output<typeof UnservedGroup>;

export const BrainSummary = z.strictObject({
  name: z.string(),
  branches: z.number(),
  files: z.number(),
  dirty: z.number(),
  /** Of `main`; null = there is no such branch. */
  commit: z.string().nullable(),
  modifiedAt: z.number().nullable(),
  problems: list(z.strictObject({ code: z.string(), text: z.string() })),
  openConflicts: z.number(),
  /** Of every open working tree. */
  unserved: list(UnservedGroup),
  remote: z.strictObject({ configured: z.boolean(), ahead: z.number().nullable(), behind: z.number().nullable() }),
  queue: z.strictObject({ depth: z.number(), oldestMs: z.number() }),
  /** Rows and bytes in memory; a branch that nobody searches has none there. */
  index: z.strictObject({ rows: z.number(), pending: z.number(), bytes: z.number(), pendingVectors: z.number() }),
  /** Of the process that owns the brain. */
  counters: z.strictObject({ mutex: MutexCounters, lease: LeaseCounters }),
});
export type BrainSummary = z.output<typeof BrainSummary>;

export const summarise = defineOperation({
  name: 'summary',
  effect: 'read',
  question: z.strictObject({}),
  answer: BrainSummary,
  async run({ brain, rows }) {
    const trees = [...(await brain.trees.all()).values()];
    const main = trees.find(({ tree }) => tree.branch === 'main');
    const files = Array.from(main?.tree.table.entries() ?? []).filter(({ path }) => rows.mayRead(path));
    const heads = await readHeads(brain.context.repository);
    return {
      name: brain.context.name,
      branches: heads.size,
      files: files.length,
      dirty: sum(trees, (writer) => dirtyCount(writer, rows)),
      commit: heads.get('main') ?? null,
      modifiedAt: files.reduce<number | null>((last, { modifiedAt }) => Math.max(last ?? 0, modifiedAt), null),
      problems: [...(await brain.problems()), ...(await brain.context.disk.problemsOf(brain.context.name))],
      unserved: unservedGroups(trees, rows),
      openConflicts: sum(trees, ({ openConflicts }) => [...openConflicts].filter(rows.mayRead).length),
      remote: await remoteState(brain, rows),
      queue: {
        depth: sum(trees, ({ depth }) => depth),
        oldestMs: Math.max(0, ...trees.map((writer) => writer.oldestMs())),
      },
      index: {
        rows: await rowsInMemory(trees, rows),
        // Over all files: they would tell when something hidden changes.
        pending: rows.isUnruled ? sum(trees, ({ tree }) => tree.index.pending()) : 0,
        bytes: rows.isUnruled ? sum(trees, ({ tree }) => tree.index.bytes) : 0,
        pendingVectors: brain.context.meaning.filler.pendingOf(brain, rows.mayRead),
      },
      counters: { mutex: brain.context.counters.mutex, lease: brain.context.counters.lease },
    };
  },
});

/** Whether the writes queued by now have settled before `waitMs` passed. */
export const settle = defineOperation({
  name: 'settle',
  effect: 'read',
  question: z.strictObject({ waitMs: z.number() }),
  answer: z.boolean(),
  async run({ brain }, { waitMs }) {
    return (await within(waitMs, brain.trees.settled())) !== LATE;
  },
});

/** Of files that may be read. */
async function rowsInMemory(trees: readonly BranchWriter[], rows: RowView): Promise<number> {
  const loaded = trees.filter(({ tree }) => tree.index.loaded !== null);
  const count = (index: RuledIndex): number => index.under(rows.chains).rowsIn(rows.admitted());
  const counts = await Promise.all(loaded.map(({ tree }) => tree.index.ask(rows.chains, count)));
  return counts.reduce((total, one) => total + one, 0);
}

/** What people put there and the service does not serve, so that nothing of it is invisible. */
function unservedGroups(trees: readonly BranchWriter[], rows: RowView): UnservedGroup[] {
  const groups = new Map<string, { kind: EntryKind; problem: string; count: number }>();
  for (const { tree } of trees) {
    for (const { file, kind, problem } of tree.table.unserved()) {
      if (!rows.mayRead(file)) continue;
      const key = `${kind}\0${problem}`;
      const group = groups.get(key) ?? { kind, problem, count: 0 };
      group.count += 1;
      groups.set(key, group);
    }
  }
  return [...groups.values()].sort((a, b) => b.count - a.count).slice(0, SHOWN_GROUPS);
}

function sum(trees: readonly BranchWriter[], count: (writer: BranchWriter) => number): number {
  return trees.reduce((total, writer) => total + count(writer), 0);
}
