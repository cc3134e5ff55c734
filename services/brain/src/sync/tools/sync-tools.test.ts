import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Subject } from '@svc/contract/subject.ts';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import {
  type BrainNode,
  type BrainTestBed,
  openBrainTestBed,
  type TestCaller,
  testCaller,
} from '../../../testing/brain-test-bed.ts';
import { MAX_REPLAYED } from '../../git/rebase.ts';
import { TestHost } from '../../git/remote-test-host.ts';

type Row = Record<string, unknown>;

let bed: BrainTestBed;
let node: BrainNode;
let outside: string;
let host: TestHost;
let stranger: TestHost;
let stalled: Server;
const stalledSockets = new Set<Socket>();
let brains = 0;
let brain = '';
/** Of a rebase at which its branch is renamed. */
const MOMENTS = 10;

/** A packet of git's protocol. */
const packet = (text: string) => `${(text.length + 4).toString(16).padStart(4, '0')}${text}`;

beforeAll(async () => {
  bed = await openBrainTestBed();
  outside = mkdtempSync(join(tmpdir(), 'sync-tools-'));
  for (const name of ['r', 'other', 'corrupt']) git(outside, 'init', '-q', '--bare', '-b', 'main', `${name}.git`);
  [host, stranger] = await Promise.all([TestHost.start(), TestHost.start()]);
  host.handler = ({ url = '' }, response) => {
    if (url.startsWith('/closed/')) response.writeHead(401, { 'www-authenticate': 'Basic' }).end();
    else {
      response.setHeader('content-type', 'application/x-git-upload-pack-advertisement');
      response.end(`${packet('# service=git-upload-pack\n')}0000${packet('ERR no space left on device')}`);
    }
  };
  stalled = createServer((socket) => stalledSockets.add(socket));
  await new Promise<void>((resolve) => {
    stalled.listen(0, '127.0.0.1', resolve);
  });
  node = await bed.start(settings());
});

afterAll(async () => {
  for (const socket of stalledSockets) socket.destroy();
  await node.stop();
  stalled.close();
  await Promise.all([host.stop(), stranger.stop()]);
  await bed[Symbol.asyncDispose]();
  rmSync(outside, { recursive: true, force: true });
});

function settings(): Record<string, string> {
  const remotes = {
    r: `file://${join(outside, 'r.git')}`,
    corrupt: `file://${join(outside, 'corrupt.git')}`,
    absent: `file://${join(outside, 'absent.git')}`,
    away: 'https://127.0.0.1:1/a/b.git',
    stalled: `https://127.0.0.1:${(stalled.address() as AddressInfo).port}/a/b.git`,
    closed: `${host.origin}/closed/b.git`,
    full: `${host.origin}/full/b.git`,
    unknown: `${stranger.origin}/a/b.git`,
  };
  return {
    SVC_SYNC_ALLOW_FILE: 'on',
    SVC_SYNC_CA_FILE: host.certificateFile,
    SVC_SYNC_TRANSFERS: '1',
    SVC_SYNC_REMOTES: Object.entries(remotes)
      .map((pair) => pair.join('='))
      .join(','),
  };
}

beforeEach(async () => {
  brains += 1;
  brain = `s${brains}`;
  await OPERATOR.ok('brain_load', { brains: brain, create: true });
});

const caller = (subject: Subject | null) => testCaller(() => node, subject);
const OPERATOR = caller(null);
const BOB = caller({ userId: 'bob', workspace: 'acme', roles: ['editor'] });

function git(cwd: string, ...args: string[]): string {
  const who = ['-c', 'user.name=Person', '-c', 'user.email=person@example.org', '-c', 'core.fsync=none'];
  return execFileSync('git', [...who, ...args], { cwd, encoding: 'utf8', maxBuffer: 1 << 26 }).trim();
}

const root = () => join(bed.dataDir, 'brains', brain);
const save = (name: string, content: string, by = OPERATOR) => by.ok('brain_save', { brain, name, content });
const rebase = (args: Row = {}) => OPERATOR.ok('svc_sync_rebase', { brain, provider: 'r', ...args });
const push = (by = OPERATOR) => by.ok('svc_sync', { brain, remote: 'r', direction: 'push' });
const text = async (name: string, at?: string) =>
  (await OPERATOR.ok('brain_read', { brain, name, ...(at === undefined ? {} : { at }) }))['content'];
const log = (...range: string[]) => git(root(), 'log', '--format=%s', ...range).split('\n');

