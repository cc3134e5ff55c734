/** Branches, commits and worktrees. */
import { existsSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Fields } from '../client.ts';
import { filesAt, git } from '../instruments/git.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { brainFolder, worktreeFolder } from '../targets/target.ts';
import { verifies } from '../verifies.ts';

verifies('brain:branches:list', async ({ fresh }) => {
  const { user, brain } = await fresh();
  await user.ok('brain_write', { name: 'x', content: 'one' });
  const { commit } = await user.ok<{ commit: string }>('svc_commit', { message: 'm' });
  await user.ok('svc_create_branch', { name: 'feat/a', switch: true });
  await user.ok('brain_write', { name: 'x', content: 'two' });
  const listed = await user.ok<{ branches: Fields[] }>('svc_list_branches');
  expect(listed).toMatchObject({ names: ['feat/a', 'main'], current: 'feat/a', brain });
  expect(listed.branches).toMatchObject([
    { name: 'feat/a', current: true, commit, dirty: true, changedFiles: 1, updatedAt: expect.any(Number) },
    { name: 'main', current: false, commit, dirty: false, changedFiles: 0 },
  ]);
});

verifies('brain:branches:create', async ({ fresh }) => {
  const { user, brain } = await fresh();
  await user.ok('brain_write', { name: 'x', content: 'one' });
  const { commit: first } = await user.ok<{ commit: string }>('svc_commit', { message: 'one' });
  await user.ok('brain_write', { name: 'x', content: 'two' });
  const { commit: second } = await user.ok<{ commit: string }>('svc_commit', { message: 'two' });
  await user.ok('brain_write', { name: 'x', content: 'dirty' });
  expect(await user.ok('svc_create_branch', { name: 'a' })).toMatchObject({
    created: true,
    status: 'created',
    name: 'a',
    branch: 'a',
    commit: second,
    brain,
    uncommittedLeft: 1,
  });
  expect(await user.ok('svc_create_branch', { name: 'b', from: first })).toMatchObject({ commit: first });
  expect(await user.ok('svc_create_branch', { name: 'c', from: first.slice(0, 10) })).toMatchObject({ commit: first });
  expect(await user.ok('svc_create_branch', { name: 'd', from: 'b', switch: true })).toMatchObject({ commit: first });
  expect(await user.ok('brain_current')).toMatchObject({ branch: 'd' });
  expect(await user.ok('brain_read', { name: 'x' })).toMatchObject({ content: 'one' });
  expect(await user.ok('brain_read', { name: 'x', branch: 'main' })).toMatchObject({ content: 'dirty' });
  for (const name of ['a', 'a/b', 'A']) await user.refused('E_BRANCH_EXISTS', 'svc_create_branch', { name });
  for (const from of ['none', 'abcdef0', '0'.repeat(40)])
    await user.refused('E_REF_ABSENT', 'svc_create_branch', { name: 'z', from });
});

verifies('brain:branches:switch', async ({ fresh, caller }) => {
  const { user, brain } = await fresh();
  const other = caller();
  await other.ok('brain_switch', { name: brain });
  await user.ok('svc_create_branch', { name: 'feat' });
  expect(await user.ok('svc_switch_branch', { name: 'feat' })).toMatchObject({
    status: 'switched',
    name: 'feat',
    branch: 'feat',
    brain,
  });
  expect(await user.ok('brain_current')).toMatchObject({ branch: 'feat' });
  expect(await other.ok('brain_current')).toMatchObject({ branch: 'main' });
  await user.refused('E_BRANCH_ABSENT', 'svc_switch_branch', { name: 'none' });
  expect(await user.ok('brain_current')).toMatchObject({ branch: 'feat' });
});

verifies('brain:commit:result', async ({ fresh, place }) => {
  const { user, brain } = await fresh();
  const folder = brainFolder(place, brain);
  await user.ok('brain_write', { name: 'a', content: 'a' });
  await user.ok('brain_write', { name: 'b', content: 'b' });
  const first = await user.ok('svc_commit', { message: 'first' });
  expect(first).toMatchObject({
    committed: true,
    status: 'committed',
    message: 'first',
    count: 2,
    files: [
      { file: 'a.md', change: 'added' },
      { file: 'b.md', change: 'added' },
    ],
    brain,
    branch: 'main',
  });
  await user.ok('brain_write', { name: 'a', content: 'a2' });
  await user.ok('brain_delete_file', { name: 'b' });
  await user.ok('brain_write', { name: 'c', content: 'c' });
  const second = await user.ok('svc_commit', { message: 'second' });
  expect(second).toMatchObject({
    parent: first.commit,
    count: 3,
    files: [
      { file: 'a.md', change: 'modified' },
      { file: 'b.md', change: 'deleted' },
      { file: 'c.md', change: 'added' },
    ],
  });
  expect(git(folder, 'rev-parse', 'main', 'main^')).toBe(`${String(second.commit)}\n${String(first.commit)}`);
  expect(filesAt(folder, 'main')).toEqual(['a.md', 'c.md']);
  expect(await user.ok('svc_commit', { message: 'third' })).toMatchObject({
    committed: false,
    status: 'no-changes',
    count: 0,
  });
  for (const message of ['', 'x'.repeat(10_001)]) await user.fails('VAF_INPUT_INVALID', 'svc_commit', { message });
});

