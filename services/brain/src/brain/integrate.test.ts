import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type BrainNode, type BrainTestBed, openBrainTestBed } from '../../testing/brain-test-bed.ts';

let bed: BrainTestBed;
let node: BrainNode;
let outside: string;

beforeEach(async () => {
  bed = await openBrainTestBed();
  outside = mkdtempSync(join(tmpdir(), 'integrate-'));
  git(outside, 'init', '-q', '--bare', '-b', 'main', 'remote.git');
  node = await bed.start({ SVC_SYNC_ALLOW_FILE: 'on', SVC_SYNC_REMOTES: `r=file://${join(outside, 'remote.git')}` });
});
afterEach(async () => {
  await node.stop();
  await bed[Symbol.asyncDispose]();
  rmSync(outside, { recursive: true, force: true });
});

function git(cwd: string, ...args: string[]): string {
  const who = ['-c', 'user.name=Person', '-c', 'user.email=person@example.org'];
  return execFileSync('git', [...who, ...args], { cwd, encoding: 'utf8', maxBuffer: 1 << 26 }).trim();
}

const root = () => join(bed.dataDir, 'brains', 'svc');

function put(dir: string, path: string, content: string | Buffer): void {
  mkdirSync(join(dir, dirname(path)), { recursive: true });
  writeFileSync(join(dir, path), content);
}

/** The brain is pushed; a person who cloned it pushes these files. */
async function theirs(files: Record<string, string | Buffer>, more: (clone: string) => void = () => {}): Promise<void> {
  await node.call('brain_write', { name: 'base', content: 'base' });
  await node.call('svc_commit', { message: 'base' });
  await node.call('svc_sync', { remote: 'r', direction: 'push' });
  const clone = join(outside, 'clone');
  git(outside, 'clone', '-q', join(outside, 'remote.git'), clone);
  for (const [path, content] of Object.entries(files)) put(clone, path, content);
  more(clone);
  git(clone, 'add', '-A', '-f');
  git(clone, 'commit', '-qm', 'theirs');
  git(clone, 'push', '-q');
}

const pull = () => node.call('svc_sync', { remote: 'r', direction: 'pull' });
const committed = (path: string) => git(root(), 'show', `main:${path}`);

it('keeps what lies in the way and no commit takes, and tells of it', async () => {
  await theirs({ 'link.md': 'their link', 'dir.md': 'their dir', 'fine.md': 'fine' });
  put(root(), '../secret', 'outside');
  symlinkSync('../secret', join(root(), 'link.md'));
  put(root(), 'dir.md/.mine', 'mine, in a directory');
  const pulled = await pull();
  expect(pulled).toMatchObject({ synced: true, status: 'fast-forward', pulled: { added: 1, updated: 0, deleted: 0 } });
  const conflicts = pulled['conflicts'] as { file: string; kind: string }[];
  expect(conflicts.map(({ file, kind }) => `${file} ${kind}`).sort()).toEqual([
    'dir.md in-the-way',
    'link.md in-the-way',
  ]);
  expect(readlinkSync(join(root(), 'link.md'))).toBe('../secret');
  expect(readFileSync(join(root(), '../secret'), 'utf8')).toBe('outside');
  expect(readFileSync(join(root(), 'dir.md/.mine'), 'utf8')).toBe('mine, in a directory');
  for (const name of ['link', 'dir']) {
    const at = `rescue/${String(pulled['rescue'])}/theirs`;
    expect(await node.call('brain_read', { name: `${name}.md`, at })).toMatchObject({ content: `their ${name}` });
    expect(committed(`${name}.md`)).toBe(`their ${name}`);
  }
  expect(await node.call('brain_read', { name: 'fine' })).toMatchObject({ content: 'fine' });
});

