import { hash } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import type { Subject } from '@svc/contract/subject.ts';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { fullDatabase } from '../../../testing/refusing-disk.ts';
import { type BrainNode, type BrainTestBed, openBrainTestBed, testCaller } from '../../../testing/brain-test-bed.ts';
import { gitIn, stateOf as stateIn } from '../../../testing/brain-state.ts';

type Row = Record<string, unknown>;

let bed: BrainTestBed;
let node: BrainNode;
let stalled: Server;
const sockets = new Set<Socket>();
let brains = 0;
let brain = '';

beforeAll(async () => {
  bed = await openBrainTestBed();
  stalled = createServer((socket) => sockets.add(socket));
  await new Promise<void>((resolve) => {
    stalled.listen(0, '127.0.0.1', resolve);
  });
  node = await start();
});

afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await node.stop();
  stalled.close();
  await bed[Symbol.asyncDispose]();
});

beforeEach(async () => {
  brains += 1;
  brain = `k${brains}`;
  await OPERATOR.ok('brain_load', { brains: brain, create: true });
});

const start = () => {
  const { port } = stalled.address() as AddressInfo;
  return bed.start({ SVC_SYNC_REMOTES: `stalled=https://127.0.0.1:${port}/a/b.git` });
};
const caller = (subject: Subject | null) => testCaller(() => node, subject);
const OPERATOR = caller(null);
const BOB = caller({ userId: 'bob', workspace: 'acme', roles: ['editor'] });
const ADMIN = caller({ userId: 'ann', workspace: 'acme', roles: ['admin'] });

const root = (name = brain) => join(bed.dataDir, 'brains', name);
const shelf = () => join(bed.dataDir, 'backups');
const leftovers = () => readdirSync(shelf()).filter((name) => name.startsWith('.'));

const git = gitIn;
const stateOf = (name: string) => stateIn(bed, name);

/** Ten files, three branches, something uncommitted on two of them, and something noted of every kind. */
async function furnish(): Promise<void> {
  for (let index = 0; index < 10; index += 1)
    await OPERATOR.ok('brain_write', { brain, name: `notes/n${index}.md`, content: `# ${index}\n\ntext ${index}\n` });
  await OPERATOR.ok('svc_storage_write', {
    brain,
    path: 'p/dot.gif',
    content: 'R0lGODlhAQABAAAAACw=',
    encoding: 'base64',
  });
  await OPERATOR.ok('svc_create_island', { brain, name: 'ops', triggers: ['deploy'], content: 'How we deploy' });
  const { commit } = await OPERATOR.ok('svc_commit', { brain, message: 'first' });
  git(root(), 'tag', 'v1', 'main');
  for (const name of ['side', 'still']) await OPERATOR.ok('svc_create_branch', { brain, name });
  await OPERATOR.ok('brain_save', { brain, branch: 'side', name: 'side.md', content: 'committed' });
  await OPERATOR.ok('brain_write', { brain, branch: 'side', name: 'side.md', content: 'uncommitted' });
  await OPERATOR.ok('brain_write', { brain, name: 'dirty.md', content: 'uncommitted' });
  await OPERATOR.ok('brain_delete_file', { brain, name: 'notes/n9.md' });
  await OPERATOR.ok('svc_citations_add', { brain, commit, context: 'why' });
  await OPERATOR.ok('svc_resolution_track', { brain, file: 'notes/n1.md', change: 'kept' });
  await OPERATOR.ok('brain_link', { brain, from: 'notes/n1.md', to: 'notes/n2.md' });
  await OPERATOR.ok('brain_attend', { brain, name: 'notes/n1.md', score: 0.37 });
  await OPERATOR.ok('brain_geo_store', { brain, key: 'rome', data: { x: 1 } });
  await OPERATOR.ok('svc_geometry_remember', { brain, category: 'city', key: 'oslo', content: 'fjord' });
  await OPERATOR.ok('svc_commit', { brain, branch: 'still', message: 'nothing' });
}

