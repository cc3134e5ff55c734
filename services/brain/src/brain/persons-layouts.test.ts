/** What people's git makes of a working tree while the brain is open: sparse checkouts, submodules. */
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { gitIn } from '../../testing/brain-state.ts';
import { type BrainNode, type BrainTestBed, openBrainTestBed } from '../../testing/brain-test-bed.ts';

let bed: BrainTestBed;
let node: BrainNode;

beforeEach(async () => {
  bed = await openBrainTestBed();
  node = await bed.start();
});
afterEach(async () => {
  await node.stop();
  await bed[Symbol.asyncDispose]();
});

const root = () => join(bed.dataDir, 'brains', 'svc');

function git(...args: string[]): string {
  return gitIn(root(), '-c', 'user.name=Person', '-c', 'user.email=person@example.org', ...args);
}

const tree = (branch = 'main') => git('ls-tree', '-r', '--name-only', branch).split('\n');
const ELSEWHERE = '1234567890123456789012345678901234567890';

it('takes nothing for deleted that a person narrows out of the working tree, and writes over none of it', async () => {
  for (const name of ['a/1', 'b/1', 'b/2']) await node.call('brain_write', { name, content: name });
  await node.call('svc_commit', { message: 'base' });
  git('sparse-checkout', 'set', 'a');
  // git leaves what was written in the second of its index, and says so; a person asks for it again.
  await expect
    .poll(() => {
      git('status', '--porcelain');
      git('sparse-checkout', 'reapply');
      return existsSync(join(root(), 'b'));
    })
    .toBe(false);
  await node.call('brain_write', { name: 'a/2', content: 'new' });
  expect(await node.call('svc_branch_is_dirty', {})).toMatchObject({
    files: [{ file: 'a/2.md' }],
    left: [{ file: 'b/1.md' }, { file: 'b/2.md' }],
  });
  expect(await node.call('svc_commit', { message: 'agent' })).toMatchObject({ files: [{ file: 'a/2.md' }] });
  expect(tree()).toEqual(['a/1.md', 'a/2.md', 'b/1.md', 'b/2.md']);
  for (const name of ['b/1.md', 'b/1.md/below.md'])
    expect(await node.call('svc_storage_write', { path: name, content: 'x' }), name).toMatchObject({
      code: 'E_CONFLICT',
    });
  expect(await node.call('brain_write', { name: 'b/1', content: 'agent' })).toMatchObject({ code: 'E_CONFLICT' });
  expect(await node.call('brain_write', { name: 'b/3', content: 'beside them' })).toMatchObject({ saved: true });
  git('sparse-checkout', 'disable');
  expect(readFileSync(join(root(), 'b/2.md'), 'utf8')).toBe('b/2');
  expect(await node.call('brain_write', { name: 'b/1', content: 'agent' })).toMatchObject({ saved: true });
});

it('narrows no working tree of its own where a person narrowed theirs, its index too', async () => {
  for (const name of ['a/1', 'b/1']) await node.call('brain_write', { name, content: name });
  await node.call('svc_commit', { message: 'base' });
  git('sparse-checkout', 'set', '--cone', '--sparse-index', 'a');
  await node.call('svc_create_branch', { name: 'f', switch: true });
  expect(await node.call('brain_save', { name: 'b/1', content: 'agent' })).toMatchObject({ committed: true });
  expect(await node.call('svc_branch_is_dirty', {})).toMatchObject({ files: [], left: [] });
  const own = join(bed.dataDir, 'worktrees/svc/f');
  writeFileSync(join(root(), '.git/worktrees/f/index'), 'damaged');
  expect(await node.call('brain_save', { name: 'a/2', content: 'new' })).toMatchObject({ committed: true });
  expect(gitIn(own, 'ls-files', '-t').split('\n')).toEqual(['H a/1.md', 'H a/2.md', 'H b/1.md']);
  expect(gitIn(own, 'status', '--porcelain')).toBe('');
});

it('knows at once that what is narrowed away is not to be written', async () => {
  for (const name of ['a/1', 'b/1']) await node.call('brain_write', { name, content: name });
  await node.call('svc_commit', { message: 'base' });
  for (let round = 0; round < 5; round += 1) {
    git('update-index', '--skip-worktree', 'b/1.md');
    rmSync(join(root(), 'b/1.md'));
    expect(await node.call('brain_write', { name: 'b/1', content: 'agent' })).toMatchObject({ code: 'E_CONFLICT' });
    git('update-index', '--no-skip-worktree', 'b/1.md');
    git('checkout', '-q', '--', 'b/1.md');
    expect(await node.call('brain_write', { name: 'a/1', content: String(round) })).toMatchObject({ saved: true });
  }
});