it('commits nothing of what lies in the way until somebody makes room or takes a side', async () => {
  put(root(), '.gitignore', 'private.md\ndir.md/\n');
  git(root(), 'add', '-A');
  git(root(), 'commit', '-qm', 'by hand');
  await theirs({ 'private.md': 'theirs', 'link.md': 'theirs', 'dir.md': 'theirs', 'd/x.md': 'theirs' }, (clone) =>
    rmSync(join(clone, '.gitignore')),
  );
  put(root(), 'private.md', 'MY-PASSWORD');
  put(root(), 'dir.md/mine.md', 'mine');
  symlinkSync('../secret', join(root(), 'link.md'));
  symlinkSync(outside, join(root(), 'd'));
  const inTheWay = ['d/x.md', 'dir.md', 'link.md', 'private.md'];
  const { conflicts } = (await pull()) as { conflicts: { file: string }[] };
  expect(conflicts.map(({ file }) => file).toSorted()).toEqual(inTheWay);
  const theirsStand = async () => {
    expect(inTheWay.map(committed)).toEqual(inTheWay.map(() => 'theirs'));
    expect(await node.call('svc_branch_is_dirty', {})).toMatchObject({ files: [] });
  };
  await node.call('brain_save', { name: 'next', content: 'next' });
  await theirsStand();
  await node.stop();
  node = await bed.start({ SVC_SYNC_ALLOW_FILE: 'on', SVC_SYNC_REMOTES: `r=file://${join(outside, 'remote.git')}` });
  await node.call('svc_commit', { message: 'all' });
  await theirsStand();
  // One makes room, and is given what the commit has; the other stays ours.
  rmSync(join(root(), 'link.md'));
  await node.call('svc_commit', { message: 'all' });
  await theirsStand();
  git(root(), 'checkout', '-q', '--', 'link.md');
  await node.call('svc_commit', { message: 'all' });
  const mine = conflicts.find(({ file }) => file === 'private.md') as { file: string; id: string } | undefined;
  await node.call('svc_conflict_resolve', { id: mine?.id, take: 'ours' });
  expect(readFileSync(join(root(), 'private.md'), 'utf8')).toBe('MY-PASSWORD');
  const left = (await node.call('svc_conflicts', {}))['conflicts'] as { file: string }[];
  expect(left.map(({ file }) => file).toSorted()).toEqual(['d/x.md', 'dir.md']);
  await node.call('svc_commit', { message: 'all' });
  expect([committed('private.md'), committed('dir.md')]).toEqual(['MY-PASSWORD', 'theirs']);
});

it('merges an untracked file of a person with what a remote brings under its name', async () => {
  const large = (letter: string) => letter.repeat(2 * 1024 * 1024);
  await theirs({ 'note.md': 'same\n', 'other.md': 'theirs\n', 'big.md': large('t') });
  put(root(), 'note.md', 'same\n');
  put(root(), 'other.md', 'mine\n');
  put(root(), 'big.md', large('m'));
  const pulled = await pull();
  expect(pulled).toMatchObject({ status: 'merged-with-conflicts' });
  const conflicts = pulled['conflicts'] as { file: string; kind: string }[];
  expect(conflicts.map(({ file, kind }) => `${file} ${kind}`).sort()).toEqual(['big.md content', 'other.md content']);
  expect([readFileSync(join(root(), 'big.md'), 'utf8'), committed('big.md')]).toEqual([large('m'), large('m')]);
  expect(git(root(), 'show', `refs/rescue/${String(pulled['rescue'])}/theirs:big.md`)).toBe(large('t'));
});

it('follows no link on the way to a file', async () => {
  await theirs({ 'd/x.md': 'theirs' });
  mkdirSync(join(outside, 'elsewhere'));
  symlinkSync(join(outside, 'elsewhere'), join(root(), 'd'));
  expect(await pull()).toMatchObject({ status: 'fast-forward', conflicts: [{ file: 'd/x.md', kind: 'in-the-way' }] });
  expect(existsSync(join(outside, 'elsewhere', 'x.md'))).toBe(false);
  expect(lstatSync(join(root(), 'd')).isSymbolicLink()).toBe(true);
});

it('puts files of every kind in place, with their modes, and an empty directory is no obstacle', async () => {
  const large = Buffer.alloc(3 * 1024 * 1024, 'x');
  const files = { 'big.md': large, 'photo.png': Buffer.from([0, 1, 2]), 'What?.md': 'odd', 'run.sh': '#!/bin/sh\n' };
  await theirs({ ...files, 'empty/dir/x.md': 'x' }, (clone) => chmodSync(join(clone, 'run.sh'), 0o755));
  mkdirSync(join(root(), 'big.md'));
  mkdirSync(join(root(), 'empty'));
  expect(await pull()).toMatchObject({ status: 'fast-forward', conflicts: [], pulled: { added: 5 } });
  for (const [path, content] of Object.entries(files)) {
    expect(readFileSync(join(root(), path)).equals(Buffer.from(content))).toBe(true);
  }
  expect(lstatSync(join(root(), 'run.sh')).mode & 0o100).toBe(0o100);
  expect(git(root(), 'status', '--porcelain')).toBe('');
});

