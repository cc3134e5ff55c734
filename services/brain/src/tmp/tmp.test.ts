/** Temporary spaces, cache and stash through the dispatcher. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Subject } from '@svc/contract/subject.ts';
import { createLocalBus } from '@svc/runtime/bus.local.ts';
import type { Database } from '@svc/runtime/database.ts';
import { startService } from '@svc/runtime/service.ts';
import { poolClient } from '@svc/runtime/transaction.ts';
import { migratedDatabase } from '@svc/testing/database.ts';
import { callTool, type Fields, platformOn } from '@svc/testing/service-bed.ts';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createRegistry } from '../../testing/brain-test-bed.ts';
import { brainService } from '../service.ts';
import { sweepTmp } from './tmp-store.ts';

const dataDir = mkdtempSync(join(tmpdir(), 'brain-tmp-'));
const registry = createRegistry();
let database: Database;
/** What ends goes by the clock of the database: that of this process is behind. */
const clock = { now: () => Date.now() - 7_200_000 };

let call: (subject: Subject | null, tool: string, args?: Fields, key?: string) => Promise<Fields>;
let stop: () => Promise<void>;

async function start(): Promise<void> {
  const platform = platformOn(database, { clock, bus: createLocalBus({ clock }) }, { SVC_DATA_DIR: dataDir });
  await registry.serveOn(platform);
  const service = await startService(platform, brainService);
  call = async (subject, tool, args = {}, key) => {
    const over = {
      ...(subject === null ? {} : { subject, operator: false, principal: `tok:${subject.agentId}` }),
      ...(key === undefined ? {} : { idempotencyKey: key }),
      registry: registry.stamp(),
      deadlineAt: clock.now() + 20_000,
    };
    const answer = await callTool(platform.bus, 'brain', tool, args, over).catch((error: Error) => error);
    return answer instanceof Error ? { code: answer.message } : { ...answer.fields, replayed: answer.replayed };
  };
  stop = async () => {
    await service.stop();
    await platform.jobs.close();
    await platform.bus.close();
  };
}

function agent(agentId: string, role = 'editor', workspace = 'acme', family = agentId): Subject {
  return { agentId, userId: agentId, workspace, roles: [role], family, verified: true };
}
const ada = agent('ada');
const bob = agent('bob');
const cleo = agent('cleo');
const viewer = agent('vera', 'viewer');
const admin = agent('adam', 'admin');
const stranger = agent('sue', 'admin', 'other');

beforeAll(async () => {
  database = await migratedDatabase();
  for (const name of ['ada', 'bob', 'cleo']) registry.grant(name, 'acme', 'editor');
  registry.grant('vera', 'acme', 'viewer');
  await start();
});
afterAll(async () => {
  await stop();
  await database.close();
  rmSync(dataDir, { recursive: true, force: true });
});
beforeEach(async () => {
  const { $executeRawUnsafe: run } = poolClient(database.pool);
  for (const table of ['tmp_files', 'tmp_cache', 'brain_stash']) await run(`DELETE FROM brain.${table}`);
});

test('what is mine is seen by nobody else, the dropbox by its workspace alone', async () => {
  const mine = await call(ada, 'svc_tmp_myStuffPut', { name: 'n', content: 'secret' });
  expect(mine).toMatchObject({ saved: true, name: 'n', space: 'myStuff', bytes: 6 });
  expect(await call(bob, 'svc_tmp_myStuffGet', { name: 'n' })).toMatchObject({ code: 'E_TMP_ABSENT' });
  expect(await call(bob, 'svc_tmp_myStuffList')).toMatchObject({ files: [], space: 'myStuff' });
  expect(await call(bob, 'svc_tmp_myStuffDelete', { name: 'n' })).toMatchObject({ deleted: false });
  await call(ada, 'svc_tmp_dropboxPut', { name: 'n', content: 'shared' });
  expect(await call(bob, 'svc_brain_get_file', { name: 'n' })).toMatchObject({ content: 'shared', by: 'ada' });
  expect(await call(stranger, 'svc_tmp_dropboxGet', { name: 'n' })).toMatchObject({ code: 'E_TMP_ABSENT' });
  expect(await call(stranger, 'svc_tmp_dropboxList')).toMatchObject({ files: [] });
  expect(await call(ada, 'svc_brain_my_get', { name: 'n' })).toMatchObject({ content: 'secret', hash: mine['hash'] });
  expect(await call(ada, 'svc_tmp_myStuffDelete', { name: 'n' })).toMatchObject({ deleted: true });
});