verifies('brain:commit:shape', async ({ fresh, place }) => {
  const { user, brain } = await fresh();
  const folder = brainFolder(place, brain);
  await user.ok('brain_write', { name: 'a', content: 'a' });
  const { fence, token } = await user.ok<Fields>('svc_lock', { action: 'acquire', agentId: 'ann' });
  const message = 'Subject line\n\nBody text.\n\nSvc-Agent: forged\nSvc-Fence: 99\n';
  const { commit } = await user.ok<{ commit: string }>('svc_commit', { message, agentId: 'ann', fence });
  await user.ok('svc_lock', { action: 'release', token });
  const body = git(folder, 'log', '-1', '--format=%B', commit);
  const trailers = git(folder, 'log', '-1', '--format=%(trailers:only,unfold)', commit)
    .split('\n')
    .filter((line) => line !== '');
  expect(trailers).toEqual(['Svc-Agent: ann', `Svc-Fence: ${String(fence)}`]);
  expect(body).toContain('\n Svc-Agent: forged');
  const [author, committer] = git(folder, 'log', '-1', '--format=%an%n%cn', commit).split('\n');
  expect(author).not.toBe(committer);
});

verifies('brain:worktree:separate', async ({ fresh, caller, place }) => {
  const { user: first, brain } = await fresh();
  const second = caller();
  await second.ok('brain_switch', { name: brain });
  await first.ok('svc_create_branch', { name: 'team/feat' });
  await second.ok('svc_switch_branch', { name: 'team/feat' });
  await Promise.all([
    first.ok('brain_write', { name: 'a/x', content: 'on main' }),
    second.ok('brain_write', { name: 'a/x', content: 'on feat' }),
  ]);
  expect(await first.ok('brain_read', { name: 'a/x' })).toMatchObject({ content: 'on main', branch: 'main' });
  expect(await second.ok('brain_read', { name: 'a/x' })).toMatchObject({ content: 'on feat', branch: 'team/feat' });
  expect(readFileSync(join(brainFolder(place, brain), 'a/x.md'), 'utf8')).toBe('on main');
  expect(readFileSync(join(worktreeFolder(place, brain, 'team/feat'), 'a/x.md'), 'utf8')).toBe('on feat');
});

verifies('brain:worktree:lost', async ({ fresh, place }) => {
  const { user, brain } = await fresh();
  await user.ok('svc_create_branch', { name: 'feat', switch: true });
  await user.ok('brain_write', { name: 'x', content: 'committed' });
  await user.ok('svc_commit', { message: 'm' });
  await user.ok('brain_write', { name: 'x', content: 'never committed' });
  rmSync(worktreeFolder(place, brain, 'feat'), { recursive: true });
  expect(await user.ok('brain_read', { name: 'x' })).toMatchObject({ content: 'committed' });
  await user.ok('brain_write', { name: 'y', content: 'new' });
  expect(existsSync(join(worktreeFolder(place, brain, 'feat'), 'y.md'))).toBe(true);
  const { brains, problems } = await user.ok<{ brains: Fields[]; problems: unknown[] }>('svc_health');
  expect(JSON.stringify([problems, brains.find(({ name }) => name === brain)?.problems])).toContain('feat');
});

