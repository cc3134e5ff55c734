import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type EventBatch, SUBJECTS } from '@svc/contract/discovery.ts';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { type BrainNode, type BrainTestBed, openBrainTestBed } from '../../testing/brain-test-bed.ts';

type Content = Record<string, unknown>;

let bed: BrainTestBed;
let node: BrainNode;
let brain = '';
let brains = 0;
const events: { name: string; payload: Content }[] = [];

beforeAll(async () => {
  bed = await openBrainTestBed();
  await restart();
});
afterAll(async () => {
  await node.stop();
  await bed[Symbol.asyncDispose]();
});
beforeEach(async () => {
  brain = `b${(brains += 1)}`;
  await call('brain_switch', { name: brain, create: true });
});

async function restart(): Promise<void> {
  node = await bed.start();
  await node.bus.subscribe(SUBJECTS.events('brain'), (payload) => {
    for (const { event } of (JSON.parse(payload) as EventBatch).events)
      events.push({ name: event.name, payload: event.payload });
  });
}

const call = (tool: string, args: Content = {}, session = 'a') =>
  node.call(tool, args, { session: session.repeat(64) });
const keyed = (tool: string, args: Content, key: string) =>
  node.call(tool, args, { session: 'a'.repeat(64), idempotencyKey: key });
const write = (name: string, content: string, branch = 'main') => call('brain_write', { name, content, branch });
const read = async (name: string, where: Content = {}) =>
  (await call('brain_read', { name, branch: 'main', ...where }))['content'];
const commit = (branch: string) => call('svc_commit', { message: 'm', branch });
const root = (branch = 'main') =>
  branch === 'main' ? join(bed.dataDir, 'brains', brain) : join(bed.dataDir, 'worktrees', brain, branch);

function git(...args: string[]): string {
  return execFileSync('git', args, { cwd: root(), encoding: 'utf8' }).trim();
}

/** What the brain told so far. */
async function heard(name: string): Promise<Content[]> {
  await expect.poll(() => events.some((event) => event.name === name && event.payload['brain'] === brain)).toBe(true);
  return events.flatMap((event) => (event.name === name && event.payload['brain'] === brain ? [event.payload] : []));
}

/** `main` and `side`, which both changed what was there. */
async function diverge(): Promise<void> {
  await write('x', 'one\ntwo\nthree\n');
  await write('gone', 'g');
  await commit('main');
  await call('svc_create_branch', { name: 'side' });
  await write('x', 'one, theirs\ntwo\nthree, theirs\n', 'side');
  await write('new', 'new', 'side');
  await call('brain_delete_file', { name: 'gone', branch: 'side' });
  await commit('side');
  await write('left', 'uncommitted there', 'side');
  await write('x', 'one, ours\ntwo\nthree\n');
}

const files = { added: 1, updated: 1, deleted: 1 };