/** A person who has the brain's branch from the remote commits these files there, one commit each. */
function theirs(files: Readonly<Record<string, string>>): void {
  const clone = join(outside, `clone-${brain}`);
  git(outside, 'clone', '-q', '-b', `brain/${brain}/main`, join(outside, 'r.git'), clone);
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(clone, name)), { recursive: true });
    writeFileSync(join(clone, name), content);
    git(clone, 'add', '-A');
    git(clone, 'commit', '-qm', `theirs ${name}`);
  }
  git(clone, 'push', '-q');
  rmSync(clone, { recursive: true });
}

test('the first sync with an empty remote takes what is not committed yet, as every later one does', async () => {
  await OPERATOR.ok('brain_write', { brain, name: 'first.md', content: 'one' });
  expect(await OPERATOR.ok('svc_sync', { brain, remote: 'r' })).toMatchObject({
    status: 'pushed',
    remoteCommit: git(root(), 'rev-parse', 'main'),
    uncommittedLeft: 0,
  });
  expect(log('main')[0]).toBe('sync: local changes');
  await OPERATOR.ok('svc_create_branch', { brain, name: 'side', switch: true });
  await OPERATOR.ok('brain_write', { brain, branch: 'side', name: 'second.md', content: 'two' });
  expect(await rebase({ branch: 'side' })).toMatchObject({ rebased: true, status: 'up-to-date', uncommittedLeft: 0 });
});

test('commits of our own are replayed one by one on top of the remote, with authors, dates and messages', async () => {
  await save('base.md', 'base\n');
  await push();
  theirs({ 'theirs.md': 'theirs\n' });
  await OPERATOR.ok('brain_write', { brain, name: 'a.md', content: 'one\n' });
  await OPERATOR.ok('svc_commit', { brain, message: 'first\n\nwith a body', agentId: 'ada' });
  await save('a.md', 'two\n');
  await OPERATOR.ok('brain_write', { brain, name: 'dirty.md', content: 'not committed\n' });
  const facts = () => git(root(), 'log', '--reverse', '-2', '--format=%an %ae %aI %B', 'main^');
  await OPERATOR.ok('svc_commit', { brain, message: 'third' });
  const before = facts();
  await OPERATOR.ok('brain_write', { brain, name: 'dirty.md', content: 'again\n' });
  const answer = await rebase();
  expect(answer).toMatchObject({
    rebased: true,
    status: 'rebased',
    direction: 'rebase',
    remote: 'r',
    replayed: 4,
    conflicts: [],
    pulled: { added: 1, updated: 0, deleted: 0 },
    uncommittedLeft: 0,
  });
  expect(facts()).not.toBe('');
  expect(git(root(), 'log', '--reverse', '--format=%an %ae %aI %B', '--skip=2', '-2', 'main')).toBe(before);
  expect(log('main')).toEqual([
    'sync: local changes',
    'third',
    'save a.md',
    'first',
    'theirs theirs.md',
    'save base.md',
    'Empty brain',
  ]);
  expect(git(root(), 'rev-list', '--merges', '--count', 'main')).toBe('0');
  expect([await text('a'), await text('theirs'), await text('dirty')]).toEqual(['two\n', 'theirs\n', 'again\n']);
  expect(readFileSync(join(root(), 'theirs.md'), 'utf8')).toBe('theirs\n');
  expect(git(root(), 'status', '--porcelain')).toBe('');
  // Where the branch was stays readable, and the push that follows is never forced.
  const rescue = String(answer['rescue']);
  expect(git(root(), 'rev-parse', `refs/rescue/${rescue}/ours`)).toBe(answer['before']);
  expect(await push()).toMatchObject({ synced: true, status: 'pushed', pushed: 4 });
  expect(await rebase()).toMatchObject({ status: 'up-to-date', replayed: 0, rescue: null });
});

test('what the remote has already leaves no commit; texts are merged; without own commits it is a fast-forward', async () => {
  await save('note.md', 'a\nb\nc\nd\ne\n');
  await push();
  theirs({ 'same.md': 'same\n', 'note.md': 'A\nb\nc\nd\ne\n' });
  await save('same.md', 'same\n');
  await save('note.md', 'a\nb\nc\nd\nE\n');
  expect(await rebase()).toMatchObject({ status: 'rebased', replayed: 1 });
  expect(await text('note')).toBe('A\nb\nc\nd\nE\n');
  await push();
  theirs({ 'more.md': 'more' });
  expect(await rebase()).toMatchObject({ status: 'fast-forward', replayed: 0, rescue: null });
  expect(await text('more')).toBe('more');
});