test('second names share the store: what one wrote the other reads, lists, deletes and clears', async () => {
  const put = await call(ada, 'svc_brain_drop_file', { name: 'n', content: 'x' });
  expect(await call(ada, 'svc_tmp_dropboxGet', { name: 'n' })).toMatchObject({ content: 'x', hash: put['hash'] });
  expect(await call(ada, 'svc_brain_list_files')).toMatchObject({ files: [{ name: 'n', to: null }] });
  expect(await call(ada, 'svc_brain_delete_file', { name: 'n' })).toMatchObject({ deleted: true });
  await call(ada, 'svc_brain_my_drop', { name: 'm', content: 'y' });
  expect(await call(ada, 'svc_tmp_myStuffGet', { name: 'm' })).toMatchObject({ content: 'y' });
  expect(await call(ada, 'svc_brain_my_list')).toMatchObject({ files: [{ name: 'm' }] });
  await call(ada, 'svc_tmp_dropboxPut', { name: 'k', content: 'z' });
  expect(await call(ada, 'svc_brain_clear_dropbox')).toMatchObject({ cleared: true, count: 1 });
});

test('what is handed to one agent is read by that one and its writer, and deleted by either', async () => {
  await call(ada, 'svc_tmp_yourStuffPut', { name: 'n', content: 'for bob', to: 'bob' });
  await call(ada, 'svc_tmp_put', { space: 'your', name: 'n', content: 'for all' });
  expect(await call(bob, 'svc_tmp_yourStuffGet', { name: 'n' })).toMatchObject({ content: 'for bob' });
  expect(await call(cleo, 'svc_tmp_yourStuffGet', { name: 'n' })).toMatchObject({ content: 'for all' });
  expect(await call(ada, 'svc_tmp_yourStuffGet', { name: 'n' })).toMatchObject({ content: 'for all' });
  expect(await call(ada, 'svc_tmp_yourStuffList')).toMatchObject({
    files: [
      { name: 'n', to: null },
      { name: 'n', to: 'bob' },
    ],
  });
  expect(await call(cleo, 'svc_tmp_list', { space: 'yourStuff' })).toMatchObject({ files: [{ to: null }] });
  expect(await call(bob, 'svc_tmp_yourStuffDelete', { name: 'n' })).toMatchObject({ deleted: true });
  expect(await call(viewer, 'svc_tmp_yourStuffDelete', { name: 'n' })).toMatchObject({ code: 'FORBIDDEN' });
  expect(await call(ada, 'svc_tmp_yourStuffDelete', { name: 'n' })).toMatchObject({ deleted: true });
  expect(await call(bob, 'svc_tmp_get', { space: 'yourStuff', name: 'n' })).toMatchObject({ code: 'E_TMP_ABSENT' });
  for (const tool of ['svc_tmp_yourStuffPut', 'svc_tmp_put']) {
    const args = { name: 'n', content: 'x', to: 'sue', ...(tool === 'svc_tmp_put' ? { space: 'yourStuff' } : {}) };
    expect(await call(ada, tool, args), 'nobody of this workspace').toMatchObject({ code: 'AGENT_NOT_FOUND' });
  }
  const astray = { space: 'dropbox', name: 'n', content: 'x', to: 'bob' };
  expect(await call(ada, 'svc_tmp_put', astray)).toMatchObject({ code: 'VAF_INPUT_INVALID' });
});