it('merges a branch, tells what became of it, and does so once', async () => {
  await diverge();
  const before = git('rev-parse', 'main');
  const forecast = await call('svc_branch_merge', { from: 'side', into: 'main', dryRun: true });
  expect(forecast).toMatchObject({
    merged: false,
    status: 'fast-forward',
    after: null,
    files,
    uncommitted: 1,
    uncommittedLeft: 1,
  });
  expect([git('rev-parse', 'main'), await read('x')]).toEqual([before, 'one, ours\ntwo\nthree\n']);
  const merged = await keyed('svc_branch_merge', { from: 'side', into: 'main', message: 'both' }, 'k1');
  const conflicts = [{ id: expect.stringMatching(/^cfl_/), file: 'x.md', kind: 'content' }];
  expect(merged).toMatchObject({
    merged: true,
    status: 'merged-with-conflicts',
    branch: 'main',
    from: 'side',
    committed: 1,
    uncommittedLeft: 1,
    files,
    conflicts,
  });
  expect(await read('x')).toBe('one, ours\ntwo\nthree, theirs\n');
  expect(await read('x', { at: `rescue/${String(merged['rescue'])}/theirs` })).toContain('one, theirs');
  expect(await call('brain_read', { name: 'gone', branch: 'main' })).toMatchObject({ code: 'E_FILE_ABSENT' });
  expect(git('log', '-1', '--format=%s %P')).toMatch(/^both [0-9a-f]{40} [0-9a-f]{40}$/);
  expect(await keyed('svc_branch_merge', { from: 'side', into: 'main', message: 'both' }, 'k1')).toEqual(merged);
  expect(await call('svc_branch_merge', { from: 'side', into: 'main' })).toMatchObject({
    status: 'up-to-date',
    files: {},
  });
  expect(await heard('branch:merged')).toMatchObject([
    { branch: 'main', from: 'side', commit: merged['after'], status: 'merged-with-conflicts' },
  ]);
  const changes = (await heard('brain:change')).filter(({ source }) => source === 'merge');
  expect(changes.map(({ file, change }) => `${String(file)} ${String(change)}`).sort()).toEqual([
    'gone.md deleted',
    'new.md created',
    'x.md updated',
  ]);
  expect(git('status', '--porcelain')).toBe('');
});

it('refuses what is not there, and whom a lease keeps out', async () => {
  await diverge();
  expect(await call('svc_branch_merge', { from: 'nowhere' })).toMatchObject({ merged: false, code: 'E_REF_ABSENT' });
  expect(await call('svc_branch_merge', { from: 'side', into: 'nowhere' })).toMatchObject({ code: 'E_BRANCH_ABSENT' });
  const { token } = await call('svc_lock', { action: 'acquire', brain }, 'b');
  for (const [tool, args] of [
    ['svc_branch_merge', { from: 'side', into: 'main' }],
    ['svc_branch_delete', { name: 'side' }],
    ['svc_branch_rename', { name: 'side', to: 'other' }],
  ] as const) {
    expect(await call(tool, args)).toMatchObject({ code: 'E_LOCKED' });
  }
  await call('svc_lock', { action: 'release', token, brain }, 'b');
  expect(await read('left', { branch: 'side' })).toBe('uncommitted there');
});

it('shows the sides of a conflict and settles it by each', async () => {
  await diverge();
  await call('svc_branch_merge', { from: 'side', into: 'main' });
  const { conflicts } = await call('svc_conflicts', { branch: 'main' });
  const [row] = conflicts as Content[];
  const { id } = row ?? {};
  expect(conflicts).toMatchObject([{ file: 'x.md', kind: 'content', resolvedAt: null, at: expect.any(Number) }]);
  expect(await call('svc_conflict_read', { id })).toMatchObject({
    branch: 'main',
    base: { text: 'one\ntwo\nthree\n', bytes: 14 },
    ours: { text: 'one, ours\ntwo\nthree\n' },
    theirs: { text: 'one, theirs\ntwo\nthree, theirs\n' },
  });
  expect(await call('svc_conflict_resolve', { id, take: 'theirs', ifMatch: '0'.repeat(64) })).toMatchObject({
    resolved: false,
    code: 'E_CONFLICT',
  });
  expect(await keyed('svc_conflict_resolve', { id, take: 'theirs' }, 'k2')).toMatchObject({
    changed: true,
    file: 'x.md',
  });
  expect(await keyed('svc_conflict_resolve', { id, take: 'theirs' }, 'k2')).toMatchObject({ changed: true });
  expect(await read('x')).toBe('one, theirs\ntwo\nthree, theirs\n');
  expect(await call('svc_conflicts', { branch: 'main' })).toMatchObject({ conflicts: [] });
  expect(await call('svc_conflicts', { branch: 'main', resolved: true, file: 'x.md' })).toMatchObject({
    conflicts: [{ id, resolvedAt: expect.any(Number) }],
  });
  // A settled one is not written over what came after it.
  expect(await call('svc_conflict_resolve', { id, take: 'theirs' })).toMatchObject({ changed: false });
  await write('x', 'later');
  expect(await call('svc_conflict_resolve', { id, take: 'ours' })).toMatchObject({ code: 'E_CONFLICT' });
  expect(await read('x')).toBe('later');
  await expect(call('svc_conflict_resolve', { id, take: 'content' })).rejects.toThrow('VAF_INPUT_INVALID');
  for (const unknown of ['cfl_0', `${String(id)}0`]) {
    expect(await call('svc_conflict_read', { id: unknown })).toMatchObject({ code: 'E_NOT_FOUND' });
    expect(await call('svc_conflict_resolve', { id: unknown, take: 'ours' })).toMatchObject({ code: 'E_NOT_FOUND' });
  }
});

