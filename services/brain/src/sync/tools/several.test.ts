import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Subject } from '@svc/contract/subject.ts';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type BrainNode, type BrainTestBed, openBrainTestBed, testCaller } from '../../../testing/brain-test-bed.ts';

type Row = Record<string, unknown>;

let bed: BrainTestBed;
let node: BrainNode;
let outside: string;
let brains = 0;
let brain = '';
const AWAY = 'origin=https://127.0.0.1:1/a/b.git';

beforeAll(async () => {
  bed = await openBrainTestBed();
  outside = mkdtempSync(join(tmpdir(), 'sync-several-'));
  git(outside, 'init', '-q', '--bare', '-b', 'main', 'r.git');
  node = await bed.start(remotes(AWAY, R()));
});

afterAll(async () => {
  await node.stop();
  await bed[Symbol.asyncDispose]();
  rmSync(outside, { recursive: true, force: true });
});

beforeEach(async () => {
  brains += 1;
  brain = `v${brains}`;
  await OPERATOR.ok('brain_load', { brains: brain, create: true });
});

const R = () => `r=file://${join(outside, 'r.git')}`;
const remotes = (...all: string[]) => ({ SVC_SYNC_ALLOW_FILE: 'on', SVC_SYNC_REMOTES: all.join(',') });
const caller = (subject: Subject | null) => testCaller(() => node, subject);
const OPERATOR = caller(null);
const BOB = caller({ userId: 'bob', workspace: 'acme', roles: ['editor'] });
const VIEWER = caller({ userId: 'eve', workspace: 'acme', roles: ['viewer'] });

function git(cwd: string, ...args: string[]): string {
  const who = ['-c', 'user.name=Person', '-c', 'user.email=person@example.org'];
  return execFileSync('git', [...who, ...args], { cwd, encoding: 'utf8' }).trim();
}

async function withNode(environment: Record<string, string>, work: () => Promise<void>): Promise<void> {
  await node.stop();
  node = await bed.start(environment);
  try {
    await work();
  } finally {
    await node.stop();
    node = await bed.start(remotes(AWAY, R()));
  }
}

/** The brain is at the remote, where a person adds a file to it. */
async function behind(name: string): Promise<void> {
  await OPERATOR.ok('brain_save', { brain: name, name: 'base.md', content: name });
  await OPERATOR.ok('svc_sync', { brain: name, remote: 'r', direction: 'push' });
  const clone = join(outside, `clone-${name}`);
  git(outside, 'clone', '-q', '-b', `brain/${name}/main`, join(outside, 'r.git'), clone);
  writeFileSync(join(clone, 'theirs.md'), 'theirs');
  git(clone, 'add', '-A');
  git(clone, 'commit', '-qm', 'theirs');
  git(clone, 'push', '-q');
}

test('each brain of the stack is pulled from its first remote that answers', async () => {
  const second = `${brain}-b`;
  await OPERATOR.ok('brain_load', { brains: [brain, second], create: true });
  for (const name of [brain, second]) await behind(name);
  expect(await OPERATOR.ok('svc_sync_pullAny')).toEqual({
    synced: true,
    results: [brain, second].map((name) =>
      expect.objectContaining({ brain: name, branch: 'main', remote: 'r', status: 'fast-forward' }),
    ),
  });
  for (const name of [brain, second])
    expect(await OPERATOR.ok('brain_read', { brain: name, name: 'theirs' })).toMatchObject({ content: 'theirs' });
  // One that may not be changed in this session does not keep the others from their turn.
  await OPERATOR.ok('brain_push', { name: second, type: 'public' });
  const { results } = (await OPERATOR.ok('svc_sync_pullAny')) as { results: Row[] };
  expect(results).toMatchObject([
    { brain: second, branch: 'main', remote: null, code: 'E_READ_ONLY' },
    { brain, status: 'up-to-date' },
  ]);
});