test('a viewer puts things of its own, and neither replaces nor deletes those of others', async () => {
  expect(await call(viewer, 'svc_tmp_dropboxPut', { name: 'own', content: 'v' })).toMatchObject({ saved: true });
  await call(ada, 'svc_tmp_dropboxPut', { name: 'n', content: 'a' });
  await call(ada, 'svc_tmp_yourStuffPut', { name: 'n', content: 'a' });
  for (const tool of ['svc_tmp_dropboxPut', 'svc_brain_drop_file', 'svc_tmp_yourStuffPut'])
    expect(await call(viewer, tool, { name: 'n', content: 'v' }), tool).toMatchObject({ code: 'FORBIDDEN' });
  const put = { space: 'dropbox', name: 'n', content: 'v' };
  expect(await call(viewer, 'svc_tmp_put', put)).toMatchObject({ code: 'FORBIDDEN' });
  for (const tool of ['svc_tmp_dropboxDelete', 'svc_brain_delete_file'])
    expect(await call(viewer, tool, { name: 'n' }), tool).toMatchObject({ code: 'FORBIDDEN' });
  expect(await call(bob, 'svc_tmp_dropboxPut', { name: 'n', content: 'b' })).toMatchObject({ saved: true });
  expect(await call(viewer, 'svc_tmp_dropboxGet', { name: 'n' })).toMatchObject({ content: 'b', by: 'bob' });
  expect(await call(viewer, 'svc_tmp_dropboxClear')).toMatchObject({ count: 1 });
  expect(await call(admin, 'svc_tmp_dropboxClear')).toMatchObject({ count: 1 });
});

test('names are those of files, and one that passes for another is not put beside it', async () => {
  const tools = ['svc_tmp_dropboxPut', 'svc_brain_drop_file', 'svc_tmp_myStuffPut', 'svc_brain_my_drop'];
  for (const tool of [...tools, 'svc_tmp_yourStuffPut', 'svc_tmp_put']) {
    const more = { content: 'x', ...(tool === 'svc_tmp_put' ? { space: 'my' } : {}) };
    for (const name of ['../x', 'a/b', '.git', 'CON', 'x.', '', 'a'.repeat(101)])
      expect(await call(ada, tool, { name, ...more }), `${tool} ${name}`).toMatchObject({ code: 'VAF_PATH_BLOCKED' });
    await call(ada, tool, { name: 'Straße.txt', ...more });
    expect(await call(ada, tool, { name: 'STRASSE.TXT', ...more }), tool).toMatchObject({ code: 'VAF_PATH_BLOCKED' });
  }
  for (const space of ['dropbox', 'yourStuff', 'myStuff']) {
    for (const act of ['Get', 'Delete'])
      expect(await call(ada, `svc_tmp_${space}${act}`, { name: 'a/b' })).toMatchObject({ code: 'VAF_PATH_BLOCKED' });
  }
  for (const tool of ['svc_brain_get_file', 'svc_brain_delete_file', 'svc_brain_my_get'])
    expect(await call(ada, tool, { name: 'a/b' })).toMatchObject({ code: 'VAF_PATH_BLOCKED' });
  expect(await call(ada, 'svc_tmp_get', { space: 'my', name: '..' })).toMatchObject({ code: 'VAF_PATH_BLOCKED' });
  const long = 'ﷺ'.repeat(66);
  expect(await call(ada, 'svc_tmp_dropboxPut', { name: long, content: 'x' })).toMatchObject({ saved: true });
});

/** As if that time had passed. */
async function passMs(ms: number): Promise<void> {
  for (const table of ['tmp_files', 'tmp_cache'])
    await poolClient(database.pool).$executeRawUnsafe(
      `UPDATE brain.${table} SET expires_at = expires_at - interval '${ms} ms'`,
    );
}