verifies('branch:is-dirty', async ({ fresh, place }) => {
  const { user, brain } = await fresh();
  const folder = brainFolder(place, brain);
  const dirty = () => user.ok('svc_branch_is_dirty');
  expect(await dirty()).toEqual({
    dirty: false,
    files: [],
    count: 0,
    left: [],
    leftCount: 0,
    brain,
    branch: 'main',
  });
  await user.ok('brain_write', { name: 'x', content: 'one' });
  expect(await dirty()).toEqual({
    dirty: true,
    files: [{ file: 'x.md', change: 'added' }],
    count: 1,
    left: [],
    leftCount: 0,
    brain,
    branch: 'main',
  });
  await user.ok('svc_commit', { message: 'm' });
  expect(await dirty()).toMatchObject({ dirty: false });
  await user.ok('brain_write', { name: 'x', content: 'two' });
  expect(await dirty()).toMatchObject({ dirty: true, files: [{ file: 'x.md', change: 'modified' }] });
  git(folder, 'add', 'x.md');
  git(folder, 'commit', '-q', '-m', 'by hand');
  expect(await dirty()).toMatchObject({ dirty: false, count: 0 });
});

verifies('branch:auto', async ({ fresh, place }) => {
  const { user, brain } = await fresh();
  const folder = brainFolder(place, brain);
  expect(await user.ok('svc_branch_auto')).toMatchObject({ branch: null, reason: 'clean' });
  await user.ok('brain_write', { name: 'notes/x', content: 'one' });
  await user.ok('svc_commit', { message: 'base' });
  await user.ok('brain_write', { name: 'notes/x', content: 'two' });
  await user.ok('brain_write', { name: 'plans/y', content: 'new' });
  const head = git(folder, 'rev-parse', 'main');
  const auto = await user.ok<{ branch: string; commit: string }>('svc_branch_auto', { prefix: 'wip' });
  expect(auto).toMatchObject({
    branch: expect.stringMatching(/^wip-notes-plans-\d{4}-?\d{2}-?\d{2}-[a-z0-9]{4}$/i),
    switched: true,
    brain,
  });
  expect(git(folder, 'rev-parse', `${auto.branch}^`)).toBe(head);
  expect(git(folder, 'diff', '--name-only', `${auto.branch}^`, auto.branch).split('\n')).toEqual([
    'notes/x.md',
    'plans/y.md',
  ]);
  expect(await user.ok('brain_current')).toMatchObject({ branch: auto.branch, dirty: false });
  expect(git(folder, 'rev-parse', 'main')).toBe(head);
  expect(await user.ok('svc_branch_is_dirty', { branch: 'main' })).toMatchObject({ dirty: true, count: 2 });
  expect(await user.ok('brain_read', { name: 'notes/x', branch: 'main' })).toMatchObject({ content: 'two' });
});

verifies('branch:changed-brains', async ({ fresh }) => {
  const { user, brain } = await fresh();
  const mine = async () => {
    const { brains, changes } = await user.ok<{ brains: string[]; changes: Fields[] }>('svc_branch_changed_brains');
    return [brains.includes(brain), changes.filter((change) => change.brain === brain)];
  };
  expect(await mine()).toEqual([false, []]);
  await user.ok('brain_write', { name: 'x', content: 'one' });
  await user.ok('svc_create_branch', { name: 'feat' });
  await user.ok('brain_write', { name: 'y', content: 'one', branch: 'feat' });
  const [named, changes] = await mine();
  expect(named).toBe(true);
  expect(changes).toEqual(
    expect.arrayContaining([expect.objectContaining({ branch: 'main' }), expect.objectContaining({ branch: 'feat' })]),
  );
  await user.ok('svc_commit', { message: 'm' });
  await user.ok('svc_commit', { message: 'm', branch: 'feat' });
  expect(await mine()).toEqual([false, []]);
});

verifies('brain:git:person-commit', async ({ fresh, place }) => {
  const { user, brain } = await fresh();
  const folder = brainFolder(place, brain);
  await user.ok('brain_write', { name: 'x', content: 'one' });
  await user.ok('svc_commit', { message: 'm' });
  expect(git(folder, 'status', '--porcelain')).toBe('');
  await user.ok('brain_write', { name: 'x', content: 'two' });
  expect(git(folder, 'status', '--porcelain')).toContain('x.md');
  const lock = join(folder, '.git', 'index.lock');
  writeFileSync(lock, '');
  await user.refused('E_BUSY', 'svc_commit', { message: 'with a lock of a person' });
  expect(git(folder, 'show', 'main:x.md')).toBe('one');
  const longAgo = new Date(Date.now() - 11 * 60_000);
  utimesSync(lock, longAgo, longAgo);
  await user.ok('svc_commit', { message: 'with a lock that nobody holds any more' });
  expect(git(folder, 'show', 'main:x.md')).toBe('two');
  await user.ok('brain_write', { name: 'y', content: 'three' });
  await user.ok('svc_commit', { message: 'after' });
  await waitFor(() => git(folder, 'status', '--porcelain') === '', { what: 'a clean git status' });
});