it('takes dot entries and links along where a person has put them into the tree, and nowhere else', async () => {
  put(root(), '.obsidian/app.json', '{"a":1}');
  put(root(), '.gone', 'tracked');
  symlinkSync('base.md', join(root(), 'link'));
  git(root(), 'add', '-A');
  git(root(), 'commit', '-qm', 'by hand');
  await theirs({ '.obsidian/app.json': '{"a":2}', '.new': 'new' }, (clone) => {
    rmSync(join(clone, '.gone'));
    rmSync(join(clone, 'link'));
    symlinkSync('other.md', join(clone, 'link'));
  });
  expect(await pull()).toMatchObject({ status: 'fast-forward', conflicts: [] });
  expect(readFileSync(join(root(), '.obsidian/app.json'), 'utf8')).toBe('{"a":2}');
  expect(readlinkSync(join(root(), 'link'))).toBe('other.md');
  expect([existsSync(join(root(), '.gone')), existsSync(join(root(), '.new'))]).toEqual([false, false]);
  await node.call('brain_save', { name: 'later', content: 'later' });
  expect([committed('.obsidian/app.json'), committed('.new'), committed('link')]).toEqual([
    '{"a":2}',
    'new',
    'other.md',
  ]);
  expect(git(root(), 'status', '--porcelain')).toBe('');
});

it('goes from a file to a directory and back, in one pull', async () => {
  await node.call('brain_write', { name: 'a', content: 'file', format: 'md' });
  put(root(), 'd/x.md', 'x');
  put(root(), 'f', 'f');
  git(root(), 'add', '-A');
  git(root(), 'commit', '-qm', 'by hand');
  await theirs({}, (clone) => {
    rmSync(join(clone, 'd'), { recursive: true });
    rmSync(join(clone, 'f'));
    put(clone, 'd', 'a file now');
    put(clone, 'f/y.md', 'a directory now');
  });
  expect(await pull()).toMatchObject({ status: 'fast-forward', conflicts: [] });
  expect(readFileSync(join(root(), 'd'), 'utf8')).toBe('a file now');
  expect(readFileSync(join(root(), 'f/y.md'), 'utf8')).toBe('a directory now');
  expect(git(root(), 'status', '--porcelain')).toBe('');
});

it('finishes a pull that was cut off after the branch had moved, with what a person did since', async () => {
  await theirs({ 'a.md': 'a', 'base.md': 'theirs', 'edited.md': 'theirs', 'later.md': 'theirs' });
  const before = git(root(), 'rev-parse', 'main');
  git(root(), 'fetch', '-q', join(outside, 'remote.git'), 'main');
  const after = git(root(), 'rev-parse', 'FETCH_HEAD');
  await node.stop();
  const moves = git(root(), 'diff-tree', '-r', before, after)
    .split('\n')
    .map((line) => {
      const [from = '', to = '', fromId = '', toId = '', , path = ''] = line.replace(/^:/, '').split(/[ \t]/);
      const entry = (mode: string, oid: string) => (/^0+$/.test(oid) ? null : { mode, oid, bytes: 1 });
      return { path, from: entry(from, fromId), to: entry(to, toId), isForeign: false };
    });
  const rescue = '20260102T030405Z-00000001';
  const record = {
    brain: 'svc',
    branch: 'main',
    before,
    after,
    theirs: after,
    rescue,
    moves,
    foreign: [],
    conflicts: [],
  };
  mkdirSync(join(bed.dataDir, 'journal'), { recursive: true });
  writeFileSync(join(bed.dataDir, 'journal', 'svc.jrn_1.json'), JSON.stringify(record));
  git(root(), 'update-ref', 'refs/heads/main', after);
  put(root(), 'edited.md', 'by a person, after the kill');
  put(root(), 'a.md', 'a');
  node = await bed.start();
  expect(await node.call('svc_conflicts', {})).toMatchObject({
    conflicts: [{ file: 'edited.md', kind: 'in-the-way', rescue }],
  });
  expect(readFileSync(join(root(), 'edited.md'), 'utf8')).toBe('by a person, after the kill');
  expect(await node.call('svc_branch_is_dirty', {})).toMatchObject({ files: [], left: [{ file: 'edited.md' }] });
  expect(await node.call('brain_read', { name: 'base', branch: 'main' })).toMatchObject({ content: 'theirs' });
  expect(git(root(), 'status', '--porcelain')).toBe('M edited.md');
  expect(git(root(), 'rev-parse', `refs/rescue/${rescue}/ours`)).toBe(before);
});