test('what a person has elsewhere is not taken for uncommitted work: the backup waits until they are back', async () => {
  await OPERATOR.ok('brain_save', { brain, name: 'a.md', content: 'on main' });
  git(root(), 'switch', '-qc', 'other');
  expect(await OPERATOR.ok('svc_brain_backup', { brain })).toMatchObject({ code: 'E_BRAIN_DIVERTED', branch: 'main' });
  git(root(), 'switch', '-q', 'main');
  expect(await OPERATOR.ok('svc_brain_backup', { brain })).toMatchObject({ status: 'backed_up' });
});

test('a brain that a person cloned without its older history comes back as it was', async () => {
  for (const content of ['one', 'two', 'three']) await OPERATOR.ok('brain_save', { brain, name: 'a.md', content });
  const name = `${brain}clone`;
  git(bed.dataDir, 'clone', '-q', '--depth', '1', `file://${root()}`, root(name));
  git(root(name), 'remote', 'remove', 'origin');
  await OPERATOR.ok('brain_save', { brain: name, name: 'b.md', content: 'four' });
  const made = await OPERATOR.ok('svc_brain_backup', { brain: name });
  const path = String(made['path']);
  expect(await OPERATOR.ok('svc_brain_restore', { path, brain: `${name}2` })).toMatchObject({ status: 'restored' });
  const history = (of: string) => git(root(of), 'log', '--format=%H %s', 'main');
  expect(history(`${name}2`)).toBe(history(name));
  expect(await OPERATOR.ok('brain_read', { brain: `${name}2`, name: 'a.md' })).toMatchObject({ content: 'three' });
});

test('references, files, uncommitted work and rows come back as they were, and what was there stays readable', async () => {
  await furnish();
  const before = await stateOf(brain);
  const made = await OPERATOR.ok('svc_brain_backup', { brain });
  const file = join(shelf(), String(made['path']));
  expect(made).toMatchObject({ status: 'backed_up', brain, commit: git(root(), 'rev-parse', 'main') });
  expect(made['path']).toMatch(new RegExp(`^${brain}-\\d{8}T\\d{9}Z\\.svcb$`));
  expect([made['sha256'], made['bytes']]).toEqual([hash('sha256', readFileSync(file)), readFileSync(file).length]);
  const { backups } = (await OPERATOR.ok('svc_brain_backups')) as { backups: Row[] };
  const { path, bytes, sha256, commit } = made;
  expect(backups).toContainEqual({ path, bytes, sha256, commit, brain, createdAt: expect.any(Number) });

  await OPERATOR.ok('brain_save', { brain, name: 'notes/n1.md', content: 'newer' });
  await OPERATOR.ok('svc_branch_delete', { brain, name: 'still' });
  await OPERATOR.ok('brain_link', { brain, from: 'a', to: 'b' });
  const newer = git(root(), 'rev-parse', 'main');
  // Where sessions go from here, and from where they come, is no part of the brain: it stays.
  for (const brains of ['svc', brain, 'svc']) await OPERATOR.ok('brain_switch', { name: brains });
  const paths = await OPERATOR.ok('brain_synapses');
  expect(paths).toMatchObject({
    synapses: { [brain]: { svc: expect.any(Number) }, svc: { [brain]: expect.any(Number) } },
  });
  const answer = await OPERATOR.ok('svc_brain_restore', { path });
  expect(await OPERATOR.ok('brain_synapses')).toEqual(paths);
  expect(answer).toMatchObject({ status: 'restored', path, brain, commit, files: made['files'], rows: made['rows'] });
  expect(await OPERATOR.ok('brain_read', { brain, name: 'notes/n1' })).toMatchObject({ content: '# 1\n\ntext 1\n' });
  expect(await OPERATOR.ok('brain_read', { brain, branch: 'side', name: 'side' })).toMatchObject({
    content: 'uncommitted',
  });
  expect(await stateOf(brain)).toEqual(before);
  const at = `rescue/${String(answer['rescue'])}/ours`;
  expect(await OPERATOR.ok('brain_read', { brain, name: 'notes/n1', at })).toMatchObject({ content: 'newer' });
  expect(git(join(bed.dataDir, String(answer['kept']), 'brain'), 'rev-parse', 'main')).toBe(newer);
  expect(git(root(), 'fsck', '--strict', '--no-dangling')).toBe('');
  expect(leftovers()).toEqual([]);
  // It goes on as any brain, also after a restart.
  await node.stop();
  node = await start();
  expect(await stateOf(brain)).toEqual(before);
  expect(await OPERATOR.ok('svc_search', { brain, query: 'fjord' })).toMatchObject({ total: 1 });
  expect(await OPERATOR.ok('svc_commit', { brain, message: 'after' })).toMatchObject({ committed: true });
});

