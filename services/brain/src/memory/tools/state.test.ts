import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Subject } from '@svc/contract/subject.ts';
import { poolClient } from '@svc/runtime/transaction.ts';
import { type BrainNode, type BrainTestBed, openBrainTestBed, testCaller } from '../../../testing/brain-test-bed.ts';

let bed: BrainTestBed;
let node: BrainNode;
/** What ends goes by the clock of the database: that of this process is ahead. */
const clock = { now: () => Date.now() + 7_200_000 };
const LATER = { deadlineAt: Number.MAX_SAFE_INTEGER };

beforeEach(async () => {
  bed = await openBrainTestBed();
  node = await bed.start({}, { clock });
});
afterEach(async () => {
  await node.stop();
  await bed[Symbol.asyncDispose]();
});

const ANN: Subject = { workspace: 'acme', userId: 'ann', agentId: 'ann', roles: ['viewer'], verified: true };
const EVE: Subject = { workspace: 'beta', userId: 'eve', agentId: 'eve', roles: ['admin'], verified: true };
const as = (subject: Subject | null) => {
  const caller = testCaller(() => node, subject);
  return {
    state: (args: object) => caller.ok('svc_memory_state', { ...args }, LATER),
    recall: (args: object) => caller.ok('svc_memory_recall', { ...args }, LATER),
  };
};
const operator = as(null);

async function rows(): Promise<{ key: string }[]> {
  return poolClient(bed.database.pool).$queryRawUnsafe('SELECT key FROM brain.brain_memory ORDER BY key');
}

it('keeps what a workspace stores apart from what all share, and tells the key as it is stored to nobody', async () => {
  const ann = as(ANN);
  expect(await ann.state({ key: 'k', value: 0 })).toEqual({
    stored: true,
    success: true,
    key: 'k',
    workspace: 'acme',
    version: 1,
    ttl: null,
    expiresAt: null,
  });
  expect(await rows()).toEqual([{ key: 'ws4.acme.k' }]);
  expect(await ann.recall({ key: 'k' })).toMatchObject({ found: true, value: 0, workspace: 'acme', version: 1 });
  for (const workspace of ['', null])
    expect(await ann.recall({ key: 'k', workspace })).toMatchObject({ found: false, workspace: null, value: null });
  expect(await ann.recall({ key: 'k', userCtx: { workspace: 'other' } })).toMatchObject({ value: 0 });
  expect(await operator.recall({ key: 'k' })).toMatchObject({ found: false, workspace: null });
  expect(await operator.recall({ key: 'k', workspace: 'acme' })).toMatchObject({ found: true });
  expect(await operator.recall({ key: 'k', userCtx: { workspace: 'acme' } })).toMatchObject({ found: true });
});

it('stores at once for all and for a workspace that bears the word for none, each in its own place', async () => {
  const ofNull = as({ ...ANN, workspace: 'null' });
  const stored = [operator, ofNull, operator, ofNull].map((who, number) =>
    who.state({ key: `k${number}`, value: number }),
  );
  await Promise.all(stored);
  const sql = 'SELECT key, workspace FROM brain.brain_memory ORDER BY key';
  expect(await poolClient(bed.database.pool).$queryRawUnsafe(sql)).toEqual([
    { key: 'k0', workspace: '' },
    { key: 'k2', workspace: '' },
    { key: 'ws4.null.k1', workspace: 'null' },
    { key: 'ws4.null.k3', workspace: 'null' },
  ]);
});

it('lets nobody into a workspace in which it has no role', async () => {
  await as(ANN).state({ key: 'k', value: 'secret' });
  bed.registry.grant('eve', 'beta', 'admin');
  await expect(as(EVE).recall({ key: 'k', workspace: 'acme' })).rejects.toThrow('RLS_DENIED');
  await expect(as(EVE).state({ key: 'k', value: 1, workspace: 'acme' })).rejects.toThrow('RLS_DENIED');
  await expect(as({}).recall({ key: 'k', workspace: 'acme' })).rejects.toThrow('RLS_DENIED');
  await expect(as({}).state({ key: 'k', value: 1 })).rejects.toThrow('UNAUTHORIZED');
  const unknown: Subject = { workspace: 'nowhere', userId: 'x', unknownWorkspace: true };
  await expect(as(unknown).recall({ key: 'k' })).rejects.toThrow('RLS_DENIED');
  expect(await as({ workspace: 'acme' }).recall({ key: 'k' })).toMatchObject({ found: false, workspace: null });
});

