/** Runs under keys, in two processes on one database: each is made once, and whoever repeats its call has its outcome. */
import { join } from 'node:path';
import { allow } from '@svc/contract/decision.ts';
import { UNIVERSE_EVENTS } from '@svc/contract/events.universe.ts';
import { idempotencyId } from '@svc/runtime/idempotency.ts';
import { openStore } from '@svc/runtime/store.ts';
import { migratedDatabase } from '@svc/testing/database.ts';
import { platformOn } from '@svc/testing/service-bed.ts';
import { afterAll, expect, test } from 'vitest';
import { createKeyedRuns } from './keyed-runs.ts';

const database = await migratedDatabase();
const platform = platformOn(database);
const store = await openStore(platform, {
  service: 'universe',
  events: UNIVERSE_EVENTS,
  migrations: join(import.meta.dirname, '..', 'prisma', 'migrations'),
});
const [one, other] = [createKeyedRuns(store, platform), createKeyedRuns(store, platform)];
afterAll(() => database.close());

const keyed = (key: string, { argsHash = 'same', withinMs = 60_000 } = {}) => ({
  caller: { subject: {}, operator: true, deadlineAt: Date.now() + withinMs },
  idempotency: { principal: 'ann', tool: 'compute_eval', key, argsHash },
});
let made = 0;
/** Comes to its end when `until` does. */
const runOf = (call: ReturnType<typeof keyed>, until: Promise<unknown>) => async () => {
  made += 1;
  const no = made;
  await until;
  return store.change<number>(call, async () => allow(no));
};
const silence = (key: string, seconds: number) =>
  store.client.$executeRawUnsafe(
    `UPDATE universe.keyed_runs SET seen_at = clock_timestamp() - $2::int * interval '1 second' WHERE open_key LIKE $1`,
    `%"${key}"]`,
    seconds,
  );

test('a call that is repeated while its run is under way, and later, has the outcome of that run', async () => {
  const ended = Promise.withResolvers<void>();
  const call = keyed('twins');
  const first = one.once(call, runOf(call, ended.promise));
  await expect.poll(() => made).toBe(1);
  const twins = [one, other].map((runs) => runs.once(call, runOf(call, ended.promise)));
  await expect(other.once(keyed('twins', { withinMs: 150 }), runOf(call, ended.promise))).rejects.toMatchObject({
    code: 'E_OUTCOME_UNKNOWN',
  });
  await expect(other.once(keyed('twins', { argsHash: 'other' }), runOf(call, ended.promise))).rejects.toMatchObject({
    code: 'IDEMPOTENCY_KEY_REUSED',
  });
  ended.resolve();
  expect(await first).toMatchObject({ replayed: false, decision: { value: 1 } });
  for (const twin of twins) expect(await twin).toMatchObject({ replayed: true, decision: { value: 1 } });
  expect(await other.once(call, runOf(call, ended.promise))).toMatchObject({ replayed: true, decision: { value: 1 } });
  await expect(one.once(keyed('twins', { argsHash: 'other' }), runOf(call, ended.promise))).rejects.toMatchObject({
    code: 'IDEMPOTENCY_KEY_REUSED',
  });
  expect(made).toBe(1);
});

test('what throws is no outcome: it may be tried again at once', async () => {
  const call = keyed('throws');
  await expect(one.once(call, () => Promise.reject(new Error('no place')))).rejects.toThrow('no place');
  expect(await other.once(call, runOf(call, Promise.resolve()))).toMatchObject({ replayed: false });
});

/** Of a process that does not reach the database any more, nor notices it. */
const cutOff = { ...store, client: { ...store.client, $executeRawUnsafe: () => Promise.reject(new Error('away')) } };

test('a run whose process is gone is made again, and what that process would still say is not its outcome', async () => {
  const before = made;
  const ended = Promise.withResolvers<void>();
  const call = keyed('gone');
  const stalled = createKeyedRuns(cutOff, platform).once(call, runOf(call, ended.promise));
  await expect.poll(() => made).toBe(before + 1);
  await silence('gone', 6);
  expect(await other.once(call, runOf(call, Promise.resolve()))).toMatchObject({ decision: { value: before + 2 } });
  ended.resolve();
  expect(await stalled).toMatchObject({ replayed: true, decision: { value: before + 2 } });
});

test('a run goes on whose sign of life is old because the database was away: whoever repeats its call waits for its next', async () => {
  const before = made;
  const ended = Promise.withResolvers<void>();
  const call = keyed('database away');
  const first = one.once(call, runOf(call, ended.promise));
  await expect.poll(() => made).toBe(before + 1);
  await silence('database away', 20);
  const twins = [one, other].map((runs) => runs.once(call, runOf(call, ended.promise)));
  await expect(
    other.once(keyed('database away', { withinMs: 2500 }), runOf(call, ended.promise)),
  ).rejects.toMatchObject({ code: 'E_OUTCOME_UNKNOWN' });
  ended.resolve();
  for (const run of [first, ...twins]) expect(await run).toMatchObject({ decision: { value: before + 1 } });
  expect(made).toBe(before + 1);
});

test('one whose process died before the clock was set back is made again in seconds, and one that goes on is not', async () => {
  const ended = Promise.withResolvers<void>();
  const [gone, goesOn] = [keyed('ahead', { withinMs: 20_000 }), keyed('at it')];
  const before = made + 1;
  const first = one.once(goesOn, runOf(goesOn, ended.promise));
  await expect.poll(() => made).toBe(before);
  await store.client.$executeRawUnsafe(
    `INSERT INTO universe.keyed_runs VALUES ($1, 'run_dead', 'same', clock_timestamp())`,
    idempotencyId(gone.idempotency),
  );
  for (const key of ['ahead', 'at it']) await silence(key, -3600);
  const again = other.once(goesOn, runOf(goesOn, ended.promise));
  expect(await other.once(gone, runOf(gone, Promise.resolve()))).toMatchObject({ decision: { value: before + 1 } });
  ended.resolve();
  expect(await again).toMatchObject({ decision: (await first).decision });
  expect(made).toBe(before + 1);
}, 30_000);

test('a run that goes on is seen to, however long it takes; nothing of it is left when it is over', async () => {
  const ended = Promise.withResolvers<void>();
  const call = keyed('long');
  const long = one.once(call, runOf(call, ended.promise));
  const seenMs = async () => {
    const rows = await store.client.$queryRawUnsafe<{ ms: number }[]>(
      `SELECT (extract(epoch FROM clock_timestamp() - seen_at) * 1000)::float8 AS ms FROM universe.keyed_runs`,
    );
    return rows.map(({ ms }) => ms);
  };
  await expect.poll(seenMs).toHaveLength(1);
  await silence('long', 4);
  await expect.poll(async () => (await seenMs())[0]).toBeLessThan(3000);
  ended.resolve();
  await long;
  expect(await seenMs()).toEqual([]);
  await store.client.$executeRawUnsafe(
    `INSERT INTO universe.keyed_runs VALUES ('left', 'run_1', 'x', clock_timestamp() - interval '2 hours')`,
  );
  await one.sweep();
  expect(await seenMs()).toEqual([]);
});