test('a backup becomes a brain on a node that never had it, or beside the one that it is of', async () => {
  await furnish();
  const before = await stateOf(brain);
  const { path } = await OPERATOR.ok('svc_brain_backup', { brain, path: `${brain}-copy` });
  expect(path).toBe(`${brain}-copy.svcb`);
  const twin = `${brain}-twin`;
  expect(await OPERATOR.ok('svc_brain_restore', { path, brain: twin })).toMatchObject({ brain: twin });
  await OPERATOR.ok('brain_read', { brain: twin, branch: 'side', name: 'side' });
  const same = await stateOf(twin);
  expect({ ...same, refs: '' }).toEqual({ ...before, refs: '' });
  expect(same['refs']).toBe(before['refs']);
  await using other = await openBrainTestBed();
  const there = await other.start();
  copyFileSync(join(shelf(), String(path)), join(other.dataDir, 'backups', String(path)));
  expect(await there.call('svc_brain_restore', { path })).toMatchObject({
    status: 'restored',
    brain,
    rescue: null,
    kept: null,
  });
  expect(await there.call('brain_read', { brain, name: 'dirty' })).toMatchObject({ content: 'uncommitted' });
  expect(await there.call('svc_citations_list', { brain })).toMatchObject({ count: 1 });
  await there.stop();
});

test('a damaged or cut off file is refused, and nothing changed', async () => {
  await furnish();
  const { path } = await OPERATOR.ok('svc_brain_backup', { brain, path: `${brain}-x` });
  const whole = readFileSync(join(shelf(), String(path)));
  await OPERATOR.ok('brain_save', { brain, name: 'newer.md', content: 'x' });
  const before = await stateOf(brain);
  const text = whole.toString('latin1');
  const inside = (word: string) => text.indexOf(word) + 3;
  const flipped = (at: number) => {
    const copy = Buffer.from(whole);
    copy.writeUInt8(copy.readUInt8(at) ^ 1, at);
    return copy;
  };
  const damagedOnes = [
    flipped(0),
    flipped(inside('manifest ')),
    flipped(inside('"commit"')),
    flipped(inside('# v2 git bundle')),
    flipped(inside('PACK') + 40),
    flipped(inside('["brain_')),
    flipped(whole.length - 2),
    whole.subarray(0, 0),
    whole.subarray(0, 40),
    whole.subarray(0, whole.length >> 1),
    whole.subarray(0, whole.length - 1),
    Buffer.concat([whole, Buffer.from('x')]),
  ];
  for (const [index, bytes] of damagedOnes.entries()) {
    writeFileSync(join(shelf(), `${brain}-damaged.svcb`), bytes);
    const refused = await OPERATOR.no('svc_brain_restore', { path: `${brain}-damaged`, brain });
    expect([index, refused['code']]).toEqual([index, 'E_BACKUP_CORRUPT']);
  }
  expect(await stateOf(brain)).toEqual(before);
  expect(leftovers()).toEqual([]);
  const { backups } = (await OPERATOR.ok('svc_brain_backups')) as { backups: Row[] };
  expect(backups.find((one) => one['path'] === `${brain}-damaged.svcb`)).toMatchObject({ bytes: whole.length + 1 });
  expect(await OPERATOR.no('svc_brain_restore', { path: `${brain}-damaged`, brain: 'new-one' })).toMatchObject({
    code: 'E_BACKUP_CORRUPT',
  });
  expect(existsSync(root('new-one'))).toBe(false);
});

