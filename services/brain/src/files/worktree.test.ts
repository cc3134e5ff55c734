import { execFileSync } from 'node:child_process';
import {
  linkSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AnalysisCache } from '../search/analysis-cache.ts';
import { BranchIndex } from '../search/branch-index.ts';
import { IndexMemory } from '../search/index-memory.ts';
import { digTooDeep } from '../../testing/too-deep.ts';
import { CLOCK_STEP_MS } from './file-stamp.ts';
import { InotifyWatch } from './tree-watch.ts';
import { holdsNothingElse } from './tree-walk.ts';
import { Worktree } from './worktree.ts';

let root: string;
const open: Worktree[] = [];
const memory = new IndexMemory();
afterAll(() => memory.close());
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'tree-'));
});
afterEach(() => {
  for (const tree of open.splice(0)) tree.close();
  // unlike `rmSync` it removes what no path leads to
  execFileSync('rm', ['-r', root]);
});

async function openTree(over: Partial<Parameters<typeof Worktree.open>[0]> = {}): Promise<Worktree> {
  const tree = await Worktree.open({
    branch: 'main',
    root,
    index: (source) =>
      new BranchIndex({ source, cache: new AnalysisCache(), memory, snapshot: null, onProblem: expect.fail }),
    catalogue: new Map(),
    head: new Map(),
    filledFrom: null,
    ignores: { isIgnored: () => false, changed: () => undefined },
    watch: new InotifyWatch({ root, onTouched: () => undefined }),
    now: () => Date.now(),
    ...over,
  });
  open.push(tree);
  return tree;
}

const put = (path: string, content: string | Uint8Array) => writeFileSync(join(root, path), content);
const kinds = (tree: Worktree) =>
  Object.fromEntries(Array.from(tree.table.entries(), ({ path, kind }) => [path, kind]));
const told = (tree: Worktree) =>
  tree
    .takeNoticed()
    .changes()
    .map(({ path, change }) => [path, change]);

describe('a path that the writer is changing', () => {
  it.each(['removed', 'written'])(
    'is looked at once it is %s: a person may have put something there meanwhile',
    async (how) => {
      put('note.md', 'old');
      const tree = await openTree();
      tree.takeNoticed();
      tree.applying.add('note.md');
      rmSync(join(root, 'note.md'));
      const ours = Buffer.from('ours');
      if (how === 'written') put('note.md', ours);
      const described = how === 'written' ? tree.describe('note.md', ours) : null;
      put('note.md', 'by a person');
      await tree.look(); // somebody reads
      tree.accept('note.md', described);
      tree.applying.delete('note.md');
      await tree.look();
      expect(tree.table.get('note.md')).toMatchObject({ bytes: 11 });
      expect(told(tree)).toEqual([['note.md', how === 'written' ? 'updated' : 'created']]);
    },
  );
});

describe('what lies in a working tree', () => {
  it('is looked through beside directories that are deeper than a path may be long, which nobody discards', async () => {
    put('note.md', 'old');
    digTooDeep(root);
    const tree = await openTree();
    await tree.look();
    await tree.scan();
    expect(kinds(tree)).toEqual({ 'note.md': 'text' });
    expect(await holdsNothingElse(root, (onDisk) => onDisk === 'note.md')).toBe(false);
  });

  it('is listed with its kind, whatever it is', async () => {
    put('note.md', 'text');
    put('long.md', 'a'.repeat(1024 * 1024 + 1));
    put('scan.pdf', Buffer.from([0x25, 0x50, 0, 0xff]));
    put('film.mp4', Buffer.alloc(2 * 1024 * 1024, 0));
    put('huge.bin', '');
    truncateSync(join(root, 'huge.bin'), 51 * 1024 * 1024);
    symlinkSync('/etc/passwd', join(root, 'link.md'));
    mkdirSync(join(root, 'own', '.git'), { recursive: true });
    put('own/inside.md', 'not ours');
    const tree = await openTree();
    expect(kinds(tree)).toEqual({
      'note.md': 'text',
      'long.md': 'large',
      'scan.pdf': 'binary',
      'film.mp4': 'binary',
      'huge.bin': 'other',
      'link.md': 'link',
      own: 'other',
    });
    expect(tree.read('link.md')?.text).toBeNull();
    expect(tree.table.get('long.md')?.hash).toHaveLength(64);
    expect(tree.table.changes().map(({ file }) => file)).toEqual(['film.mp4', 'long.md', 'note.md', 'scan.pdf']);
    expect(tree.table.left().map(({ file }) => file)).toEqual(['huge.bin', 'link.md', 'own']);
  });

  it('is looked up by the NFC form of its name', async () => {
    mkdirSync(join(root, 'U\u0308bung'));
    put('U\u0308bung/cafe\u0301.md', 'decomposed');
    const tree = await openTree();
    expect(tree.refresh('\u00dcbung/caf\u00e9.md')?.onDisk).toBe('U\u0308bung/cafe\u0301.md');
    expect(tree.onDisk('\u00dcbung/new.md')).toBe('U\u0308bung/new.md');
  });

  it('has that form again once the other spelling of it is gone', async () => {
    const [nfc, nfd] = ['caf\u00e9.md', 'cafe\u0301.md'];
    put(nfd, 'first');
    const tree = await openTree();
    put(nfc, 'second');
    await tree.look();
    expect([tree.read(nfc)?.text, tree.read(nfd)?.text]).toEqual(['second', 'first']);
    rmSync(join(root, nfc));
    await tree.look();
    expect([tree.table.sortedPaths(), tree.read(nfc)?.text, tree.onDisk(nfc)]).toEqual([[nfc], 'first', nfd]);
    put(nfc, 'third');
    await tree.look();
    tree.applying.add(nfc);
    rmSync(join(root, nfc));
    tree.accept(nfc, null);
    tree.applying.delete(nfc);
    await tree.look();
    expect([tree.table.sortedPaths(), tree.read(nfc)?.text]).toEqual([[nfc], 'first']);
  });

  it('has that form once the other spelling is gone that was there before it', async () => {
    const [nfc, nfd] = ['caf\u00e9.md', 'cafe\u0301.md'];
    put(nfc, 'first');
    const tree = await openTree();
    put(nfd, 'second');
    await tree.look();
    expect([tree.read(nfc)?.text, tree.read(nfd)?.entry.kind]).toEqual(['first', 'other']);
    rmSync(join(root, nfc));
    await tree.look();
    expect([tree.table.sortedPaths(), tree.read(nfc)?.text, tree.onDisk(nfc)]).toEqual([[nfc], 'second', nfd]);
  });
});

