/** What health and lists say about a brain, counted over the files that the subject may read. */
import { readHeads } from '../git/refs.ts';
import type { RowView } from '../ports.ts';
import type { BranchWriter } from '../writer/branch-writer.ts';
import type { OpenBrain } from './open-brain.ts';
import type { RuledIndex } from '../search/ruled-index.ts';
import type { BrainSummary, UnservedGroup } from './ops.ts';
import type { EntryKind } from '../files/file-entry.ts';
import { remoteState } from './remote-state.ts';

const SHOWN_GROUPS = 20;

export async function summarise(brain: OpenBrain, rows: RowView): Promise<BrainSummary> {
  const trees = [...(await brain.openTrees()).values()];
  const main = trees.find(({ tree }) => tree.branch === 'main');
  const files = Array.from(main?.tree.table.entries() ?? []).filter(({ path }) => rows.mayRead(path));
  const heads = await readHeads(brain.context.repository);
  return {
    name: brain.context.name,
    branches: heads.size,
    files: files.length,
    dirty: sum(trees, (writer) => dirtyCount(writer, rows)),
    commit: heads.get('main') ?? '',
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
    },
    counters: { mutex: brain.context.counters.mutex, lease: brain.context.counters.lease },
  };
}

/** Of files that may be read. */
async function rowsInMemory(trees: readonly BranchWriter[], rows: RowView): Promise<number> {
  const loaded = trees.filter(({ tree }) => tree.index.loaded !== null);
  const count = (index: RuledIndex): number => index.under(rows.chains).rowsIn(rows.admitted());
  const counts = await Promise.all(loaded.map(({ tree }) => tree.index.ask(rows.chains, count)));
  return counts.reduce((total, one) => total + one, 0);
}

/** Uncommitted files that may be read. */
export function dirtyCount({ tree }: BranchWriter, rows: RowView): number {
  if (rows.isUnruled) return tree.table.dirtyCount;
  return tree.table.changes().filter(({ file }) => rows.mayRead(file)).length;
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
