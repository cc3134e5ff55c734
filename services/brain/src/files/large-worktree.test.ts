/** A working tree of very many files: what is done to all of them lets others in. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { AnalysisCache } from '../search/analysis-cache.ts';
import { BranchIndex } from '../search/branch-index.ts';
import { IndexMemory } from '../search/index-memory.ts';
import type { FileEntry } from './file-entry.ts';
import { FileTable } from './file-table.ts';
import { InotifyWatch } from './tree-watch.ts';
import { Worktree } from './worktree.ts';

const KNOWN = 60_000;
const TOUCHED = 3000;

let root: string;
let memory: IndexMemory;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'large-tree-'));
  memory = new IndexMemory();
});
afterEach(async () => {
  await memory.close();
  rmSync(root, { recursive: true });
});

/** How many calls of `name` there are at most before anybody else has a turn. */
async function mostInATurn(name: 'set' | 'delete' | 'advanceHead', work: () => Promise<unknown>): Promise<number> {
  const calls = vi.spyOn(FileTable.prototype, name);
  let most = 0;
  let isDone = false;
  const count = (): void => {
    most = Math.max(most, calls.mock.calls.length);
    calls.mockClear();
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  await work();
  count();
  isDone = true;
  calls.mockRestore();
  return most;
}

const names = Array.from({ length: KNOWN }, (_, number) => `area ${number % 40}/note ${number}.md`);
const entries = names.map((path): FileEntry => {
  const described = { hash: 'h', blob: 'b', bytes: 1, stat: '', modifiedAt: 0, kind: 'text', mode: '100644' } as const;
  return { ...described, path, onDisk: path, problem: null };
});

function openTree(known: readonly FileEntry[]): Promise<Worktree> {
  return Worktree.open({
    branch: 'main',
    root,
    index: (source) =>
      new BranchIndex({ source, cache: new AnalysisCache(), memory, snapshot: null, onProblem: expect.fail }),
    catalogue: new Map(known.map((entry) => [entry.path, entry])),
    head: new Map(known.map(({ onDisk, mode, blob }) => [onDisk, { mode, oid: blob }])),
    filledFrom: null,
    ignores: { isIgnored: () => false, changed: () => undefined },
    watch: new InotifyWatch({ root, onTouched: () => undefined }),
    now: () => Date.now(),
  });
}

test.each(['set', 'advanceHead', 'delete'] as const)('in opening one that somebody emptied: %s', async (name) => {
  let tree: Worktree | null = null;
  const most = await mostInATurn(name, async () => {
    tree = await openTree(entries);
  });
  expect(most).toBeLessThan(KNOWN / 2);
  expect(tree).toMatchObject({ table: { size: 0 } });
  (tree as Worktree | null)?.close();
});

test('in looking at what an editor touched', async () => {
  const tree = await openTree([]);
  for (let number = 0; number < TOUCHED; number += 1) writeFileSync(join(root, `${number}.md`), `${number}`);
  const most = await mostInATurn('set', () => tree.look());
  expect(tree.table.size).toBe(TOUCHED);
  expect(most).toBeLessThan(TOUCHED / 2);
  tree.close();
});