test('a backup shows one moment, whoever writes meanwhile', async () => {
  const branches = ['main', 'side'];
  await OPERATOR.ok('svc_create_branch', { brain, name: 'side' });
  let isOver = false;
  const write = async (branch: string): Promise<number> => {
    let written = 0;
    for (let number = 1; !isOver; number += 1) {
      for (const name of ['x', 'y']) await OPERATOR.ok('brain_write', { brain, branch, name, content: String(number) });
      if (number % 5 === 0) await OPERATOR.ok('svc_commit', { brain, branch, message: String(number) });
      written = number;
    }
    return written;
  };
  const writers = branches.map(write);
  await expect.poll(() => existsSync(join(root(), 'y.md'))).toBe(true);
  const made: Row[] = [];
  for (let count = 0; count < 4; count += 1) made.push(await OPERATOR.ok('svc_brain_backup', { brain }));
  isOver = true;
  const written = await Promise.all(writers);
  expect(Math.min(...written)).toBeGreaterThan(0);
  for (const { path } of made) {
    await OPERATOR.ok('svc_brain_restore', { path });
    for (const branch of branches) {
      const [x, y] = await Promise.all(
        ['x', 'y'].map(async (name) =>
          Number((await OPERATOR.ok('brain_read', { brain, branch, name }))['content'] ?? 0),
        ),
      );
      expect([0, 1]).toContain((x ?? -9) - (y ?? 0));
    }
    expect(git(root(), 'fsck', '--strict', '--no-dangling')).toBe('');
  }
});

test('who may, and what the names of files may be', async () => {
  const hidden = { readableBy: ['role:admin'], writableBy: [], container: 'public' };
  await OPERATOR.ok('brain_save', { brain, name: 'pay.md', content: 'secret' });
  await OPERATOR.ok('svc_brain_backup', { brain, path: `${brain}-a` });
  for (const tool of ['svc_brain_backup', 'svc_brain_backups', 'svc_brain_restore'])
    expect(await ADMIN.no(tool, tool === 'svc_brain_restore' ? { path: `${brain}-a` } : {})).toMatchObject({
      code: 'FORBIDDEN',
    });
  for (const path of ['../../etc/x', 'a/b', '.hidden', 'x\u0000y'.slice(0, 1) + ':'])
    for (const tool of ['svc_brain_backup', 'svc_brain_restore'])
      expect(await OPERATOR.no(tool, { path })).toMatchObject({ code: 'VAF_PATH_BLOCKED' });
  expect(await OPERATOR.no('svc_brain_backup', { brain, path: `${brain}-a.svcb` })).toMatchObject({
    code: 'E_FILE_EXISTS',
  });
  expect(await OPERATOR.no('svc_brain_backup', { brain: 'nobody-made-it' })).toMatchObject({ code: 'BRAIN_LOAD_FAIL' });
  expect(await OPERATOR.no('svc_brain_restore', { path: 'nothing' })).toMatchObject({ code: 'E_BACKUP_ABSENT' });
  // Whoever may not read all of a brain, operator or not, makes no backup of it.
  bed.registry.setPolicy(`brain:${brain}/pay.md`, hidden);
  expect(await OPERATOR.no('svc_brain_backup', { brain })).toMatchObject({ code: 'FORBIDDEN' });
  bed.registry.setPolicy(`brain:${brain}/pay.md`, null);
  // The boundary of an island hides something where there is such an island, uncommitted or not.
  bed.registry.setPolicy('_island:vault', hidden);
  await OPERATOR.ok('svc_brain_backup', { brain });
  mkdirSync(join(root(), 'islands'));
  writeFileSync(join(root(), 'islands', 'vault.md'), 'secret');
  expect(await OPERATOR.no('svc_brain_backup', { brain })).toMatchObject({ code: 'FORBIDDEN' });
  bed.registry.setPolicy('_island:vault', null);
  bed.registry.setPolicy(`brain:${brain}/pay.md`, { ...hidden, readableBy: [], writableBy: ['user:nobody'] });
  expect(await OPERATOR.no('svc_brain_restore', { path: `${brain}-a` })).toMatchObject({ code: 'RLS_DENIED' });
  bed.registry.setPolicy(`brain:${brain}/pay.md`, null);
  bed.registry.setPolicy(`brain:${brain}`, hidden);
  expect(await OPERATOR.no('svc_brain_restore', { path: `${brain}-a` })).toMatchObject({ code: 'BRAIN_LOAD_FAIL' });
  bed.registry.setPolicy(`brain:${brain}`, null);
  expect(await OPERATOR.no('svc_brain_restore', { path: `${brain}-a`, agentId: 'x' }, AS_ADA)).toMatchObject({
    code: 'FORBIDDEN',
  });
  const anonymous = { operator: false, principal: 'anon:1', subject: {} };
  for (const tool of ['svc_brain_backup', 'svc_brain_restore'])
    await expect(node.call(tool, { path: 'x' }, anonymous)).rejects.toThrow('UNAUTHORIZED');
});

