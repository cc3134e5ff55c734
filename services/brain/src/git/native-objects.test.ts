import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findDamage } from './boot-repair.ts';
import { AT, AUTHOR, makeTestBed, mustRead, type TestBed, text } from '../../testing/git-test-bed.ts';
import { writeCommit } from './commits.ts';
import { editIndexFile, type IndexEdit } from './index-file.ts';
import { objectIdOf } from './object-id.ts';
import { readBlob, readTree, type TreeEdit, treeOf, writeBlobs, writeEditedTree, writeObjects } from './objects.ts';
import { moveRefs } from './refs.ts';
import { editTree } from './tree-edit.ts';

let bed: TestBed;
beforeEach(async () => {
  bed = await makeTestBed();
});
afterEach(() => bed[Symbol.asyncDispose]());

/** Mulberry32: small and the same everywhere. */
function randomOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

const NAMES = ['a', 'a.md', 'a-b', 'a0', 'b', 'Äpfel.md', '日本', 'x y.md', '.hidden', 'zz'];
const MODES = ['100644', '100644', '100755', '120000', '160000'];

/** A set of paths in which none is a directory above another. */
function randomFiles(random: (below: number) => number, count: number): Map<string, { mode: string; oid: string }> {
  const files = new Map<string, { mode: string; oid: string }>();
  const pick = (): string => NAMES[random(NAMES.length)] ?? '';
  for (let n = 0; n < count; n += 1) {
    const path = Array.from({ length: 1 + random(4) }, pick).join('/');
    const isInTheWay = [...files.keys()].some((other) => other.startsWith(`${path}/`) || path.startsWith(`${other}/`));
    const oid = objectIdOf({ type: 'blob', body: text(String(random(40))) });
    if (!isInTheWay) files.set(path, { mode: MODES[random(MODES.length)] ?? '', oid });
  }
  return files;
}

function editsBetween(
  before: ReadonlyMap<string, { mode: string; oid: string }>,
  after: ReadonlyMap<string, { mode: string; oid: string }>,
): TreeEdit[] {
  const gone = [...before.keys()].filter((path) => !after.has(path)).map((path) => ({ path, entry: null }));
  return [...gone, ...Array.from(after, ([path, entry]) => ({ path, entry }))];
}

async function gitTree(files: ReadonlyMap<string, { mode: string; oid: string }>): Promise<string> {
  const { repository, root } = bed;
  const indexFile = join(root, `index-${String(files.size)}-${Math.random()}`);
  const { gitDir, git } = repository;
  const stdin = Array.from(files, ([path, { mode, oid }]) => `${mode} ${oid}\t${path}\0`).join('');
  await git.run({ args: ['update-index', '-z', '--index-info'], gitDir, indexFile, stdin });
  return (await git.run({ args: ['write-tree', '--missing-ok'], gitDir, indexFile })).stdout.toString().trim();
}