it.each([
  ['a key that does not fit behind its workspace', { key: 'k'.repeat(40), workspace: 'w'.repeat(64), value: 1 }],
  ['a key that poses as that of a workspace', { key: 'ws4.acme.k', value: 1 }],
  ['no value', { key: 'k' }],
  ['a value that is too long', { key: 'k', value: 'x'.repeat(64 * 1024 - 1) }],
  ['a lone surrogate', { key: 'k', value: { a: ['\ud800'] } }],
  ['a time that is none', { key: 'k', value: 1, ttl: 0 }],
  ['a time beyond ten years', { key: 'k', value: 1, ttl: 315_360_000_001 }],
])('refuses %s and changes nothing', async (_what, args) => {
  await as(ANN).state({ key: 'k', value: 'first' });
  await expect(operator.state(args)).rejects.toThrow('VAF_INPUT_INVALID');
  expect(await rows()).toEqual([{ key: 'ws4.acme.k' }]);
});

it.each([[false], [0], [''], [null], [{ __proto__: null, a: [1, { b: '\u0000' }] }], ['x'.repeat(64 * 1024 - 2)]])(
  'gives %j back as it was',
  async (value) => {
    await operator.state({ key: 'k', value });
    expect(await operator.recall({ key: 'k' })).toMatchObject({ found: true, value });
  },
);

/** As if that time had passed. */
async function passMs(ms: number): Promise<void> {
  const sql = `UPDATE brain.brain_memory SET expires_at = expires_at - interval '${ms} ms'`;
  await poolClient(bed.database.pool).$executeRawUnsafe(sql);
}

it('ends a value at its time, and counts versions anew then', async () => {
  const { ttl, expiresAt } = await operator.state({ key: 'k', value: 1, ttl: 60_000 });
  expect(ttl).toBe(60_000);
  expect(Math.abs(Number(expiresAt) - Date.now() - 60_000)).toBeLessThan(30_000);
  await passMs(30_000);
  expect(await operator.recall({ key: 'k' })).toMatchObject({ found: true, expiresAt: Number(expiresAt) - 30_000 });
  await passMs(30_000);
  expect(await operator.recall({ key: 'k' })).toMatchObject({ found: false, version: null });
  expect(await operator.state({ key: 'k', value: 2, ifVersion: 0 })).toMatchObject({ version: 1 });
});

it('lets one of fifty writers in who all expect the same version', async () => {
  for (let version = 1; version <= 3; version += 1) await operator.state({ key: 'k', value: version });
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, value) => operator.state({ key: 'k', value: `w${value}`, ifVersion: 3 })),
  );
  expect(answers.filter(({ stored }) => stored)).toMatchObject([{ version: 4 }]);
  const lost = answers.filter(({ stored }) => !stored);
  expect(lost).toHaveLength(49);
  for (const answer of lost) expect(answer).toMatchObject({ code: 'E_CONFLICT', version: 4 });
});

it('makes one row of twins, and each key once', async () => {
  const answers = await Promise.all(Array.from({ length: 20 }, (_, value) => operator.state({ key: 'k', value })));
  expect(answers.map(({ version }) => version).sort((a, b) => Number(a) - Number(b))).toEqual(
    Array.from({ length: 20 }, (_, index) => index + 1),
  );
  const [usage] = await poolClient(bed.database.pool).$queryRawUnsafe<{ items: bigint }[]>(
    "SELECT items FROM brain.brain_usage WHERE kind = 'memory'",
  );
  expect(usage?.items).toBe(1n);
});