const AS_ADA = { subject: { agentId: 'ada', verified: true } } as const;

test('a restore is guarded by the lease, waits for who is at work, and keeps no more than it may', async () => {
  await OPERATOR.ok('brain_save', { brain, name: 'a.md', content: 'a' });
  const path = `${brain}-g`;
  await OPERATOR.ok('svc_brain_backup', { brain, path });
  const refused = async (args: Row = {}, over = {}) =>
    (await OPERATOR.no('svc_brain_restore', { path, ...args }, over))['code'];
  const lease = await OPERATOR.ok('svc_lock', { brain, action: 'acquire', agentId: 'holder' });
  expect(await refused({}, { session: 'd'.repeat(64) })).toBe('E_LOCKED');
  expect(await refused({ agentId: 'holder', fence: 999 })).toBe('E_FENCED');
  // Who holds it restores, and holds it at the new brain.
  await OPERATOR.ok('svc_brain_restore', { path, agentId: 'holder', fence: lease['fence'] });
  expect(await OPERATOR.ok('svc_lock', { brain })).toMatchObject({ status: { state: 'held', fence: lease['fence'] } });
  await OPERATOR.ok('svc_lock', { brain, action: 'force' });
  await OPERATOR.ok('brain_load', { brains: brain, type: 'public' });
  expect(await refused()).toBe('E_READ_ONLY');
  await OPERATOR.ok('brain_load', { brains: brain });
  const busy = BOB.no('svc_sync', { brain, remote: 'stalled', direction: 'pull' }, { deadlineAt: Date.now() + 9000 });
  await expect.poll(() => sockets.size).toBeGreaterThan(0);
  expect(await refused({}, { deadlineAt: Date.now() + 11_500 })).toBe('E_BUSY');
  for (const socket of sockets) socket.destroy();
  await busy;
  for (let index = 0; index < 32; index += 1) mkdirSync(join(shelf(), 'deleted', `full-${index}`), { recursive: true });
  const kept = Array.from({ length: 32 }, (_, index) => `('full-${index}', '${brain}', 'x', 'default', 'x', now())`);
  await bed.database.pool.query(
    `INSERT INTO brain.brain_deleted (folder, brain, id, workspace, by, at) VALUES ${kept.join()}`,
  );
  expect(await refused()).toBe('E_QUOTA');
  for (let index = 0; index < 32; index += 1) rmSync(join(shelf(), 'deleted', `full-${index}`), { recursive: true });
  await bed.database.pool.query(`DELETE FROM brain.brain_deleted WHERE folder LIKE 'full-%'`);
  expect(leftovers()).toEqual([]);
});