describe('trees', () => {
  it('are edited to what git itself makes of the same files', async () => {
    const { repository } = bed;
    await writeBlobs(
      repository,
      Array.from({ length: 40 }, (_, n) => text(String(n))),
    );
    let tree = await treeOf(repository, await mustRead(repository, 'main'));
    let before = new Map<string, { mode: string; oid: string }>();
    for (let seed = 1; seed <= 30; seed += 1) {
      const random = randomOf(seed);
      const after = randomFiles(random, 1 + random(30));
      const edited = await editTree((oid) => repository.blobs.read(oid), tree, editsBetween(before, after));
      expect(edited.left, `seed ${seed}`).toEqual([]);
      expect(edited.tree, `seed ${seed}`).toBe(await gitTree(after));
      await writeObjects(repository, edited.objects);
      tree = edited.tree;
      before = after;
    }
    const plain = new Map([...before].filter(([, { mode }]) => mode !== '160000'));
    const edits = [...before.keys()].filter((path) => !plain.has(path)).map((path) => ({ path, entry: null }));
    const kept = await editTree((oid) => repository.blobs.read(oid), tree, edits);
    await writeObjects(repository, kept.objects);
    const parents = [await mustRead(repository, 'main')];
    const commit = await writeCommit(repository, {
      tree: kept.tree,
      parents,
      text: 'x\n',
      author: AUTHOR,
      authoredAt: AT,
      at: AT,
    });
    expect(await moveRefs(repository, [{ ref: 'refs/heads/main', to: commit, from: parents[0] ?? '' }], AT)).toBe(true);
    expect(await findDamage(repository, 'strict')).toBeNull();
  });

  it('keep what no edit names, and refuse what git would call damage', async () => {
    const { repository } = bed;
    const [oid = ''] = await writeBlobs(repository, [text('1')]);
    const file = { mode: '100644', oid };
    const base = await editTree((id) => repository.blobs.read(id), null, [
      { path: 'dir/.kept', entry: file },
      { path: 'dir/x', entry: file },
      { path: 'file', entry: file },
    ]);
    await writeObjects(repository, base.objects);
    const bad = [
      '.git/x',
      '.GIT/hooks',
      'a/.git',
      'git~1',
      '.g\u200cit/x',
      '.git . ',
      '.git::$INDEX',
      'a//b',
      'a/../b',
      './x',
    ];
    const edited = await editTree((id) => repository.blobs.read(id), base.tree, [
      { path: 'dir', entry: file },
      { path: 'dir/x', entry: null },
      { path: 'file/below', entry: file },
      { path: 'file/absent', entry: null },
      { path: '.gitmodules', entry: { mode: '120000', oid } },
      ...bad.map((path) => ({ path, entry: file })),
    ]);
    expect([...edited.left].sort()).toEqual(['.gitmodules', 'dir', 'file/below', ...bad].sort());
    const expected = new Map([
      ['dir/.kept', file],
      ['file', file],
    ]);
    expect(edited.tree).toBe(await gitTree(expected));
  });

  it('are refused as a whole for a merge when an edit cannot be made', async () => {
    const { repository } = bed;
    const [oid = ''] = await writeBlobs(repository, [text('1')]);
    const edits = [{ path: '.git/x', entry: { mode: '100644', oid } }];
    await expect(writeEditedTree(repository, await mustRead(repository, 'main'), edits)).rejects.toThrow('in the way');
  });
});

it('writes an object again of which another git left nothing but the name', async () => {
  const { repository } = bed;
  const [oid = ''] = await writeBlobs(repository, [text('1')]);
  const file = join(repository.gitDir, 'objects', oid.slice(0, 2), oid.slice(2));
  await rm(file);
  await writeFile(file, '');
  await writeBlobs(repository, [text('1')]);
  expect(await readBlob(repository, oid)).toEqual(Buffer.from('1'));
});

describe('packs', () => {
  it('hold many objects that git reads back and finds sound', async () => {
    const { repository } = bed;
    const random = randomOf(7);
    const contents = Array.from({ length: 300 }, (_, n) =>
      Buffer.alloc([0, 1, 15, 16, 17, 2047, 2048, 2049, 100_000][n % 9] ?? 0, `${n} ${random(1000)} `),
    );
    const oids = await writeBlobs(repository, contents);
    expect(new Set(oids).size).toBeLessThan(300); // all empty ones are one object
    for (const [index, oid] of oids.entries()) expect(await readBlob(repository, oid)).toEqual(contents[index]);
    const edits = oids.map((oid, n) => ({ path: `f${n}`, entry: { mode: '100644', oid } }));
    const parents = [await mustRead(repository, 'main')];
    const tree = await writeEditedTree(repository, parents[0] ?? '', edits);
    const commit = await writeCommit(repository, {
      tree,
      parents,
      text: 'x\n',
      author: AUTHOR,
      authoredAt: AT,
      at: AT,
    });
    expect(await moveRefs(repository, [{ ref: 'refs/heads/main', to: commit, from: parents[0] ?? '' }], AT)).toBe(true);
    expect((await readTree(repository, commit)).size).toBe(300);
    expect(await findDamage(repository, 'strict')).toBeNull();
    const { gitDir, git } = repository;
    const counted = await git.run({ args: ['count-objects', '-v'], gitDir });
    expect(counted.stdout.toString()).toMatch(/packs: 1\n/);
    await expect(git.run({ args: ['index-pack', '--stdin', '--strict'], gitDir, stdin: 'x' })).rejects.toThrow(
      /index-pack/,
    );
  });
});