it('keeps a submodule that nobody has filled, also when a merge puts it in the place of a file', async () => {
  await node.call('brain_save', { name: 'x', content: 'x' });
  git('update-index', '--add', '--cacheinfo', `160000,${ELSEWHERE},lib`);
  git('commit', '-qm', 'a submodule');
  mkdirSync(join(root(), 'lib'));
  expect(await node.call('svc_branch_is_dirty', {})).toMatchObject({ files: [], left: [{ file: 'lib' }] });
  await node.call('brain_save', { name: 'y', content: 'y' });
  expect(tree()).toEqual(['lib', 'x.md', 'y.md']);
  expect(await node.call('brain_write', { name: 'lib/z', content: 'z' })).toMatchObject({ code: 'E_CONFLICT' });
  const blobless = git('rev-parse', 'main');
  git('rm', '-q', '--cached', 'x.md');
  git('update-index', '--add', '--cacheinfo', `160000,${ELSEWHERE},x.md`);
  const other = git('commit-tree', '-p', blobless, '-m', 'a file becomes one', git('write-tree'));
  git('reset', '-q', blobless);
  expect(await node.call('svc_branch_merge', { from: other, into: 'main' })).toMatchObject({ conflicts: [] });
  await node.call('brain_save', { name: 'w', content: 'w' });
  expect(git('ls-tree', 'main', 'x.md')).toContain('160000');
  expect(git('status', '--porcelain')).toBe('');
  rmSync(join(root(), 'lib'), { recursive: true });
  await node.call('svc_commit', { message: 'gone' });
  expect(tree()).toEqual(['w.md', 'x.md', 'y.md']);
});

it('writes over no link that a branch has in its commit alone', async () => {
  await node.call('brain_save', { name: 'a/one', content: '1' });
  symlinkSync('one.md', join(root(), 'a/link.md'));
  git('add', '-A');
  git('commit', '-qm', 'by hand');
  await node.call('svc_create_branch', { name: 'f', switch: true });
  expect(await node.call('brain_write', { name: 'a/link.md', content: 'x' })).toMatchObject({ code: 'E_CONFLICT' });
  expect(await node.call('brain_write', { name: 'a/link.md/x', content: 'x' })).toMatchObject({ code: 'E_CONFLICT' });
  await node.call('brain_save', { name: 'b', content: 'b' });
  expect(git('ls-tree', 'f', 'a/link.md')).toContain('120000');
});

it('lets no repository inside in, whoever asks for its files', async () => {
  writeFileSync(join(root(), 'loose.md'), 'loose');
  mkdirSync(join(root(), 'nested/deep'), { recursive: true });
  writeFileSync(join(root(), 'nested/deep/n.md'), 'NESTED');
  git('init', '-q', 'nested');
  for (const name of ['nested/deep/n.md', 'nested/n.md'])
    expect(await node.call('brain_read', { name })).toMatchObject({ code: 'E_FILE_ABSENT' });
  expect(await node.call('svc_search', { query: 'NESTED' })).toMatchObject({ results: [] });
  expect(await node.call('svc_commit', { message: 'all' })).toMatchObject({ files: [{ file: 'loose.md' }] });
  expect(tree()).toEqual(['loose.md']);
});

it('keeps names that are no UTF-8 byte for byte, tells of them, and opens branches that have them', async () => {
  const odd = (path: string) => Buffer.from(`${root()}/${path}`, 'latin1');
  await node.call('brain_save', { name: 'x', content: 'x' });
  mkdirSync(odd('d\xe9p'));
  for (const path of ['caf\xe9.md', 'caf\xff.md', 'd\xe9p/n.md']) writeFileSync(odd(path), path);
  for (const branch of ['main', 'side']) {
    expect(await node.call('svc_branch_is_dirty', { branch: 'main' })).toMatchObject({ files: [] });
    if (branch === 'main') git('add', '-A');
    if (branch === 'main') git('commit', '-qm', 'by hand');
    if (branch === 'main') await node.call('svc_create_branch', { name: 'side', switch: false });
    const before = git('ls-tree', '-rz', branch);
    const answer = await node.call('brain_save', { name: `of-${branch}`, content: branch, branch });
    expect(answer, branch).toMatchObject({ committed: true });
    expect(git('-c', 'core.quotepath=on', 'show', '--name-status', '--format=', branch)).toBe(`A\tof-${branch}.md`);
    expect(before).not.toBe('');
    const { left } = await node.call('svc_branch_is_dirty', { branch });
    const told = (left as { file: string; problem: string }[]).map(({ file, problem }) => `${file} ${problem}`);
    for (const file of ['caf\uFFFD.md']) expect(told).toContain(`${file} has a name that is not UTF-8`);
  }
  expect(await node.call('svc_branch_merge', { from: 'side', into: 'main' })).toMatchObject({ conflicts: [] });
  expect(git('status', '--porcelain')).toBe('');
  expect(git('ls-files', '-z')).toBe(git('ls-tree', '-rz', '--name-only', 'main'));
});