test('time: there until its time is up, and no longer, also over a restart', async () => {
  const before = Date.now();
  const put = await call(ada, 'svc_tmp_dropboxPut', { name: 'n', content: 'x', ttl: 60_000 });
  const { expiresAt } = await call(ada, 'svc_tmp_cacheSet', { key: 'k', value: false, ttl: 60_000 });
  for (const at of [put['expiresAt'], expiresAt]) expect(Math.abs(Number(at) - before - 60_000)).toBeLessThan(30_000);
  await passMs(30_000);
  await stop();
  await start();
  expect(await call(ada, 'svc_tmp_dropboxGet', { name: 'n' })).toMatchObject({ content: 'x' });
  expect(await call(ada, 'svc_tmp_cacheGet', { key: 'k' })).toMatchObject({ found: true, value: false });
  expect(await call(ada, 'svc_tmp_list')).toMatchObject({ spaces: [{ space: 'dropbox', files: 1, bytes: 1 }, {}, {}] });
  await passMs(30_000);
  expect(await call(ada, 'svc_tmp_dropboxGet', { name: 'n' })).toMatchObject({ code: 'E_TMP_ABSENT' });
  expect(await call(ada, 'svc_tmp_cacheGet', { key: 'k' })).toMatchObject({ found: false, value: null });
  expect(await call(ada, 'svc_tmp_list')).toMatchObject({ spaces: [{ files: 0, bytes: 0 }, {}, {}] });
  expect(await call(viewer, 'svc_tmp_dropboxPut', { name: 'N', content: 'nothing in the way' })).toMatchObject({
    saved: true,
  });
  const client = poolClient(database.pool);
  await call(ada, 'svc_tmp_dropboxPut', { name: 'stays', content: 'x', ttl: 1000 });
  await client.$executeRawUnsafe(`UPDATE brain.tmp_files SET expires_at = now() + interval '1 minute'`);
  await sweepTmp(client);
  expect(await client.$queryRawUnsafe('SELECT name FROM brain.tmp_files')).toContainEqual({ name: 'stays' });
  await client.$executeRawUnsafe(`UPDATE brain.tmp_files SET expires_at = now() WHERE name = 'stays'`);
  await sweepTmp(client);
  expect(await client.$queryRawUnsafe('SELECT name FROM brain.tmp_files')).toEqual([{ name: 'N' }]);
});

const ROOM_OF = {
  svc_tmp_dropboxPut: { space: 'dropbox', owner: '' },
  svc_brain_drop_file: { space: 'dropbox', owner: '' },
  svc_tmp_myStuffPut: { space: 'myStuff', owner: 'ada' },
  svc_brain_my_drop: { space: 'myStuff', owner: 'ada' },
  svc_tmp_yourStuffPut: { space: 'yourStuff', owner: '' },
  svc_tmp_put: { space: 'dropbox', owner: '' },
};

async function fill(space: string, owner: string, count: number, family: string, bytes = 1): Promise<void> {
  const expires = Date.now() + 60_000;
  await poolClient(database.pool).$executeRawUnsafe(
    `INSERT INTO brain.tmp_files (workspace, space, owner, slot, name, content, bytes, hash, "by", family, at, expires_at)
     SELECT 'acme', $1, $2, $4 || n, $4 || n, 'x', $5::int, 'h', 'ada', $4, now(), to_timestamp($6::float8 / 1000)
     FROM generate_series(1, $3::int) n`,
    space,
    owner,
    count,
    family,
    bytes,
    expires,
  );
}

test.each(Object.entries(ROOM_OF))(
  '%s: of many who are too many at once exactly as many go in as fit',
  async (tool, at) => {
    await fill(at.space, at.owner, 995, 'filler');
    const one = (n: number) =>
      call(ada, tool, { name: `n${n}`, content: 'x', ...(tool === 'svc_tmp_put' ? { space: 'dropbox' } : {}) });
    const answers = await Promise.all(Array.from({ length: 12 }, (_, n) => one(n)));
    expect(answers.filter(({ saved }) => saved === true)).toHaveLength(5);
    expect(answers.filter(({ code }) => code === 'E_QUOTA')).toHaveLength(7);
    const held = answers.findIndex(({ saved }) => saved === true);
    expect(await one(held), 'what is there may be replaced').toMatchObject({ saved: true });
    const counted = await poolClient(database.pool).$queryRawUnsafe('SELECT count(*)::int AS n FROM brain.tmp_files');
    expect(counted).toEqual([{ n: 1000 }]);
  },
);

