/** Calls under keys that two processes group into transactions on one PostgreSQL: each key takes effect once. */
import type { Database } from '@svc/runtime/database.ts';
import { onPostgres } from '@svc/testing/servers/on-postgres.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openQueueBed, type QueueBed } from '../../testing/queue-bed.ts';

const KEYS = 40;
const TIMES = 4;

await onPostgres((open) => {
  const databases: Database[] = [];
  const beds: QueueBed[] = [];

  beforeAll(async () => {
    for (let process = 0; process < 2; process += 1) {
      const database = await open();
      databases.push(database);
      beds.push(await openQueueBed(database));
    }
  });
  afterAll(async () => {
    for (const bed of beds) await bed.close();
    for (const database of databases) await database.close();
  });

  const bedOf = (turn: number): QueueBed => {
    const bed = beds[turn % beds.length];
    if (bed === undefined) throw new Error('no process has started');
    return bed;
  };
  const query = async (sql: string) => (await databases[0]?.pool.query<{ n: number }>(sql))?.rows[0]?.n;
  const held = async (stream: string) =>
    query(
      `SELECT count(*)::int AS n FROM universe.work JOIN universe.streams USING (stream_id) WHERE name = '${stream}'`,
    );

  test('a call that is repeated at once, in one process or in two, has one effect and one answer', async () => {
    const calls = Array.from({ length: KEYS * TIMES }, (_, turn) => ({ turn, key: `k${(turn * 7) % KEYS}` }));
    const outcomes = await Promise.all(
      calls.map(async ({ turn, key }) => ({ key, ...(await bedOf(turn % 3).putOnce('repeated', { key }, key)) })),
    );
    expect(await held('repeated')).toBe(KEYS);
    expect(outcomes.filter(({ replayed }) => !replayed)).toHaveLength(KEYS);
    const answers = new Map(outcomes.map(({ key, decision }) => [key, JSON.stringify(decision)]));
    for (const { key, decision } of outcomes) expect(JSON.stringify(decision)).toBe(answers.get(key));
    const late = await bedOf(1).putOnce('repeated', { key: 'k0' }, 'k0');
    expect([late.replayed, JSON.stringify(late.decision)]).toEqual([true, answers.get('k0')]);
  });

  test('a key with other arguments is refused alone, with those before it and beside it unaffected', async () => {
    const bed = bedOf(0);
    const sent = await Promise.allSettled([
      bed.putOnce('reused', 1, 'r1'),
      bed.putOnce('reused', 2, 'r1', { argsHash: 'other' }),
      bed.putOnce('reused', 3, 'r2'),
    ]);
    expect(sent).toMatchObject([
      { value: { replayed: false, decision: { ok: true, value: { seq: 1 } } } },
      { reason: { code: 'IDEMPOTENCY_KEY_REUSED' } },
      { value: { replayed: false, decision: { ok: true, value: { seq: 2 } } } },
    ]);
    await expect(bedOf(1).putOnce('reused', 3, 'r2', { argsHash: 'other' })).rejects.toMatchObject({
      code: 'IDEMPOTENCY_KEY_REUSED',
    });
  });

  test('a crowd of calls under keys at one queue leaves connections to those who want another one', async () => {
    const bed = bedOf(0);
    await bed.put('busy', 0);
    const holder = await databases[1]?.pool.connect();
    if (holder === undefined) throw new Error('no second process');
    await holder.query('BEGIN');
    await holder.query(`SELECT 1 FROM universe.streams WHERE name = 'busy' FOR UPDATE`);
    const crowd = Array.from({ length: 100 }, (_, turn) => bed.putOnce('busy', turn, `busy${turn}`));
    await bed.put('quiet', 1);
    await expect.poll(() => held('quiet')).toBe(1);
    await holder.query('COMMIT');
    holder.release();
    expect((await Promise.all(crowd)).every(({ decision }) => decision.ok)).toBe(true);
    expect(await held('busy')).toBe(101);
  });
});