describe('what was just written', () => {
  it('may be removed or replaced by somebody at once: the next look tells it as theirs', async () => {
    const tree = await openTree();
    for (const [path, theirs] of [
      ['gone.md', null],
      ['replaced.md', 'hers'],
    ] as const) {
      put(path, 'ours');
      rmSync(join(root, path));
      if (theirs !== null) {
        put(path, theirs);
        utimesSync(join(root, path), new Date(0), new Date(0)); // moved here from somewhere else
      }
      tree.accept(path, tree.describe(path, Buffer.from('ours')));
    }
    tree.takeNoticed();
    await tree.look();
    expect(told(tree)).toEqual([
      ['gone.md', 'deleted'],
      ['replaced.md', 'updated'],
    ]);
    expect([tree.read('gone.md')?.text, tree.read('replaced.md')?.text]).toEqual([undefined, 'hers']);
  });
});

describe('a look', () => {
  it('takes in whatever happened before it, without a scan', async () => {
    const tree = await openTree();
    put('a.md', 'one');
    await tree.look();
    expect(told(tree)).toEqual([['a.md', 'created']]);
    put('a.md', 'two');
    mkdirSync(join(root, 'deep/er'), { recursive: true });
    put('deep/er/b.md', 'b');
    await tree.look();
    expect(told(tree)).toEqual([
      ['a.md', 'updated'],
      ['deep/er/b.md', 'created'],
    ]);
    put('deep/er/c.md', 'c');
    renameSync(join(root, 'deep'), join(root, 'moved'));
    await tree.look();
    expect(kinds(tree)).toEqual({ 'a.md': 'text', 'moved/er/b.md': 'text', 'moved/er/c.md': 'text' });
    put('moved/er/b.md', 'changed in the moved directory');
    mkdirSync(join(root, 'deep/er'), { recursive: true });
    await tree.look();
    put('deep/er/again.md', 'in a directory of the name that was moved');
    await tree.look();
    expect(tree.table.get('deep/er/again.md')?.kind).toBe('text');
    rmSync(join(root, 'deep'), { recursive: true });
    rmSync(join(root, 'a.md'));
    await tree.look();
    expect(tree.read('moved/er/b.md')?.text).toBe('changed in the moved directory');
    expect(tree.goneSince('a.md')).not.toBeNull();
    rmSync(join(root, 'moved'), { recursive: true });
    mkdirSync(join(root, 'moved'));
    put('moved/d.md', 'd');
    linkSync(join(root, 'moved/d.md'), join(root, 'e.md'));
    await tree.look();
    expect(Object.keys(kinds(tree)).sort()).toEqual(['e.md', 'moved/d.md']);
  });

  it('notices every state of a large file, read piece by piece', async () => {
    const tree = await openTree();
    put('long.md', 'b'.repeat(2 * 1024 * 1024));
    await tree.look();
    expect(told(tree)).toEqual([['long.md', 'created']]);
    put('long.md', 'short again');
    await tree.look();
    expect(told(tree)).toEqual([['long.md', 'updated']]);
    expect(tree.read('long.md')?.text).toBe('short again');
  });
});

it('tells of two edits within one tick of the clock once, with what is there now', async () => {
  const tree = await openTree();
  const path = join(root, 'a.md');
  for (const text of ['one', 'two', 'six']) {
    put('a.md', text);
    utimesSync(path, 1_700_000_000, 1_700_000_000);
    expect(tree.read('a.md')?.text).toBe(text);
  }
  expect(told(tree)).toEqual([['a.md', 'created']]);
});

it('opens without news what is as the last commit has it', async () => {
  put('a.md', 'as committed');
  put('b.md', 'changed since');
  const first = await openTree();
  const blob = first.table.get('a.md')?.blob ?? '';
  const again = await openTree({
    head: new Map([
      ['a.md', { mode: '100644', oid: blob }],
      ['b.md', { mode: '100644', oid: '0'.repeat(40) }],
    ]),
  });
  expect(told(again)).toEqual([
    ['a.md', 'known'],
    ['b.md', 'created'],
  ]);
});

it('sees nothing through a link that a person has put in the place of a directory', async () => {
  const outside = mkdtempSync(join(tmpdir(), 'outside-'));
  mkdirSync(join(root, 'd'));
  put('d/a.md', 'moved');
  const tree = await openTree();
  await new Promise((resolve) => setTimeout(resolve, 2 * CLOCK_STEP_MS));
  expect(tree.read('d/a.md')).toMatchObject({ text: 'moved' }); // and trusted from now on
  renameSync(join(root, 'd'), join(outside, 'd'));
  symlinkSync(join(outside, 'd'), join(root, 'd'));
  expect(tree.read('d/a.md')).toBeNull();
  await tree.look();
  expect(kinds(tree)).toEqual({ d: 'link' });
  rmSync(outside, { recursive: true });
});
