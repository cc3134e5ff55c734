/** What keeps a branch from being synced, at the remote and here. */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type BrainNode, type BrainTestBed, openBrainTestBed, testCaller } from '../../../testing/brain-test-bed.ts';
import { fullDatabase } from '../../../testing/refusing-disk.ts';

type Row = Record<string, unknown>;

let bed: BrainTestBed;
let node: BrainNode;
let outside: string;
let stalled: Server;
const stalledSockets = new Set<Socket>();
let brains = 0;
let brain = '';

beforeAll(async () => {
  bed = await openBrainTestBed();
  outside = mkdtempSync(join(tmpdir(), 'sync-refusals-'));
  for (const name of ['r', 'corrupt', 'racing']) git(outside, 'init', '-q', '--bare', '-b', 'main', `${name}.git`);
  stalled = createServer((socket) => stalledSockets.add(socket));
  await new Promise<void>((resolve) => {
    stalled.listen(0, '127.0.0.1', resolve);
  });
  const { port } = stalled.address() as AddressInfo;
  const files = ['r', 'corrupt', 'racing'].map((name) => `${name}=file://${join(outside, `${name}.git`)}`);
  node = await bed.start({
    SVC_SYNC_ALLOW_FILE: 'on',
    SVC_SYNC_TRANSFERS: '1',
    SVC_SYNC_REMOTES: [...files, `stalled=https://127.0.0.1:${port}/a/b.git`].join(','),
  });
});

afterAll(async () => {
  for (const socket of stalledSockets) socket.destroy();
  await node.stop();
  stalled.close();
  await bed[Symbol.asyncDispose]();
  rmSync(outside, { recursive: true, force: true });
});

beforeEach(async () => {
  brains += 1;
  brain = `s${brains}`;
  await OPERATOR.ok('brain_load', { brains: brain, create: true });
  await OPERATOR.ok('brain_save', { brain, name: 'base.md', content: 'base' });
});

const OPERATOR = testCaller(() => node, null);

function git(cwd: string, ...args: string[]): string {
  const who = ['-c', 'user.name=Person', '-c', 'user.email=person@example.org', '-c', 'core.fsync=none'];
  return execFileSync('git', [...who, ...args], { cwd, encoding: 'utf8' }).trim();
}

const bare = (remote: string) => join(outside, `${remote}.git`);
const refused = (args: Row = {}, over = {}) => OPERATOR.no('svc_sync', { brain, remote: 'r', ...args }, over);

/** What a person does with a clone of the brain's branch. */
function inClone(remote: string, work: (clone: string) => void): void {
  const clone = join(outside, `clone-${brain}`);
  git(outside, 'clone', '-q', '-b', `brain/${brain}/main`, bare(remote), clone);
  work(clone);
  rmSync(clone, { recursive: true });
}

function commitThere(clone: string): void {
  writeFileSync(join(clone, 'theirs.md'), 'theirs');
  git(clone, 'add', '-A');
  git(clone, 'commit', '-qm', 'theirs');
  git(clone, 'push', '-q');
}

test('a remote whose objects are damaged', async () => {
  await OPERATOR.ok('svc_sync', { brain, remote: 'corrupt', direction: 'push' });
  inClone('corrupt', (clone) => {
    commitThere(clone);
    const blob = git(clone, 'rev-parse', 'HEAD:theirs.md');
    rmSync(join(bare('corrupt'), 'objects', blob.slice(0, 2), blob.slice(2)), { force: true });
  });
  expect(await refused({ remote: 'corrupt' })).toMatchObject({ synced: false, code: 'E_REMOTE_CORRUPT' });
});

test('a remote that moves on before each push', async () => {
  await OPERATOR.ok('svc_sync', { brain, remote: 'racing', direction: 'push' });
  const branch = `refs/heads/brain/${brain}/main`;
  // Before a push is taken, somebody else's commit is: whoever pushes has seen the one before it.
  const hook = [
    '#!/bin/sh',
    'unset GIT_QUARANTINE_PATH GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES',
    'export GIT_AUTHOR_NAME=P GIT_AUTHOR_EMAIL=p@example.org GIT_COMMITTER_NAME=P GIT_COMMITTER_EMAIL=p@example.org',
    `head=$(git rev-parse ${branch})`,
    `git update-ref ${branch} $(git commit-tree -m more -p $head $head^{tree})`,
    '',
  ].join('\n');
  writeFileSync(join(bare('racing'), 'hooks', 'pre-receive'), hook);
  chmodSync(join(bare('racing'), 'hooks', 'pre-receive'), 0o755);
  await OPERATOR.ok('brain_save', { brain, name: 'ours.md', content: 'ours' });
  expect(await refused({ remote: 'racing' })).toMatchObject({ synced: false, code: 'E_REMOTE_RACE' });
  rmSync(join(bare('racing'), 'hooks', 'pre-receive'));
  expect(await OPERATOR.ok('svc_sync', { brain, remote: 'racing' })).toMatchObject({ synced: true });
});

test('a lease that has passed on, a session that only reads, a tree in the hands of a person', async () => {
  await OPERATOR.ok('svc_sync', { brain, remote: 'r', direction: 'push' });
  await OPERATOR.ok('svc_lock', { brain, action: 'acquire', agentId: 'holder' });
  inClone('r', commitThere);
  expect(await refused({ agentId: 'holder', fence: 999_999 })).toMatchObject({ code: 'E_FENCED' });
  await OPERATOR.ok('svc_lock', { brain, action: 'force' });
  const root = join(bed.dataDir, 'brains', brain);
  git(root, 'checkout', '-q', '--detach');
  expect(await refused()).toMatchObject({ code: 'E_BRAIN_DIVERTED' });
  git(root, 'checkout', '-q', 'main');
  await OPERATOR.ok('brain_load', { brains: brain, type: 'public' });
  expect(await refused()).toMatchObject({ synced: false, code: 'E_READ_ONLY' });
});

test('a branch that is not there', async () => {
  expect(await refused({ branch: 'nobody' })).toMatchObject({ synced: false, code: 'E_BRANCH_ABSENT' });
});

test('a transfer that waits for another one for longer than it may', async () => {
  const soon = () => ({ deadlineAt: Date.now() + 3000 });
  expect(await refused({ remote: 'stalled' }, soon())).toMatchObject({ code: 'E_UNDER_WAY' });
  await OPERATOR.ok('brain_load', { brains: `${brain}-b`, create: true });
  const other = { brain: `${brain}-b`, remote: 'stalled' };
  expect(await refused(other, soon())).toMatchObject({ synced: false, code: 'E_BUSY' });
  for (const socket of stalledSockets) socket.destroy();
});

test.each(['svc_sync', 'svc_sync_rebase'])('%s: a database without room to tell of it', async (tool) => {
  await OPERATOR.ok('svc_sync', { brain, remote: 'r', direction: 'push' });
  const args = tool === 'svc_sync' ? { brain, remote: 'r' } : { brain, provider: 'r' };
  {
    await using _disk = await fullDatabase(bed.database);
    expect(await OPERATOR.no(tool, args)).toMatchObject({ code: 'E_STATE_WRITE' });
  }
  expect(await OPERATOR.ok(tool, args)).toMatchObject({ status: 'up-to-date' });
});
