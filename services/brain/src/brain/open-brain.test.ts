import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { simpleGit } from 'simple-git';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type BrainNode, type BrainTestBed, openBrainTestBed } from '../../testing/brain-test-bed.ts';

let bed: BrainTestBed;
let node: BrainNode;

beforeEach(async () => {
  bed = await openBrainTestBed();
  node = await bed.start();
  await node.call('svc_create_branch', { name: 'side', switch: true });
});
afterEach(async () => {
  await node.stop();
  await bed[Symbol.asyncDispose]();
});

const tree = () => join(bed.dataDir, 'worktrees', 'svc', 'side');
const linkOf = (branch: string) => join(bed.dataDir, 'brains', 'svc', '.git', 'worktrees', branch);
async function closeIdle(): Promise<void> {
  for (const brain of node.openBrains()) await brain.trees.closeIdle(Number.MAX_SAFE_INTEGER);
}

it('closes a clean working tree and opens it again when it is needed', async () => {
  await node.call('brain_save', { name: 'kept', content: 'kept' });
  await closeIdle();
  expect(existsSync(tree())).toBe(false);
  expect(await node.call('brain_read', { name: 'kept' })).toMatchObject({ content: 'kept', branch: 'side' });
  await node.call('brain_write', { name: 'more', content: 'more' });
  expect(existsSync(join(tree(), 'more.md'))).toBe(true);
});

it('never closes one that holds what the branch does not, also what is never served', async () => {
  await node.call('brain_write', { name: 'uncommitted', content: 'x' });
  await closeIdle();
  expect(existsSync(join(tree(), 'uncommitted.md'))).toBe(true);
  await node.call('svc_commit', { message: 'all' });
  writeFileSync(join(tree(), '.notes-of-a-person'), 'mine');
  await closeIdle();
  expect(existsSync(join(tree(), '.notes-of-a-person'))).toBe(true);
});

it('loses no acknowledged write to a closing working tree', async () => {
  const names = Array.from({ length: 24 }, (_, index) => `w/${index}`);
  for (const [index, name] of names.entries()) {
    // At every stage of the closing: while it looks, while the files go, and when another tree takes their place.
    const written = setTimeout(index * 0.8).then(() => node.call('brain_write', { name, content: name }));
    await Promise.all([closeIdle(), written]);
    expect(await written).toMatchObject({ saved: true });
    expect(await node.call('brain_read', { name })).toMatchObject({ content: name });
    expect(await node.call('svc_commit', { message: name })).toMatchObject({ committed: true, count: 1 });
  }
  for (const name of names) expect(await node.call('brain_read', { name })).toMatchObject({ content: name });
});

it('opens beside a working tree whose link a person broke, and keeps what is in it', async () => {
  for (const broken of [() => rmSync(join(tree(), '.git')), () => rmSync(linkOf('side'), { recursive: true })]) {
    await node.call('brain_save', { name: 'kept', content: 'kept' });
    await node.call('brain_write', { name: 'uncommitted', content: 'x' });
    await node.stop();
    broken();
    node = await bed.start();
    expect(await node.call('brain_read', { branch: 'main', name: 'kept' })).toMatchObject({ code: 'E_FILE_ABSENT' });
    expect(await node.call('brain_read', { branch: 'side', name: 'kept' })).toMatchObject({ content: 'kept' });
    // Where git cannot mend it, the tree is set aside.
    const places = readdirSync(dirname(tree())).filter((name) => name === 'side' || name.startsWith('.lost-side-'));
    expect(places.filter((name) => existsSync(join(dirname(tree()), name, 'uncommitted.md')))).toHaveLength(1);
  }
});

it('serves, saves and tells of a branch whose working tree a person removes, or unlinks, while it is open', async () => {
  await node.call('brain_save', { name: 'kept', content: 'kept' });
  for (const [round, gone] of [tree(), linkOf('side')].entries()) {
    await node.call('brain_write', { name: 'uncommitted', content: 'x' });
    rmSync(gone, { recursive: true });
    expect(await node.call('svc_brain_backup', { path: `backup${round}` })).toMatchObject({ status: 'backed_up' });
    expect(await node.call('svc_branch_is_dirty', {})).toMatchObject({ dirty: false, files: [] });
    const { problems } = (await node.call('svc_health', {})) as { problems?: { code: string }[] };
    expect(problems).toContainEqual(expect.objectContaining({ code: 'E_WORKTREE_LOST' }));
    expect(await node.call('brain_write', { name: 'more', content: `${round}` })).toMatchObject({ saved: true });
    expect(await node.call('brain_save', {})).toMatchObject({ committed: true, files: 1 });
  }
  const [aside = ''] = readdirSync(dirname(tree())).filter((name) => name.startsWith('.lost-side-'));
  expect(existsSync(join(dirname(tree()), aside, 'uncommitted.md'))).toBe(true);
});