it('settles by what stands, by a content of the caller, and by deleting', async () => {
  for (const name of ['a', 'b', 'c', 'd']) await write(name, 'base');
  writeFileSync(join(root(), 'e.bin'), Buffer.from([0, 1]));
  await commit('main');
  await call('svc_create_branch', { name: 'side' });
  for (const name of ['a', 'b', 'd']) await write(name, 'theirs', 'side');
  await call('brain_delete_file', { name: 'c', branch: 'side' });
  writeFileSync(join(root('side'), 'e.bin'), Buffer.from([0, 2]));
  await commit('side');
  for (const name of ['a', 'b', 'c']) await write(name, 'ours');
  await call('brain_delete_file', { name: 'd', branch: 'main' });
  writeFileSync(join(root(), 'e.bin'), Buffer.from([0, 3]));
  await call('svc_branch_merge', { from: 'side', into: 'main' });
  const first = await call('svc_conflicts', { branch: 'main', limit: 2 });
  const second = await call('svc_conflicts', { branch: 'main', limit: 100, cursor: first['nextCursor'] });
  const rows = [...(first['conflicts'] as Content[]), ...(second['conflicts'] as Content[])];
  expect(rows.map(({ file }) => String(file)).toSorted((a, b) => (a < b ? -1 : 1))).toEqual([
    'a.md',
    'b.md',
    'c.md',
    'd.md',
    'e.bin',
  ]);
  const take = (file: string, args: Content) =>
    call('svc_conflict_resolve', { id: rows.find((row) => row['file'] === file)?.['id'], ...args });
  expect(await take('a.md', { take: 'merged' })).toMatchObject({ resolved: true, changed: false, hash: null });
  expect(await take('b.md', { take: 'content', content: 'mine' })).toMatchObject({ changed: true });
  expect(await take('c.md', { take: 'theirs' })).toMatchObject({ changed: true, hash: null });
  expect(await take('d.md', { take: 'ours' })).toMatchObject({ changed: true, hash: null });
  expect(await take('e.bin', { take: 'theirs' })).toMatchObject({ code: 'E_NOT_TEXT' });
  expect(await take('e.bin', { take: 'ours' })).toMatchObject({ changed: false });
  expect([await read('a'), await read('b'), await read('c'), await read('d')]).toEqual([
    'ours',
    'mine',
    undefined,
    undefined,
  ]);
  expect(await call('svc_conflicts', { branch: 'main' })).toMatchObject({ conflicts: [] });
});

it('a deletion that was refused under a key stays refused, also where the branch has come to be', async () => {
  const absent = await keyed('svc_branch_delete', { name: 'fresh' }, 'too early');
  expect(absent).toMatchObject({ code: 'E_BRANCH_ABSENT' });
  await call('svc_create_branch', { name: 'fresh' });
  expect(await keyed('svc_branch_delete', { name: 'fresh' }, 'too early')).toEqual(absent);
  expect(await keyed('svc_branch_delete', { name: 'fresh' }, 'in time')).toMatchObject({ deleted: true });
});