test('bytes are counted too, and what spawning could multiply is counted for the whole family', async () => {
  await fill('myStuff', 'ada', 63, 'filler', 1024 * 1024);
  const big = 'x'.repeat(1024 * 1024);
  expect(await call(ada, 'svc_tmp_myStuffPut', { name: 'last', content: big })).toMatchObject({ saved: true });
  expect(await call(ada, 'svc_tmp_myStuffPut', { name: 'more', content: 'x' })).toMatchObject({ code: 'E_QUOTA' });
  for (const owner of ['s1', 's2', 's3', 's4']) await fill('myStuff', owner, 999, 'tree');
  const children = ['c1', 'c2', 'c3', 'c4', 'c5', 'c6'].map((name) => agent(name, 'editor', 'acme', 'tree'));
  const answers = await Promise.all(
    children.map((child) => call(child, 'svc_tmp_myStuffPut', { name: 'n', content: '' })),
  );
  expect(answers.filter(({ saved }) => saved === true)).toHaveLength(4);
  expect(answers.filter(({ code, of }) => code === 'E_QUOTA' && of === 'family')).toHaveLength(2);
  expect(await call(bob, 'svc_tmp_myStuffPut', { name: 'n', content: '' })).toMatchObject({ saved: true });
});

test('a keyed put takes effect once, and two of one name leave one of the contents whole', async () => {
  const args = { name: 'n', content: 'first' };
  const first = await call(ada, 'svc_tmp_dropboxPut', args, 'key-1');
  expect(await call(ada, 'svc_tmp_dropboxPut', args, 'key-1')).toEqual({ ...first, replayed: true });
  const reused = await call(ada, 'svc_tmp_dropboxPut', { ...args, content: 'other' }, 'key-1');
  expect(reused).toMatchObject({ code: 'IDEMPOTENCY_KEY_REUSED' });
  const texts = ['a'.repeat(500_000), 'b'.repeat(500_000)];
  await Promise.all(texts.map((content) => call(ada, 'svc_tmp_dropboxPut', { name: 'both', content })));
  expect(texts).toContain((await call(ada, 'svc_tmp_dropboxGet', { name: 'both' }))['content']);
});

test('lists go on where the page before ended, whatever is put meanwhile', async () => {
  for (const name of ['b', 'd', 'a', 'c']) await call(ada, 'svc_tmp_dropboxPut', { name, content: name });
  const first = await call(bob, 'svc_tmp_dropboxList', { limit: 2 });
  expect(first).toMatchObject({ files: [{ name: 'a' }, { name: 'b' }] });
  await call(ada, 'svc_tmp_dropboxPut', { name: 'aa', content: '' });
  const second = await call(bob, 'svc_tmp_dropboxList', { limit: 2, cursor: first['nextCursor'] });
  expect(second).toMatchObject({ files: [{ name: 'c' }, { name: 'd' }] });
  expect(second['nextCursor']).toBeUndefined();
  const astray = await call(bob, 'svc_tmp_list', { space: 'dropbox', cursor: 'nonsense' });
  expect(astray).toMatchObject({ code: 'VAF_INPUT_INVALID' });
});

test('the cache keeps any JSON as it was, and replaces for who may write', async () => {
  const values = [false, 0, '', null, { z: [1, '\u0000', '\ud800'], a: {} }];
  for (const value of values) {
    await call(ada, 'svc_tmp_cacheSet', { key: 'k', value });
    expect(await call(bob, 'svc_tmp_cacheGet', { key: 'k' })).toMatchObject({ found: true, value });
  }
  expect(await call(viewer, 'svc_tmp_cacheSet', { key: 'k', value: 1 })).toMatchObject({ code: 'FORBIDDEN' });
  expect(await call(stranger, 'svc_tmp_cacheGet', { key: 'k' })).toMatchObject({ found: false, value: null });
  expect(await call(ada, 'svc_tmp_cacheSet', { key: 'k' })).toMatchObject({ code: 'VAF_INPUT_INVALID' });
  const large = { key: 'k', value: 'x'.repeat(256 * 1024) };
  expect(await call(ada, 'svc_tmp_cacheSet', large)).toMatchObject({ code: 'VAF_INPUT_INVALID' });
  expect(await call(viewer, 'svc_tmp_cacheClear')).toMatchObject({ code: 'FORBIDDEN' });
  expect(await call(bob, 'svc_tmp_cacheClear')).toMatchObject({ cleared: true, count: 1 });
});