it('takes as many keys as there is room for, and no more; what is past its time makes room', async () => {
  const client = poolClient(bed.database.pool);
  await client.$executeRawUnsafe(
    `INSERT INTO brain.brain_memory (key, workspace, value, version, expires_at, by, at)
     SELECT 'old-' || n, '', '1', 1, CASE WHEN n > 9980 THEN to_timestamp($1::double precision / 1000) END, 'x', now()
     FROM generate_series(1, 9990) n`,
    Date.now() + 60_000,
  );
  await client.$executeRawUnsafe("INSERT INTO brain.brain_usage VALUES ('memory', '', 9990, 0)");
  const many = (prefix: string) =>
    Promise.all(Array.from({ length: 20 }, (_, index) => operator.state({ key: `${prefix}${index}`, value: index })));
  const first = await many('a');
  expect(first.filter(({ stored }) => stored)).toHaveLength(10);
  expect(first.find(({ stored }) => !stored)).toMatchObject({ code: 'E_QUOTA', limit: 10_000 });
  expect(await operator.state({ key: 'old-1', value: 'over' })).toMatchObject({ stored: true, version: 2 });
  await passMs(120_000);
  const second = await many('b');
  expect(second.filter(({ stored }) => stored)).toHaveLength(10);
  const kept = await client.$queryRawUnsafe<{ n: number }[]>('SELECT count(*)::int AS n FROM brain.brain_memory');
  expect(kept).toEqual([{ n: 10_000 }]);
});

it('judges each of many on what those before it left, whatever else is asked at once', async () => {
  await operator.state({ key: 'kept', value: 0 });
  const asked = [
    { key: 'kept', value: 'a', ifVersion: 1 },
    { key: 'new', value: 'b', ifVersion: 0 },
    { key: 'kept', value: 'c', ifVersion: 1 },
    { key: 'new', value: 'd', ttl: 60_000 },
    { key: 'absent', value: 'e', ifVersion: 7 },
    { key: 'kept', value: 'f', ifVersion: 2 },
  ];
  const answers = await Promise.all(asked.map((wish) => operator.state(wish)));
  expect(answers).toMatchObject([
    { version: 2 },
    { version: 1 },
    { code: 'E_CONFLICT', version: 2 },
    { version: 2, expiresAt: expect.any(Number) as number },
    { code: 'E_CONFLICT', version: 0 },
    { version: 3 },
  ]);
  expect(await operator.recall({ key: 'kept' })).toMatchObject({ value: 'f', version: 3, expiresAt: null });
  expect(await operator.recall({ key: 'new' })).toMatchObject({ value: 'd', version: 2 });
  expect(await rows()).toEqual([{ key: 'kept' }, { key: 'new' }]);
});

it('writes what was past its time anew, also where its going makes room for others', async () => {
  const client = poolClient(bed.database.pool);
  await client.$executeRawUnsafe(
    `INSERT INTO brain.brain_memory (key, workspace, value, version, expires_at, by, at)
     SELECT 'old-' || n, '', '1', 7, CASE WHEN n <= 2 THEN to_timestamp($1::double precision / 1000) END, 'x', now()
     FROM generate_series(1, 10000) n`,
    Date.now() - 60_000,
  );
  await client.$executeRawUnsafe("INSERT INTO brain.brain_usage VALUES ('memory', '', 10000, 0)");
  const answers = await Promise.all(['new-1', 'old-1', 'new-2'].map((key) => operator.state({ key, value: key })));
  expect(answers).toMatchObject([{ version: 1 }, { version: 1 }, { code: 'E_QUOTA' }]);
  expect(await operator.recall({ key: 'old-1' })).toMatchObject({ value: 'old-1', version: 1 });
  expect(await operator.recall({ key: 'new-2' })).toMatchObject({ found: false });
  expect((await rows()).length).toBe(10_000);
});

it('does what nobody sends again after a short standstill, and leaves to others what was sent to them', async () => {
  const stoodStill = (repeatable: boolean) => (repeatable ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY);
  node.bus.sinceGivenUpMs = stoodStill;
  const caller = testCaller(() => node, null);
  const keyed = caller.ok('svc_memory_state', { key: 'sent on', value: 1 }, { ...LATER, idempotencyKey: 'again' });
  const [once, again] = await Promise.allSettled([operator.state({ key: 'once', value: 1 }), keyed]);
  expect(once).toMatchObject({ status: 'fulfilled', value: { version: 1 } });
  expect(again).toMatchObject({ status: 'rejected', reason: { message: 'SERVICE_UNAVAILABLE' } });
});

it('stores once under a key of the call', async () => {
  const caller = testCaller(() => node, null);
  const scope = { ...LATER, idempotencyKey: 'once' };
  const first = await caller.ok('svc_memory_state', { key: 'k', value: 1 }, scope);
  expect(await caller.ok('svc_memory_state', { key: 'k', value: 1 }, scope)).toEqual(first);
  expect(await operator.recall({ key: 'k' })).toMatchObject({ version: 1 });
});