it('deletes a branch so that all of it can be had back', async () => {
  await diverge();
  writeFileSync(join(root('side'), '.ignored-by-commits'), 'mine');
  await call('svc_switch_branch', { name: 'side' });
  await call('svc_switch_branch', { name: 'side', brain }, 'b');
  const head = git('rev-parse', 'side');
  const deleted = await keyed('svc_branch_delete', { name: 'side' }, 'k3');
  expect(deleted).toMatchObject({
    deleted: true,
    commit: head,
    uncommitted: 1,
    unmerged: 1,
    setAside: true,
    switched: true,
  });
  expect(await keyed('svc_branch_delete', { name: 'side' }, 'k3')).toMatchObject({ rescue: deleted['rescue'] });
  const rescue = `rescue/${String(deleted['rescue'])}`;
  expect(await read('x', { at: `${rescue}/branch` })).toContain('theirs');
  expect(await read('left', { at: `${rescue}/work` })).toBe('uncommitted there');
  expect(existsSync(root('side'))).toBe(false);
  const [aside = ''] = readdirSync(join(bed.dataDir, 'worktrees', brain)).filter((name) =>
    name.startsWith('.deleted-'),
  );
  expect(readFileSync(join(root(aside), '.ignored-by-commits'), 'utf8')).toBe('mine');
  expect(await call('brain_read', { name: 'x', brain }, 'b')).toMatchObject({ code: 'E_BRANCH_ABSENT' });
  expect(await call('brain_write', { name: 'x', content: 'y', brain }, 'b')).toMatchObject({ code: 'E_BRANCH_ABSENT' });
  expect(await call('svc_list_branches')).toMatchObject({ names: ['main'], current: 'main' });
  expect(await heard('branch:deleted')).toMatchObject([{ branch: 'side', rescue: deleted['rescue'] }]);
  expect(await call('svc_branch_delete', { name: 'side' })).toMatchObject({ code: 'E_BRANCH_ABSENT' });
  expect(await call('svc_branch_delete', { name: 'main' })).toMatchObject({ code: 'E_BRANCH_PROTECTED' });
  await call('svc_create_branch', { name: 'side', from: `${rescue}/work` });
  expect(await read('left', { branch: 'side' })).toBe('uncommitted there');
  expect(git('fsck', '--strict')).not.toContain('error');
});

it('deletes a branch without a working tree, and one that is clean, without a trace on disk', async () => {
  await write('x', 'x');
  await commit('main');
  git('branch', 'bare');
  await call('svc_create_branch', { name: 'clean', switch: true });
  await write('y', 'y', 'clean');
  await commit('clean');
  expect(await call('svc_branch_delete', { name: 'bare' })).toMatchObject({
    unmerged: 0,
    uncommitted: 0,
    setAside: false,
  });
  expect(await call('svc_branch_delete', { name: 'clean' })).toMatchObject({ unmerged: 1, setAside: false });
  expect(readdirSync(join(bed.dataDir, 'worktrees', brain))).toEqual([]);
  expect(git('branch', '--list').split('\n')).toEqual(['* main']);
});

it('leaves alone a branch that a person has checked out somewhere else', async () => {
  await write('x', 'x');
  await commit('main');
  git('worktree', 'add', '-q', join(bed.dataDir, `person-${brain}`), '-b', 'hers');
  expect(await call('svc_branch_delete', { name: 'hers' })).toMatchObject({ code: 'E_BRAIN_DIVERTED' });
  expect(await call('svc_branch_rename', { name: 'hers', to: 'ours' })).toMatchObject({ code: 'E_BRAIN_DIVERTED' });
});

