/** Files that belong to somebody else and may not be read: they are told of, and keep nobody from the others. */
import { chmodSync, lstatSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { AnalysisCache } from '../search/analysis-cache.ts';
import { BranchIndex } from '../search/branch-index.ts';
import { IndexMemory } from '../search/index-memory.ts';
import { emptyFoldersIn, makeFolders } from './empty-folders.ts';
import { committingOf, describeOnDisk, type FileEntry, readLarge, statEntry } from './file-entry.ts';
import { obstacleAt } from './obstacle.ts';
import { replaceFiles } from './replace-files.ts';
import { walkTree } from './tree-walk.ts';
import { InotifyWatch } from './tree-watch.ts';
import { Worktree } from './worktree.ts';

const NOBODY = 65534;
const root = mkdtempSync(join(tmpdir(), 'svc-unreadable-'));
const memory = new IndexMemory();
afterAll(async () => {
  await memory.close();
  rmSync(root, { recursive: true, force: true });
});

/** Whom no file is closed to is somebody else meanwhile. */
async function unprivileged<Value>(look: () => Value | Promise<Value>): Promise<Value> {
  const isRoot = process.geteuid?.() === 0;
  if (isRoot) process.seteuid?.(NOBODY);
  try {
    return await look();
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
}

test.each([
  ['note.md', 10],
  ['film.mp4', 2_000_000],
])('%s is listed with the reason, neither served nor committed', async (name, bytes) => {
  chmodSync(root, 0o755);
  writeFileSync(join(root, name), Buffer.alloc(bytes, 'x'));
  chmodSync(join(root, name), 0);
  const place = { root, path: name, onDisk: name };
  const stat = lstatSync(join(root, name), { bigint: true });
  const found = await unprivileged(async () => {
    const described = describeOnDisk(place, stat, Date.now());
    return described?.entry.kind === 'large' ? readLarge(root, described.entry) : (described?.entry ?? null);
  });
  expect(found).toMatchObject({ kind: 'other', hash: '', bytes, problem: expect.stringMatching(/^may not be read/) });
  expect(found && committingOf(found)).toBe('never');
});

test('a directory that may not be entered is listed with the reason, and what cannot be listed hides nothing beside it', async () => {
  const tree = join(root, 'tree');
  for (const directory of ['closed', 'listless', 'open']) {
    mkdirSync(join(tree, directory), { recursive: true });
    writeFileSync(join(tree, directory, 'f.md'), 'f');
  }
  chmodSync(join(tree, 'closed'), 0o700);
  chmodSync(join(tree, 'listless'), 0o711);
  const walked = { root: tree, isSkipped: () => false, entering: () => undefined };
  const { paths, entry } = await unprivileged(async () => {
    const stat = statEntry(tree, 'closed');
    const described = stat && describeOnDisk({ root: tree, path: 'closed', onDisk: 'closed' }, stat, Date.now());
    const found: string[] = [];
    for await (const path of walkTree(walked, '')) found.push(path);
    return { paths: found, entry: described?.entry };
  });
  expect(paths.sort()).toEqual(['closed', 'listless', 'open/f.md']);
  expect(entry).toMatchObject({ kind: 'other', problem: expect.stringMatching(/^may not be read/) });
  expect(entry && committingOf(entry)).toBe('never');
});

/** A working tree with these entries known from before, and these as its last commit. */
async function lookThrough(dir: string, known: readonly FileEntry[], committed: readonly FileEntry[]) {
  const tree = await Worktree.open({
    branch: 'main',
    root: dir,
    index: (source) =>
      new BranchIndex({ source, cache: new AnalysisCache(), memory, snapshot: null, onProblem: expect.fail }),
    catalogue: new Map(known.map((entry) => [entry.path, entry])),
    head: new Map(committed.map(({ path, mode, blob }) => [path, { mode, oid: blob }])),
    filledFrom: null,
    ignores: { isIgnored: () => false, changed: () => undefined },
    watch: new InotifyWatch({ root: dir, onTouched: () => undefined }),
    now: () => Date.now(),
  });
  try {
    await tree.scan();
    const left = tree.table.left().map(({ file }) => file);
    return { entries: [...tree.table.entries()], changes: tree.table.changes(), left };
  } finally {
    tree.close();
  }
}

test('what the last commit has below such a directory is taken for deleted by no commit, and nothing is put there', async () => {
  const dir = join(root, 'committed');
  for (const path of ['closed/deep', 'listless', 'open']) {
    mkdirSync(join(dir, path), { recursive: true });
    writeFileSync(join(dir, path, 'f.md'), path);
  }
  const { entries } = await lookThrough(dir, [], []);
  chmodSync(join(dir, 'closed'), 0o700);
  chmodSync(join(dir, 'listless'), 0o711);
  const [restarted, fresh] = await unprivileged(async () => [
    await lookThrough(dir, entries, entries),
    await lookThrough(dir, [], entries),
  ]);
  expect(restarted).toMatchObject({ changes: [], left: ['closed', 'closed/deep/f.md', 'listless'] });
  expect(fresh).toMatchObject({ changes: [], left: ['closed', 'closed/deep/f.md', 'listless', 'listless/f.md'] });

  const aside = join(root, 'aside');
  mkdirSync(aside);
  chmodSync(aside, 0o777);
  await unprivileged(async () => {
    const staged = join(aside, 'new');
    writeFileSync(staged, 'new');
    for (const path of ['closed/new.md', 'closed/deep/new.md']) {
      expect(obstacleAt(dir, path)).toContain('may not enter');
      const { kept } = await replaceFiles(dir, [{ path, staged, expected: null }], aside);
      expect([...kept]).toEqual([path]);
    }
    expect(emptyFoldersIn(dir, '')).toEqual([]);
    expect(makeFolders(dir, 'closed/new')).toBeNull();
  });
});