test('where no brain could be pulled, the code is that of all of them, or says that they differ', async () => {
  await behind(brain);
  const refused = async (args: Row = {}, by = OPERATOR) => (await by.no('svc_sync_pullAny', args))['code'];
  await BOB.ok('brain_load', { brains: brain });
  await OPERATOR.ok('svc_lock', { brain, action: 'acquire', agentId: 'holder' });
  expect(await BOB.no('svc_sync_pullAny')).toMatchObject({ synced: false, code: 'E_LOCKED', results: [{ brain }] });
  expect(await refused({ agentId: 'holder', fence: 999 })).toBe('E_FENCED');
  await OPERATOR.ok('svc_lock', { brain, action: 'force' });
  const root = join(bed.dataDir, 'brains', brain);
  git(root, 'checkout', '-q', '--detach');
  expect(await refused()).toBe('E_BRAIN_DIVERTED');
  git(root, 'checkout', '-q', 'main');
  await OPERATOR.ok('brain_load', { brains: brain, type: 'public' });
  expect(await refused()).toBe('E_READ_ONLY');
  await withNode(remotes(AWAY), async () => {
    await OPERATOR.ok('brain_push', { name: `${brain}-x`, create: true });
    expect(await OPERATOR.no('svc_sync_pullAny')).toMatchObject({
      code: 'E_SYNC_FAILED',
      results: [{ code: 'E_REMOTE_UNREACHABLE', remote: 'origin' }, { code: 'E_READ_ONLY' }],
    });
    await OPERATOR.ok('brain_load', { brains: brain });
    expect(await refused()).toBe('E_REMOTE_UNREACHABLE');
    expect((await OPERATOR.no('svc_sync_pushAll'))['code']).toBe('E_REMOTE_UNREACHABLE');
  });
  await withNode(remotes(AWAY, `s=file://${join(outside, 'none.git')}`), async () => {
    expect(await refused()).toBe('E_REMOTE_ABSENT');
    expect(await OPERATOR.no('svc_sync_pushAll')).toMatchObject({ synced: false, code: 'E_SYNC_FAILED' });
  });
  await withNode({}, async () => {
    expect(await refused()).toBe('E_NOT_CONFIGURED');
    expect(await OPERATOR.no('svc_sync_pushAll')).toMatchObject({ synced: false, code: 'E_NOT_CONFIGURED' });
    expect(await OPERATOR.ok('svc_sync_status')).toEqual({
      enabled: false,
      remotes: [],
      conflicts: [],
      pendingPush: 0,
    });
  });
});

test('every branch with changes of every brain that may be changed is committed and pushed to each remote', async () => {
  await withNode(remotes(R(), `s=file://${join(outside, 's.git')}`), async () => {
    git(outside, 'init', '-q', '--bare', '-b', 'main', 's.git');
    await OPERATOR.ok('svc_sync_pushAll'); // what other tests left
    const second = `${brain}-b`;
    await OPERATOR.ok('brain_load', { brains: [brain, second, `${brain}-c`], create: true });
    await OPERATOR.ok('brain_save', { brain, name: 'a.md', content: 'committed' });
    await OPERATOR.ok('svc_create_branch', { brain, name: 'side' });
    await OPERATOR.ok('brain_write', { brain, branch: 'side', name: 'b.md', content: 'uncommitted' });
    await OPERATOR.ok('brain_write', { brain: second, name: 'c.md', content: 'uncommitted' });
    const places = [
      [brain, 'main'],
      [brain, 'side'],
      [second, 'main'],
    ] as const;
    const push = (by = OPERATOR, over = {}) => by.ok('svc_sync_pushAll', { message: 'evening' }, over);
    const idempotency = { idempotencyKey: `push-${brain}` };
    const answer = await push(OPERATOR, idempotency);
    expect(answer).toMatchObject({ synced: true, success: true, errors: [] });
    const results = answer['results'] as Row[];
    expect(results.map((row) => [row['brain'], row['branch'], row['remote'], row['status']])).toEqual(
      places.flatMap(([name, branch]) => ['r', 's'].map((remote) => [name, branch, remote, 'pushed'])),
    );
    for (const bare of ['r.git', 's.git']) {
      const message = (ref: string) => git(join(outside, bare), 'log', '-1', '--format=%s', ref);
      expect(message(`brain/${brain}/side`)).toBe('evening');
      expect(message(`brain/${second}/main`)).toBe('evening');
      expect(message(`brain/${brain}/main`)).toBe('save a.md');
    }
    // Nothing is left; the same call again is answered as before.
    expect(await push()).toEqual({ synced: true, success: true, results: [], errors: [] });
    expect(await push(OPERATOR, idempotency)).toEqual(answer);
    // Another agent's lease keeps files from being committed, and nothing from being pushed.
    await OPERATOR.ok('brain_save', { brain, name: 'a.md', content: 'again' });
    await OPERATOR.ok('brain_write', { brain, name: 'd.md', content: 'uncommitted' });
    await OPERATOR.ok('svc_lock', { brain, action: 'acquire', agentId: 'holder' });
    expect(await push(BOB)).toMatchObject({
      success: false,
      results: [{ remote: 'r', pushed: 1 }, { remote: 's' }],
      errors: [{ brain, branch: 'main', remote: null, code: 'E_LOCKED' }],
    });
    await OPERATOR.ok('svc_lock', { brain, action: 'force' });
    rmSync(join(outside, 's.git'), { recursive: true });
    expect(await push()).toMatchObject({
      success: false,
      results: [{ remote: 'r', status: 'pushed' }],
      errors: [{ remote: 's', code: 'E_REMOTE_ABSENT' }],
    });
    expect(await OPERATOR.no('svc_sync_pushAll')).toMatchObject({
      code: 'E_REMOTE_ABSENT',
      results: [{ remote: 's' }],
    });
    // A brain that the caller may not change is none of its business.
    await OPERATOR.ok('brain_write', { brain: second, name: 'c.md', content: 'more' });
    bed.registry.setPolicy(`brain:${second}`, { writableBy: ['user:nobody'], readableBy: [], container: 'public' });
    const { results: some } = (await push(BOB).catch(() => ({ results: [] }))) as { results: Row[] };
    expect(some.filter((row) => row['brain'] === second)).toEqual([]);
    bed.registry.setPolicy(`brain:${second}`, null);
  });
});