it('only reads a branch that a person has in hand somewhere else', async () => {
  await write('x', 'x');
  await commit('main');
  const hers = join(bed.dataDir, `person-${brain}`);
  git('worktree', 'add', '-q', hers, '-b', 'hers');
  const refused = { code: 'E_BRAIN_DIVERTED', branch: 'hers' };
  expect(await call('brain_write', { name: 'y', content: 'y', branch: 'hers' })).toMatchObject(refused);
  expect(await call('svc_switch_branch', { name: 'hers' })).toMatchObject({ status: 'switched', branch: 'hers' });
  expect(await read('x')).toBe('x');
  // A rebase detaches its HEAD; it comes back to the branch.
  execFileSync('git', ['commit', '-q', '--allow-empty', '-m', 'more'], { cwd: hers });
  spawnSync('git', ['rebase', '-q', '--exec', 'false', 'main'], { cwd: hers, stdio: 'ignore' });
  expect(await call('brain_write', { name: 'y', content: 'y', branch: 'hers' })).toMatchObject(refused);
  execFileSync('git', ['rebase', '--abort'], { cwd: hers });
  execFileSync('git', ['checkout', '-q', '--detach'], { cwd: hers });
  await write('y', 'y', 'hers');
});

it('renames a branch with what is uncommitted on it and its conflicts', async () => {
  await diverge();
  await commit('main');
  await call('svc_branch_merge', { from: 'main', into: 'side' });
  await write('left', 'changed again', 'side');
  await call('svc_switch_branch', { name: 'side' });
  expect(await call('svc_branch_rename', { name: 'side', to: 'kept/side' })).toMatchObject({
    renamed: true,
    name: 'kept/side',
    switched: true,
  });
  expect(await call('brain_current')).toMatchObject({ branch: 'kept/side' });
  expect(await read('left', { branch: 'kept/side' })).toBe('changed again');
  expect(await call('svc_branch_is_dirty', { branch: 'kept/side' })).toMatchObject({ files: [{ file: 'left.md' }] });
  expect(await call('svc_conflicts', { branch: 'kept/side' })).toMatchObject({ conflicts: [{ file: 'x.md' }] });
  expect(await commit('kept/side')).toMatchObject({ committed: true, count: 1 });
  expect(execFileSync('git', ['status', '--porcelain', '-b'], { cwd: root('kept+side'), encoding: 'utf8' })).toBe(
    '## kept/side\n',
  );
  expect(await call('brain_read', { name: 'left', branch: 'side' })).toMatchObject({ code: 'E_BRANCH_ABSENT' });
  expect(await heard('branch:renamed')).toMatchObject([{ branch: 'side', to: 'kept/side' }]);
  await call('svc_create_branch', { name: 'side' });
  for (const to of ['side', 'SIDE', 'side/below']) {
    expect(await call('svc_branch_rename', { name: 'kept/side', to })).toMatchObject({ code: 'E_BRANCH_EXISTS' });
  }
  expect(await call('svc_branch_rename', { name: 'main', to: 'x' })).toMatchObject({ code: 'E_BRANCH_PROTECTED' });
  expect(await call('svc_branch_rename', { name: 'none', to: 'x' })).toMatchObject({ code: 'E_BRANCH_ABSENT' });
});

it('sets a working tree aside whose branch was deleted by a process that was killed before it could', async () => {
  await diverge();
  await node.stop();
  git('update-ref', '-d', 'refs/heads/side');
  await restart();
  await call('svc_create_branch', { name: 'side' });
  expect(await call('svc_branch_is_dirty', { branch: 'side' })).toMatchObject({ dirty: false });
  expect(readdirSync(dirname(root('side'))).some((name) => name.startsWith('.deleted-side-'))).toBe(true);
});

it('finishes a renaming that was cut off after the branch had moved', async () => {
  await diverge();
  await node.stop();
  git('branch', '-m', 'side', 'other');
  // As the kill leaves it: git took the head of the working tree along, the service did not come to do it.
  execFileSync('git', ['symbolic-ref', 'HEAD', 'refs/heads/side'], { cwd: root('side') });
  const journal = join(bed.dataDir, 'journal');
  mkdirSync(journal, { recursive: true });
  writeFileSync(join(journal, `${brain}.ren_1.json`), JSON.stringify({ brain, from: 'side', to: 'other' }));
  await restart();
  expect(await read('left', { branch: 'other' })).toBe('uncommitted there');
  expect([existsSync(root('side')), existsSync(root('other')), readdirSync(journal)]).toEqual([false, true, []]);
});