it('opens beside a working tree that cannot be made, because a person has its branch elsewhere', async () => {
  await node.call('brain_save', { name: 'kept', content: 'kept' });
  await node.stop();
  rmSync(join(linkOf('side'), 'index')); // as a process leaves it that was killed while it made the tree
  const person = simpleGit({ baseDir: join(bed.dataDir, 'brains', 'svc') });
  await person.raw('worktree', 'add', '--force', join(bed.dataDir, 'hers'), 'side');
  node = await bed.start();
  expect(await node.call('brain_read', { branch: 'side', name: 'kept' })).toMatchObject({ content: 'kept' });
  const write = { branch: 'side', name: 'more', content: 'more' };
  expect(await node.call('brain_write', write)).toMatchObject({ code: 'E_BRAIN_DIVERTED', branch: 'side' });
  const { problems } = (await node.call('svc_health', {})) as { problems?: { code: string }[] };
  expect(problems).toContainEqual(expect.objectContaining({ code: 'E_WORKTREE_LOST' }));
  await person.raw('worktree', 'remove', '--force', join(bed.dataDir, 'hers'));
  expect(await node.call('brain_write', write)).toMatchObject({ saved: true });
});

it('finds a branch absent that is deleted while its working tree is made', async () => {
  const seen = new Set<unknown>();
  for (let round = 0; round < 24; round += 1) {
    const branch = `gone${round}`;
    await node.call('svc_create_branch', { name: branch, from: 'main' });
    const removal = node.call('svc_branch_delete', { name: branch });
    const writing = setTimeout(round % 12).then(() => node.call('brain_write', { branch, name: 'late', content: 'x' }));
    const [written] = await Promise.all([writing, removal]);
    seen.add(written['code'] ?? 'written');
  }
  expect([...seen].filter((what) => what !== 'written' && what !== 'E_BRANCH_ABSENT')).toEqual([]);
});

it('finds a branch absent that a person removed with its working tree', async () => {
  await node.call('brain_write', { branch: 'side', name: 'one', content: '1' });
  await node.call('svc_commit', { branch: 'side', message: 'one' });
  const person = simpleGit({ baseDir: join(bed.dataDir, 'brains', 'svc') });
  await person.raw('worktree', 'remove', '--force', tree());
  await person.raw('branch', '-D', 'side');
  const reading = node.call('brain_read', { branch: 'side', name: 'one' });
  const asking = node.call('svc_branch_is_dirty', { branch: 'side' });
  const writing = node.call('brain_write', { branch: 'side', name: 'two', content: '2' });
  const codes = (await Promise.all([reading, asking, writing])).map((answer) => answer['code']);
  expect(codes).toEqual(['E_BRANCH_ABSENT', 'E_BRANCH_ABSENT', 'E_BRANCH_ABSENT']);
  expect(await node.call('svc_branch_changed_brains', {})).not.toHaveProperty('code');
});

it('shows where a person has moved a branch, in the very next read', async () => {
  await node.call('svc_switch_branch', { name: 'main' });
  const person = simpleGit({ baseDir: join(bed.dataDir, 'brains', 'svc') });
  await node.call('brain_write', { name: 'one', content: '1' });
  const { commit, parent } = await node.call('svc_commit', { message: 'one' });
  for (const to of [parent, commit, parent, commit]) {
    await setTimeout(50); // by now the head may be known by its stamp
    await node.call('brain_read', { name: 'one' });
    await node.call('brain_read', { name: 'one' });
    await person.raw('update-ref', 'refs/heads/main', String(to));
    const seen = await node.call('brain_current', {});
    expect([seen['commit'], seen['dirty']]).toEqual([to, to === parent]);
  }
});