describe('the index', () => {
  /** As git lists it, flags included. */
  async function listed(indexFile: string): Promise<string[]> {
    const { stdout } = await bed.repository.git.run({
      args: ['ls-files', '-s', '-t', '-z'],
      gitDir: bed.repository.gitDir,
      indexFile,
    });
    return stdout.toString().split('\0').filter(Boolean);
  }

  it('is edited to what git itself makes of the same edits, again and again', async () => {
    const { repository, root } = bed;
    const { git, gitDir } = repository;
    await writeBlobs(
      repository,
      Array.from({ length: 40 }, (_, n) => text(String(n))),
    );
    const ours = join(root, 'ours');
    const theirs = join(root, 'theirs');
    let bytes: Buffer | null = null;
    let before = new Map<string, { mode: string; oid: string }>();
    for (let seed = 1; seed <= 30; seed += 1) {
      const after = randomFiles(randomOf(seed * 31), 1 + (seed % 25));
      const edits = editsBetween(before, after);
      const indexEdits: IndexEdit[] = edits.map(({ path, entry }) => ({
        path,
        entry: entry && { ...entry, stat: null },
      }));
      bytes = editIndexFile(bytes, indexEdits);
      expect(bytes, `seed ${seed}`).not.toBeNull();
      await writeFile(ours, bytes ?? '');
      const stdin = edits
        .map(({ path, entry }) => `${entry?.mode ?? '0'} ${entry?.oid ?? '0'.repeat(40)}\t${path}\0`)
        .join('');
      await git.run({ args: ['update-index', '-z', '--index-info'], gitDir, indexFile: theirs, stdin });
      expect(await listed(ours), `seed ${seed}`).toEqual(await listed(theirs));
      // git remembers the trees of an index in the index: ours must forget those that we changed
      const made = await git.run({ args: ['write-tree', '--missing-ok'], gitDir, indexFile: ours });
      expect(made.stdout.toString().trim()).toBe(await gitTree(after));
      bytes = await readFile(ours);
      before = after;
    }
  });

  it('keeps other entries byte for byte, drops what only fits the old one, and leaves to git what only git can edit', async () => {
    const { repository, root } = bed;
    const { git, gitDir } = repository;
    const [oid = ''] = await writeBlobs(repository, [text('1')]);
    const indexFile = join(root, 'index');
    const stdin = ['a', 'b', 'c'].map((path) => `100644 ${oid}\t${path}\0`).join('');
    await git.run({ args: ['update-index', '-z', '--index-info'], gitDir, indexFile, stdin });
    await git.run({ args: ['update-index', '--skip-worktree', 'c'], gitDir, indexFile });
    const edit = { path: 'b', entry: { mode: '100755', oid, stat: null } };
    const absent = { path: 'd', entry: { mode: '120000', oid, stat: null, isAbsent: true } };
    await writeFile(indexFile, editIndexFile(await readFile(indexFile), [edit, absent]) ?? '');
    expect(await listed(indexFile)).toEqual([
      `H 100644 ${oid} 0\ta`,
      `H 100755 ${oid} 0\tb`,
      `S 100644 ${oid} 0\tc`,
      `S 120000 ${oid} 0\td`,
    ]);
    const bytes = await readFile(indexFile);
    const broken = Buffer.from(bytes);
    broken[20] = (broken[20] ?? 0) ^ 1;
    for (const damaged of [broken, bytes.subarray(0, 40), Buffer.from('garbage'), Buffer.alloc(0)])
      expect(editIndexFile(damaged, [edit])).toBeNull();
    await git.run({ args: ['update-index', '--index-version', '4'], gitDir, indexFile });
    expect(editIndexFile(await readFile(indexFile), [edit])).toBeNull();
  });
});