test('a merge of branches is replayed as what it brought to this one', async () => {
  await save('base.md', 'base');
  await push();
  theirs({ 'theirs.md': 'theirs' });
  await OPERATOR.ok('svc_create_branch', { brain, name: 'side' });
  await OPERATOR.ok('brain_save', { brain, branch: 'side', name: 'side.md', content: 'side' });
  await save('main.md', 'main');
  await OPERATOR.ok('svc_branch_merge', { brain, branch: 'main', from: 'side', message: 'joined' });
  expect(await rebase()).toMatchObject({ status: 'rebased', replayed: 2 });
  expect(log('main').slice(0, 3)).toEqual(['joined', 'save main.md', 'theirs theirs.md']);
  expect([await text('side'), await text('main'), await text('theirs')]).toEqual(['side', 'main', 'theirs']);
});

test('a clash leaves the branch as it was and keeps both tips readable', async () => {
  await save('x.md', 'base\n');
  await push();
  theirs({ 'x.md': 'theirs\n', 'y.md': 'y' });
  await save('z.md', 'z');
  await save('x.md', 'ours\n');
  const head = git(root(), 'rev-parse', 'main');
  const refused = await OPERATOR.no('svc_sync_rebase', { brain, provider: 'r' });
  expect(refused).toMatchObject({
    rebased: false,
    code: 'E_SYNC_CONFLICT',
    conflicts: [{ file: 'x.md', kind: 'content' }],
  });
  const [{ ours, theirs: other }] = refused['conflicts'] as [Record<string, string>];
  expect(git(root(), 'cat-file', 'blob', ours ?? '')).toBe('ours');
  expect(git(root(), 'cat-file', 'blob', other ?? '')).toBe('theirs');
  expect(git(root(), 'rev-parse', 'main')).toBe(head);
  expect(git(root(), 'status', '--porcelain')).toBe('');
  const rescue = String(refused['rescue']);
  expect(await text('x', `rescue/${rescue}/ours`)).toBe('ours\n');
  expect(await text('x', `rescue/${rescue}/theirs`)).toBe('theirs\n');
  expect(await OPERATOR.ok('svc_conflicts', { brain })).toMatchObject({ conflicts: [] });
  // Who may not read the file does not hear of it.
  bed.registry.setPolicy(`brain:${brain}/x.md`, { readableBy: ['user:nobody'], writableBy: [], container: 'public' });
  const blind = await BOB.no('svc_sync_rebase', { brain, provider: 'r' });
  expect(blind).toMatchObject({ code: 'E_SYNC_CONFLICT', conflicts: [] });
  bed.registry.setPolicy(`brain:${brain}/x.md`, null);
});

test('a branch that is renamed during its rebase is gone, not diverted', async () => {
  await save('x.md', 'base\n');
  await push();
  theirs({ 'x.md': 'theirs\n' });
  await save('x.md', 'ours\n');
  await OPERATOR.ok('svc_create_branch', { brain, name: 'side' });
  git(outside, '-C', 'r.git', 'branch', '-q', `brain/${brain}/side`, `brain/${brain}/main`);
  const rebased = () => OPERATOR.no('svc_sync_rebase', { brain, branch: 'side', provider: 'r' });
  const rename = (name: string, to: string) => OPERATOR.ok('svc_branch_rename', { brain, name, to });
  await rebased();
  const from = performance.now();
  expect(await rebased()).toMatchObject({ code: 'E_SYNC_CONFLICT' });
  const took = performance.now() - from;
  const heard = new Set<unknown>();
  for (let moment = 0; moment < MOMENTS; moment += 1) {
    const answer = rebased();
    await delay((took * moment) / MOMENTS);
    await rename('side', 'elsewhere');
    heard.add((await answer)['code']);
    await rename('elsewhere', 'side');
  }
  expect([...heard].filter((code) => code !== 'E_SYNC_CONFLICT' && code !== 'E_BRANCH_ABSENT')).toEqual([]);
});

test.each([
  ['E_NOT_CONFIGURED', 'none'],
  ['E_REMOTE_ABSENT', 'absent'],
  ['E_REMOTE_UNREACHABLE', 'away'],
  ['E_REMOTE_TLS', 'unknown'],
  ['E_REMOTE_AUTH', 'closed'],
  ['E_REMOTE_FULL', 'full'],
])('a rebase is refused with %s', async (code, provider) => {
  expect(await OPERATOR.no('svc_sync_rebase', { brain, provider })).toMatchObject({ rebased: false, code });
});