test('a database without room to tell of it has no brain restored', async () => {
  await OPERATOR.ok('brain_save', { brain, name: 'a.md', content: 'a' });
  const path = `${brain}-r`;
  await OPERATOR.ok('svc_brain_backup', { brain, path });
  await OPERATOR.ok('brain_save', { brain, name: 'a.md', content: 'later' });
  {
    await using _disk = await fullDatabase(bed.database);
    expect(await OPERATOR.no('svc_brain_restore', { path })).toMatchObject({ code: 'E_STATE_WRITE' });
  }
  expect(await OPERATOR.ok('brain_read', { brain, name: 'a' })).toMatchObject({ content: 'later' });
  expect(leftovers()).toEqual([]);
});

test('what was decided is carried out when the process ended before it was, and what was not is swept away', async () => {
  await OPERATOR.ok('brain_save', { brain, name: 'a.md', content: 'old' });
  const { path } = await OPERATOR.ok('svc_brain_backup', { brain });
  await OPERATOR.ok('brain_save', { brain, name: 'a.md', content: 'new' });
  const { kept } = await OPERATOR.ok('svc_brain_restore', { path });
  await node.stop();
  // As it was before the directories were moved: the new one beside, the old one in its place.
  const staged = join(shelf(), '.svc-dead~rst_1');
  mkdirSync(join(staged, 'worktrees'), { recursive: true });
  const move = (from: string, to: string) => execFileSync('mv', [from, to]);
  move(root(), join(staged, 'brain'));
  move(join(bed.dataDir, String(kept), 'brain'), root());
  mkdirSync(join(shelf(), '.svc-dead~bak_1'));
  const folder = String(kept).split('/').at(-1);
  await bed.database.pool.query(
    `INSERT INTO brain.brain_moves (brain, folder, staged, by, at) VALUES ($1, $2, '.svc-dead~rst_1', 'x', now())`,
    [brain, folder],
  );
  node = await start();
  expect(await OPERATOR.ok('brain_read', { brain, name: 'a' })).toMatchObject({ content: 'old' });
  expect(existsSync(join(bed.dataDir, String(kept), 'brain', '.git'))).toBe(true);
  expect(leftovers()).toEqual([]);
});

test('a keyed repeat is answered as before and does nothing', async () => {
  await OPERATOR.ok('brain_save', { brain, name: 'a.md', content: 'old' });
  const key = { idempotencyKey: `b-${brain}` };
  const made = await OPERATOR.ok('svc_brain_backup', { brain }, key);
  expect(await OPERATOR.ok('svc_brain_backup', { brain }, key)).toEqual(made);
  const again = { idempotencyKey: `r-${brain}` };
  const answer = await OPERATOR.ok('svc_brain_restore', { path: made['path'] }, again);
  await OPERATOR.ok('brain_save', { brain, name: 'a.md', content: 'new' });
  expect(await OPERATOR.ok('svc_brain_restore', { path: made['path'] }, again)).toEqual(answer);
  expect(await OPERATOR.ok('brain_read', { brain, name: 'a' })).toMatchObject({ content: 'new' });
});

test('a brain that a person has configured to run programs meanwhile is not replaced, and says why', async () => {
  await OPERATOR.ok('brain_save', { brain, name: 'a.md', content: 'old' });
  const { path } = await OPERATOR.ok('svc_brain_backup', { brain });
  git(root(), 'config', 'diff.external', 'run-me');
  const cause = { code: 'BRAIN_LOAD_FAIL', status: 503, message: expect.stringContaining('the setting diff.external') };
  await expect(node.call('svc_brain_restore', { path, brain })).rejects.toMatchObject({ cause });
  expect(leftovers()).toEqual([]);
  git(root(), 'config', '--unset', 'diff.external');
  expect(await OPERATOR.ok('svc_brain_restore', { path, brain })).toMatchObject({ status: 'restored' });
});