test('a full cache gives up what is soonest to expire, first of whoever crowds it', async () => {
  const cache = (family: string, count: number, soonestMs: number) =>
    poolClient(database.pool).$executeRawUnsafe(
      `INSERT INTO brain.tmp_cache (workspace, key, value, bytes, "by", family, expires_at)
       SELECT 'acme', $1 || n, '1', 1, $1, $1, to_timestamp(($3::float8 + n) / 1000) FROM generate_series(1, $2::int) n`,
      family,
      count,
      Date.now() + soonestMs,
    );
  await cache('others', 4000, 60_000);
  await cache('crowd', 6000, 600_000);
  await call(ada, 'svc_tmp_cacheSet', { key: 'new', value: 1, ttl: 30_000 });
  expect(await call(ada, 'svc_tmp_cacheGet', { key: 'new' })).toMatchObject({ found: true });
  expect(await call(ada, 'svc_tmp_cacheGet', { key: 'others1' })).toMatchObject({ found: true });
  expect(await call(ada, 'svc_tmp_cacheGet', { key: 'crowd1' })).toMatchObject({ found: false });
  expect(await call(ada, 'svc_tmp_cacheGet', { key: 'crowd2' })).toMatchObject({ found: true });
});

test('the stash keeps the newest twenty, and clearing takes it alone', async () => {
  await call(ada, 'svc_tmp_dropboxPut', { name: 'n', content: 'x' });
  expect(await call(ada, 'svc_brain_your_stuff')).toMatchObject({ stash: null, empty: true, id: null, history: [] });
  for (let n = 1; n <= 21; n += 1) {
    await passMs(30_000);
    await call(n === 21 ? bob : ada, 'svc_brain_stash', { data: { n } });
  }
  const shown = await call(cleo, 'svc_brain_your_stuff');
  expect(shown).toMatchObject({ stash: { n: 21 }, empty: false, by: 'bob' });
  expect(shown['history']).toHaveLength(20);
  expect(await call(stranger, 'svc_brain_your_stuff')).toMatchObject({ empty: true });
  expect(await call(bob, 'svc_brain_clear')).toMatchObject({ cleared: true, count: 1 });
  expect(await call(cleo, 'svc_brain_your_stuff')).toMatchObject({ stash: { n: 20 } });
  expect(await call(admin, 'svc_brain_clear')).toMatchObject({ count: 19 });
  expect(await call(ada, 'svc_tmp_dropboxGet', { name: 'n' })).toMatchObject({ content: 'x' });
});

test('there are no handlers, and the answers say why', async () => {
  expect(await call(ada, 'svc_brain_handlers')).toMatchObject({ handlers: [], count: 0, reason: expect.any(String) });
  expect(await call(ada, 'svc_brain_clear_handlers')).toMatchObject({ cleared: 0, reason: expect.any(String) });
});

test('who is nobody uses none of it, and an operator only looks into workspaces that there are', async () => {
  const nobody: Subject = { workspace: 'acme' };
  expect(await call(nobody, 'svc_tmp_dropboxPut', { name: 'n', content: 'x' })).toMatchObject({ code: 'UNAUTHORIZED' });
  expect(await call(nobody, 'svc_tmp_cacheGet', { key: 'k' })).toMatchObject({ code: 'UNAUTHORIZED' });
  const astray: Subject = { agentId: 'ada', workspace: 'nowhere', unknownWorkspace: true };
  expect(await call(astray, 'svc_tmp_dropboxList')).toMatchObject({ code: 'VAF_INPUT_INVALID' });
  expect(await call(null, 'svc_tmp_dropboxPut', { name: 'n', content: 'x' })).toMatchObject({ saved: true });
});