test('the state of remotes: how far, how it ended, what is open, what is not pushed', async () => {
  await behind(brain);
  const state = (by = OPERATOR) => by.ok('svc_sync_status', { brain });
  const row = { brain, branch: 'main', breaker: 'closed' };
  const url = R().slice(2);
  await OPERATOR.ok('brain_save', { brain, name: 'theirs.md', content: 'ours' });
  await OPERATOR.ok('svc_create_branch', { brain, name: 'side' });
  const before = await state();
  expect(before).toMatchObject({ enabled: true, conflicts: [], pendingPush: 2 });
  expect(before['remotes']).toEqual([
    expect.objectContaining({ ...row, name: 'origin', ahead: null, behind: null, lastAt: null, lastStatus: null }),
    expect.objectContaining({ ...row, name: 'r', url, ahead: 1, behind: 0, lastStatus: 'pushed' }),
  ]);
  const pulled = await OPERATOR.ok('svc_sync', { brain, remote: 'r', direction: 'pull' });
  expect(await state()).toMatchObject({
    remotes: [{}, { ahead: 2, behind: 0, lastStatus: 'merged-with-conflicts', lastAt: expect.any(Number) }],
    conflicts: [{ brain, branch: 'main', file: 'theirs.md', kind: 'content', rescue: pulled['rescue'] }],
  });
  // Who may not read the file is told of no conflict, and of no number of commits.
  bed.registry.setPolicy(`brain:${brain}/theirs.md`, {
    readableBy: ['user:nobody'],
    writableBy: [],
    container: 'public',
  });
  expect(await state(BOB)).toMatchObject({
    remotes: [{}, { ahead: null, behind: null }],
    conflicts: [],
    pendingPush: 0,
  });
  bed.registry.setPolicy(`brain:${brain}/theirs.md`, null);
  expect(await OPERATOR.no('svc_sync_status', { brain: 'nobody-made-it' })).toMatchObject({ code: 'BRAIN_LOAD_FAIL' });
});

test.each(['svc_sync_pullAny', 'svc_sync_pushAll'])('%s is for writers alone', async (tool) => {
  expect(await VIEWER.no(tool)).toMatchObject({ code: 'FORBIDDEN' });
  const anonymous = { operator: false, principal: 'anon:1', subject: {} };
  await expect(node.call(tool, {}, anonymous)).rejects.toThrow('UNAUTHORIZED');
});