it('follows a branch that a person gave another name, and gives the old one anew', async () => {
  await node.call('svc_create_branch', { name: 'f', switch: false });
  await node.call('brain_write', { name: 'x', content: 'uncommitted', branch: 'f' });
  git('branch', '-m', 'f', 'f2');
  await node.call('svc_create_branch', { name: 'f', switch: false, from: 'main' });
  expect(await node.call('brain_write', { name: 'y', content: 'y', branch: 'f' })).toMatchObject({ saved: true });
  expect(await node.call('brain_write', { name: 'z', content: 'z', branch: 'f2' })).toMatchObject({ saved: true });
  expect(await node.call('svc_commit', { message: 'all', branch: 'f2' })).toMatchObject({ count: 2 });
  expect([tree('f2'), tree('f')]).toEqual([['x.md', 'z.md'], ['']]);
  git('branch', '-m', 'f2', 'f3');
  await node.stop();
  node = await bed.start();
  expect(await node.call('brain_save', { name: 'w', content: 'w', branch: 'f3' })).toMatchObject({ committed: true });
  git('branch', '-m', 'f3', 'f4');
  expect(await node.call('svc_branch_delete', { name: 'f4' })).toMatchObject({ deleted: true });
});

it('runs no filter that a person makes possible while the brain is open', async () => {
  await node.call('brain_save', { name: 'x', content: 'x' });
  const marker = join(bed.dataDir, 'marker');
  git('config', 'filter.f.smudge', `touch ${marker}; cat`);
  git('config', 'filter.f.clean', `touch ${marker}; cat`);
  rmSync(join(root(), '.git/info/attributes'));
  writeFileSync(join(root(), '.gitattributes'), '*.md filter=f\n');
  const blob = git('hash-object', '-w', '--no-filters', '.gitattributes');
  git('update-index', '--add', '--cacheinfo', `100644,${blob},.gitattributes`);
  git('commit', '-qm', 'attributes');
  rmSync(marker, { force: true });
  await node.call('svc_create_branch', { name: 'f', switch: true });
  await node.call('brain_save', { name: 'y', content: 'y' });
  for (const into of ['main', 'f']) {
    rmSync(join(root(), '.git/info/attributes'), { force: true });
    if (into === 'f') await node.call('brain_save', { name: 'z', content: 'z', branch: 'main' });
    await node.call('svc_branch_merge', { from: into === 'f' ? 'main' : 'f', into });
    expect(existsSync(marker), into).toBe(false);
  }
});

it('tells of a brain without main what is so: it has no commit there, and its health shows beside that of others', async () => {
  await node.call('brain_push', { name: 'other', create: true });
  await node.call('brain_save', { name: 'x', content: 'x', brain: 'svc' });
  git('branch', '-m', 'main', 'master');
  const health = await node.call('svc_health', {});
  expect(health).toMatchObject({ status: 'degraded' });
  const brains = health['brains'] as { name: string; commit: string | null; problems: { code: string }[] }[];
  const shown = new Map(brains.map(({ name, commit, problems }) => [name, { commit, problems }]));
  expect(shown.get('svc')).toMatchObject({ commit: null, problems: [{ code: 'E_BRAIN_DIVERTED' }] });
  expect(shown.get('other')).toMatchObject({ commit: expect.stringMatching(/^[0-9a-f]{40}$/), problems: [] });
  await node.stop();
  node = await bed.start();
  for (const tool of ['svc_history', 'context_build'])
    expect(await node.call(tool, { brain: 'svc' }), tool).toMatchObject({ code: 'E_BRANCH_ABSENT' });
  git('branch', '-m', 'master', 'main');
  expect(await node.call('svc_history', { brain: 'svc' })).toMatchObject({ history: [{ count: 1 }, {}] });
});

it('says whose lock a branch waits for, in health too, and takes away one that was left behind', async () => {
  await node.call('brain_write', { name: 'x', content: 'x' });
  const lock = join(root(), '.git/refs/heads/main.lock');
  writeFileSync(lock, '');
  const busy = { code: 'E_BUSY', message: expect.stringContaining('.git/refs/heads/main.lock') };
  await expect(node.call('svc_commit', { message: 'waits' })).rejects.toMatchObject({ cause: busy });
  const told = { code: 'E_BUSY', text: expect.stringContaining('refs/heads/main.lock of main') };
  expect(await node.call('svc_health', {})).toMatchObject({ status: 'degraded', brains: [{ problems: [told] }] });
  const longAgo = Date.now() / 1000 - 660;
  utimesSync(lock, longAgo, longAgo);
  expect(await node.call('svc_commit', { message: 'goes on' })).toMatchObject({ committed: true, count: 1 });
  expect(await node.call('svc_health', {})).toMatchObject({ status: 'ok' });
  expect(git('status', '--porcelain')).toBe('');
});