test('a rebase refuses a damaged remote, too many commits, a branch that is not there', async () => {
  await save('base.md', 'base');
  await OPERATOR.ok('svc_sync', { brain, remote: 'corrupt', direction: 'push' });
  const bare = join(outside, 'corrupt.git');
  const clone = join(outside, 'clone-corrupt');
  git(outside, 'clone', '-q', '-b', `brain/${brain}/main`, bare, clone);
  writeFileSync(join(clone, 'x.md'), 'to be lost');
  git(clone, 'add', '-A');
  git(clone, 'commit', '-qm', 'x');
  git(clone, 'push', '-q');
  const blob = git(clone, 'rev-parse', 'HEAD:x.md');
  rmSync(join(bare, 'objects', blob.slice(0, 2), blob.slice(2)), { force: true });
  const refused = await OPERATOR.no('svc_sync_rebase', { brain, provider: 'corrupt' });
  expect(refused).toMatchObject({ rebased: false, code: 'E_REMOTE_CORRUPT' });
  expect(await OPERATOR.no('svc_sync_rebase', { brain, branch: 'nobody', provider: 'r' })).toMatchObject({
    code: 'E_BRANCH_ABSENT',
  });
  await push();
  theirs({ 'theirs.md': 'theirs' });
  const stream = Array.from(
    { length: MAX_REPLAYED + 1 },
    (_, index) =>
      `commit refs/heads/main\ncommitter P <p@example.org> ${index + 1} +0000\ndata 1\nx\n` +
      (index === 0 ? 'from refs/heads/main^0\n' : '') +
      `M 100644 inline n.md\ndata ${String(index).length}\n${index}\n`,
  );
  execFileSync('git', ['fast-import', '--quiet'], { cwd: root(), input: stream.join('') });
  git(root(), 'reset', '-q', '--hard', 'main');
  expect(await OPERATOR.no('svc_sync_rebase', { brain, provider: 'r' })).toMatchObject({
    code: 'E_LIMIT',
    limit: MAX_REPLAYED,
    commits: MAX_REPLAYED + 1,
  });
});

test('a rebase is guarded like every change of a branch', async () => {
  await save('base.md', 'base');
  await push();
  const shut = (args: Row, by: TestCaller = OPERATOR) => by.no('svc_sync_rebase', { brain, provider: 'r', ...args });
  await OPERATOR.ok('svc_lock', { brain, action: 'acquire', agentId: 'holder' });
  expect(await shut({}, BOB)).toMatchObject({ rebased: false, code: 'E_LOCKED' });
  expect(await shut({ agentId: 'holder', fence: 999 })).toMatchObject({ code: 'E_FENCED' });
  await OPERATOR.ok('svc_lock', { brain, action: 'force' });
  expect(await shut({ agentId: 'x' }, caller({ agentId: 'ada', verified: true }))).toMatchObject({ code: 'FORBIDDEN' });
  bed.registry.setPolicy(`brain:${brain}`, { writableBy: ['user:nobody'], readableBy: [], container: 'public' });
  expect(await shut({}, BOB)).toMatchObject({ code: 'RLS_DENIED' });
  bed.registry.setPolicy(`brain:${brain}`, null);
  expect(await shut({ brain: 'nobody-made-it' })).toMatchObject({ code: 'BRAIN_LOAD_FAIL' });
  const anonymous = { operator: false, principal: 'anon:1', subject: {} };
  await expect(node.call('svc_sync_rebase', { brain }, anonymous)).rejects.toThrow('UNAUTHORIZED');
  git(root(), 'checkout', '-q', '--detach');
  expect(await shut({})).toMatchObject({ code: 'E_BRAIN_DIVERTED' });
  git(root(), 'checkout', '-q', 'main');
  await OPERATOR.ok('brain_load', { brains: brain, type: 'public' });
  expect(await shut({})).toMatchObject({ code: 'E_READ_ONLY' });
});

test('a transfer that outlives its call goes on, and another one waits for its place no longer than it may', async () => {
  const soon = () => ({ deadlineAt: Date.now() + 3000 });
  const call = () => OPERATOR.no('svc_sync_rebase', { brain, provider: 'stalled' }, soon());
  expect(await call()).toMatchObject({ rebased: false, code: 'E_UNDER_WAY' });
  await OPERATOR.ok('brain_load', { brains: `${brain}-b`, create: true });
  expect(await OPERATOR.no('svc_sync_rebase', { provider: 'stalled' }, soon())).toMatchObject({ code: 'E_BUSY' });
  for (const socket of stalledSockets) socket.destroy();
});
