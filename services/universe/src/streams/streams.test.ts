/** Queues on the real database: each item goes to one holder at a time, is offered again, and is kept when it is over. */
import { poolClient } from '@svc/runtime/transaction.ts';
import { migratedDatabase } from '@svc/testing/database.ts';
import { callTool, type Fields } from '@svc/testing/service-bed.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openUniverseBed, type UniverseBed } from '../../testing/universe-bed.ts';
import { MOST_QUEUES } from './domain/stream.ts';
import { expired } from './expiry.ts';
import { sweepEmpty } from './inbox-rows.ts';
import { sweepExcess, sweepWork } from './work-rows.ts';

const database = await migratedDatabase();
const client = poolClient(database.pool);
const sql = (text: string, ...values: unknown[]) => client.$executeRawUnsafe(text, ...values);
let bed: UniverseBed;

beforeAll(async () => {
  bed = await openUniverseBed(database);
  for (const worker of ['w1', 'w2']) await bed.enrol(worker, 'editor');
  await bed.enrol('reader', 'viewer');
});
afterAll(async () => {
  await bed.stop();
  await database.close();
});

const put = (stream: string, task: unknown, more: Fields = {}) => bed.call('stream_enqueue', { stream, task, ...more });
const poll = async (stream: string, agent?: string, more: Fields = {}) =>
  (await bed.call('stream_poll', { stream, ...more }, agent)) as {
    work: { id: string; task: unknown; attempts: number } | null;
    leaseToken: string;
    retryAfterMs?: number;
  };
const taken = async (stream: string, agent?: string) => {
  const { work, leaseToken } = await poll(stream, agent);
  if (work === null) throw new Error(`nothing in ${stream}`);
  return { ...work, leaseToken };
};
const expireLeases = (stream: string) =>
  sql(
    `UPDATE universe.work SET lease_expires_at = now() - interval '1 second'
     WHERE status = 'working' AND stream_id = (SELECT stream_id FROM universe.streams WHERE name = $1)`,
    stream,
  );

describe('a queue', () => {
  test('tells no negative age when the clock was set back', async () => {
    await put('ages', 'x');
    await sql(`UPDATE universe.work SET created_at = now() + interval '1 hour'
      WHERE stream_id = (SELECT stream_id FROM universe.streams WHERE name = 'ages')`);
    expect(await bed.call('stream_info', { stream: 'ages' })).toMatchObject({ pending: 1, oldestPendingMs: 0 });
  });

  test('offers in order, each item once, to however many ask at once', async () => {
    for (const task of ['a', 'b', 'c']) await put('order', task);
    expect(await bed.call('stream_peek', { stream: 'order' })).toMatchObject({ work: { task: 'a', attempts: 0 } });
    for (const task of ['a', 'b', 'c']) expect((await poll('order', 'w1')).work).toMatchObject({ task });
    const nothing = await poll('order', 'w1');
    expect(nothing).toMatchObject({ work: null, retryAfterMs: expect.any(Number) });
    await Promise.all(Array.from({ length: 100 }, (_, n) => put('crowd', n)));
    const seen: unknown[] = [];
    await Promise.all(
      Array.from({ length: 20 }, async () => {
        for (let got = await poll('crowd'); got.work !== null; got = await poll('crowd')) seen.push(got.work.task);
      }),
    );
    expect(seen.sort((a, b) => Number(a) - Number(b))).toEqual(Array.from({ length: 100 }, (_, n) => n));
  });

  test('takes what has one key once', async () => {
    const answers = await Promise.all(Array.from({ length: 50 }, () => put('keyed', 'x', { key: 'k' })));
    expect(answers.filter(({ duplicate }) => duplicate === true)).toHaveLength(49);
    expect(new Set(answers.map(({ id }) => id)).size).toBe(1);
  });

  test('is full, is an inbox, has other options, is absent', async () => {
    const create = (stream: string, options: Fields = {}) => bed.call('stream_create', { stream, options });
    expect(await create('small', { maxItems: 1 })).toMatchObject({ created: true, options: { maxAttempts: 3 } });
    expect(await create('small', { maxItems: 1 })).toMatchObject({ created: false });
    expect(await create('small')).toMatchObject({ code: 'E_STREAM_EXISTS' });
    await put('small', 1);
    expect(await put('small', 2)).toMatchObject({ code: 'E_STREAM_FULL' });
    await bed.call('stream_complete', { id: (await taken('small')).id, result: null });
    expect(await put('small', 2)).toMatchObject({ seq: 2 });
    expect(await put('agent:w1', 1)).toMatchObject({ code: 'E_STREAM_INBOX' });
    expect(await create('agent:w1')).toMatchObject({ code: 'E_STREAM_INBOX' });
    for (const tool of ['stream_peek', 'stream_poll', 'stream_delete']) {
      expect(await bed.call(tool, { stream: 'none' })).toMatchObject({ code: 'E_STREAM_ABSENT' });
    }
    expect(await bed.call('stream_watch', {})).toMatchObject({ code: 'NOT_APPLICABLE' });
  });

  test('with an order offers nothing while something before it is open, and says for how long', async () => {
    await bed.call('stream_create', { stream: 'strict', options: { ordered: true, backoffMs: 30_000 } });
    for (const task of ['a', 'b']) await put('strict', task);
    const first = await taken('strict');
    const pause = async () => Math.round(((await poll('strict')).retryAfterMs ?? 0) / 10_000);
    expect([(await poll('strict')).work, await pause()]).toEqual([null, 6]);
    await bed.call('stream_fail', { id: first.id, error: 'later' });
    expect([(await poll('strict')).work, await pause()]).toEqual([null, 3]);
    const { items } = (await bed.call('stream_list', { stream: 'strict' })) as { items: { id: string }[] };
    const second = { workId: items[1]?.id ?? '', agentId: 'w1' };
    expect(await bed.call('stream_lease', second)).toMatchObject({ leased: false, code: 'E_NOT_AVAILABLE' });
    await sql(`UPDATE universe.work SET available_at = now() WHERE work_id = $1`, first.id);
    expect((await poll('strict')).work).toMatchObject({ task: 'a', attempts: 2 });
    await bed.call('stream_complete', { id: first.id, result: 1 });
    const last = await taken('strict');
    expect(last).toMatchObject({ task: 'b' });
    await bed.call('stream_complete', { id: last.id, result: 1 });
    // Nothing is on its way: nobody knows when to ask again.
    expect(await poll('strict')).toEqual({ stream: 'strict', work: null });
  });

  test('is removed with its work', async () => {
    await put('gone', 1);
    const { id } = await taken('gone', 'w1');
    await expect(bed.call('stream_poll', { stream: 'gone' }, 'reader')).rejects.toThrow('FORBIDDEN');
    expect(await bed.call('stream_delete', { stream: 'gone' }, 'w2')).toMatchObject({ code: 'E_NOT_CREATOR' });
    expect(await bed.call('stream_delete', { stream: 'gone' })).toMatchObject({ deleted: true, removed: 1 });
    await expect
      .poll(async () => (await bed.registry('svc_audit_list', { event: 'stream:deleted' })).entries)
      .toMatchObject([{ workspace: 'default', data: { stream: 'gone', removed: 1 } }]);
    for (const [tool, args] of [
      ['stream_complete', { id, result: 1 }],
      ['stream_fail', { id, error: 1 }],
      ['stream_release', { workId: id }],
      ['stream_lease', { workId: id, agentId: 'w1' }],
    ] as const) {
      expect(await bed.call(tool, args, 'w1')).toMatchObject({ code: 'E_WORK_ABSENT' });
    }
  });

  test('that is removed leaves what was taken from it under a key as it was answered', async () => {
    const take = async () => {
      const over = { idempotencyKey: 'taken' };
      return (await callTool(bed.platform.bus, 'universe', 'stream_poll', { stream: 'brief' }, over)).fields;
    };
    await put('brief', 1);
    const { leaseToken, ...taken } = await take();
    expect(leaseToken).not.toBeNull();
    await bed.call('stream_delete', { stream: 'brief' });
    expect(await take()).toEqual({ ...taken, leaseToken: null });
    expect(await poll('brief')).toMatchObject({ code: 'E_STREAM_ABSENT' });
  });

  test('that was removed under a key is so when asked again, whatever has its name now', async () => {
    const remove = async (key: string) => {
      const over = { idempotencyKey: key };
      return (await callTool(bed.platform.bus, 'universe', 'stream_delete', { stream: 'twice' }, over)).fields;
    };
    expect(await remove('too early')).toMatchObject({ code: 'E_STREAM_ABSENT' });
    await put('twice', 1);
    const removed = await remove('in time');
    expect(removed).toMatchObject({ deleted: true, removed: 1 });
    expect(await remove('in time')).toEqual(removed);
    await put('twice', 2);
    expect(await remove('too early')).toMatchObject({ code: 'E_STREAM_ABSENT' });
    expect(await remove('in time')).toEqual(removed);
    expect((await poll('twice')).work).toMatchObject({ task: 2 });
  });
});

describe('work', () => {
  test('whose lease is over goes to the next, and its late holder changes nothing', async () => {
    await put('late', 'x');
    const { id } = await taken('late', 'w1');
    await expireLeases('late');
    expect(await bed.call('stream_info', { stream: 'late' })).toMatchObject({ pending: 1, working: 0 });
    expect(await taken('late', 'w2')).toMatchObject({ id, attempts: 2 });
    for (const [tool, args] of [
      ['stream_complete', { id, result: 1 }],
      ['stream_fail', { id, error: 1 }],
      ['stream_release', { workId: id }],
    ] as const) {
      expect(await bed.call(tool, args, 'w1')).toMatchObject({ code: 'E_LEASE_LOST' });
    }
    expect(await bed.call('stream_lease', { workId: id, agentId: 'w1' }, 'w1')).toMatchObject({
      code: 'E_LEASE_HELD',
      until: expect.any(Number),
    });
    expect(await bed.call('stream_complete', { id, result: 'w2' }, 'w2')).toMatchObject({
      status: 'completed',
      attempts: 2,
    });
    for (const [tool, args] of [
      ['stream_complete', { id, result: 1 }],
      ['stream_fail', { id, error: 1 }],
      ['stream_release', { workId: id }],
      ['stream_lease', { workId: id, agentId: 'w2' }],
    ] as const) {
      expect(await bed.call(tool, args, 'w2')).toMatchObject({ code: 'E_WORK_CLOSED', status: 'completed' });
    }
    const { items } = (await bed.call('stream_list', { stream: 'late' })) as { items: Fields[] };
    expect(items).toMatchObject([{ id, result: 'w2' }]);
  });

  test('is no longer that of a worker which was given up, though the next one has the same name', async () => {
    for (const agent of ['w1', undefined]) {
      const stream = `shared-${agent ?? 'operator'}`;
      await put(stream, 'x');
      const stalled = await taken(stream, agent);
      await expireLeases(stream);
      const { id, leaseToken } = await taken(stream, agent);
      const late = { leaseToken: stalled.leaseToken };
      for (const [tool, args] of [
        ['stream_complete', { id, result: 'late', ...late }],
        ['stream_fail', { id, error: 'late', ...late }],
        ['stream_release', { workId: id, ...late }],
      ] as const) {
        expect(await bed.call(tool, args, agent)).toMatchObject({ code: 'E_LEASE_LOST' });
      }
      const renewal = { workId: id, agentId: 'w1', ...late };
      expect(await bed.call('stream_lease', renewal, agent)).toMatchObject({ code: 'E_LEASE_HELD' });
      expect(await bed.call('stream_complete', { id, result: 'mine', leaseToken }, agent)).toMatchObject({
        attempts: 2,
      });
    }
  });

  test('that nobody took is completed by nobody; that fails comes later, then is dead, then begins anew', async () => {
    const { id } = await put('failing', 'x');
    expect(await bed.call('stream_complete', { id, result: 1 })).toMatchObject({ code: 'E_LEASE_LOST' });
    for (const wait of [1000, 2000]) {
      await taken('failing', 'w1');
      const before = Date.now();
      const { status, willRetry, retryAt } = await bed.call('stream_fail', { id, error: 'no' }, 'w1');
      expect([status, willRetry]).toEqual(['pending', true]);
      expect(Math.abs(Number(retryAt) - before - wait)).toBeLessThan(900);
      expect(await bed.call('stream_lease', { workId: id, agentId: 'w1' })).toMatchObject({ code: 'E_NOT_AVAILABLE' });
      expect((await poll('failing', 'w1')).work).toBeNull();
      await sql('UPDATE universe.work SET available_at = now() WHERE work_id = $1', id);
    }
    await taken('failing', 'w1');
    expect(await bed.call('stream_fail', { id, error: 'no' }, 'w1')).toMatchObject({
      status: 'dead',
      willRetry: false,
      attempts: 3,
    });
    expect(await bed.call('stream_release', { workId: id }, 'w1')).toMatchObject({
      code: 'E_WORK_CLOSED',
      status: 'dead',
    });
    expect(await bed.call('stream_release', { workId: id })).toMatchObject({ released: true });
    expect((await poll('failing', 'w2')).work).toMatchObject({ id, attempts: 1 });
  });

  test('is dead when the lease of its last attempt is over', async () => {
    await bed.call('stream_create', { stream: 'once', options: { maxAttempts: 1 } });
    await put('once', 'x');
    await taken('once', 'w1');
    await expireLeases('once');
    expect(await bed.call('stream_info', { stream: 'once' })).toMatchObject({ working: 0, dead: 1 });
    expect((await poll('once', 'w2')).work).toBeNull();
    expect(await bed.call('stream_list', { stream: 'once', status: 'dead' })).toMatchObject({
      items: [{ status: 'dead', error: { reason: 'lease expired' } }],
    });
  });

  test('is held for longer, and given back, by who shows its token', async () => {
    const { id } = await put('held', 'x', { delayMs: 60_000 });
    expect(await bed.call('stream_lease', { workId: id, agentId: 'w1' })).toMatchObject({ code: 'E_NOT_AVAILABLE' });
    await sql('UPDATE universe.work SET available_at = now() WHERE work_id = $1', id);
    const lease = await bed.call('stream_lease', { workId: id, agentId: 'w1', ttl: 5000 }, 'w1');
    expect(lease).toMatchObject({ leased: true, attempts: 1, leaseToken: expect.any(String) });
    const { leaseToken } = lease;
    const renewed = await bed.call('stream_lease', { workId: id, agentId: 'w2', leaseToken, ttl: 50_000 }, 'w2');
    expect(renewed).toMatchObject({ leased: true, attempts: 1 });
    expect(Number(renewed['leaseExpiresAt'])).toBeGreaterThan(Number(lease['leaseExpiresAt']));
    expect(await bed.call('stream_release', { workId: id, leaseToken }, 'w2')).toMatchObject({ released: true });
    expect((await poll('held', 'w2')).work).toMatchObject({ id, attempts: 1 });
    await expect(bed.call('stream_poll', { stream: 'held', agentId: 'w2' }, 'w1')).rejects.toThrow('FORBIDDEN');
    await expect(bed.call('stream_lease', { workId: id, agentId: 'w2' }, 'w1')).rejects.toThrow('FORBIDDEN');
  });
});

test('queues have an end: of a family in a workspace, of what is kept when it is over, and of those that nobody made', async () => {
  for (let n = 0; n < MOST_QUEUES.ofFamily; n += 1) await bed.call('stream_create', { stream: `q${n}` }, 'w1');
  const full = { code: 'E_QUOTA', limit: MOST_QUEUES.ofFamily };
  expect(await bed.call('stream_create', { stream: 'one-more' }, 'w1')).toMatchObject(full);
  const mine = (agent: string) => bed.call('stream_enqueue', { stream: 'one-more', task: agent }, agent);
  const [ofW1, ofW2, again] = await Promise.all([mine('w1'), mine('w2'), mine('w1')]);
  expect([ofW1, ofW2, again]).toMatchObject([full, { seq: 1 }, { seq: 2 }]);
  expect(await bed.call('stream_create', { stream: 'q0' }, 'w1')).toMatchObject({ created: false });

  const ids = [];
  for (let n = 0; n < 5; n += 1) {
    await put('history', n);
    const { id } = await taken('history');
    await bed.call('stream_complete', { id, result: n });
    await sql(`UPDATE universe.work SET closed_at = now() + $2 * interval '1 second' WHERE work_id = $1`, id, n);
    ids.push(id);
  }
  expect(await sweepExcess(client, 3)).toBe(2);
  const { items } = (await bed.call('stream_list', { stream: 'history' })) as { items: { id: string }[] };
  expect(items.map(({ id }) => id)).toEqual(ids.slice(2));

  for (const stream of ['history', 'q1']) {
    await sql(
      `DELETE FROM universe.work USING universe.streams s WHERE s.stream_id = work.stream_id AND s.name = $1`,
      stream,
    );
    await sql(`UPDATE universe.streams SET created_at = now() - interval '2 days' WHERE name = $1`, stream);
  }
  expect(await sweepEmpty(client)).toBe(1);
  const exists = async (stream: string) => (await bed.call('stream_info', { stream }))['exists'];
  expect([await exists('history'), await exists('q1')]).toEqual([false, true]);
});

test('a page of large work ends early and goes on where it ended', async () => {
  const task = 'x'.repeat(60_000);
  for (let n = 0; n < 40; n += 1) await put('large', task);
  const seen: number[] = [];
  let pages = 0;
  for (let cursor: Fields = {}; ; pages += 1) {
    const page = await bed.call('stream_list', { stream: 'large', limit: 100, ...cursor });
    const { items, nextCursor } = page as { items: { seq: number }[]; nextCursor?: string };
    expect(JSON.stringify(page).length).toBeLessThan(1_200_000);
    seen.push(...items.map(({ seq }) => seq));
    if (nextCursor === undefined) break;
    cursor = { cursor: nextCursor };
  }
  expect(seen).toEqual(Array.from({ length: 40 }, (_, n) => n + 1));
  expect(pages).toBe(2);
});

test('work that waits for its time is passed over, and offered in its order when that has come', async () => {
  const late = await Promise.all(['b', 'c'].map((task) => put('waiting', task, { delayMs: 60_000 })));
  await put('waiting', 'now');
  expect(await bed.call('stream_peek', { stream: 'waiting' })).toMatchObject({ work: { task: 'now' } });
  expect((await poll('waiting')).work).toMatchObject({ task: 'now' });
  const { retryAfterMs } = await poll('waiting');
  expect(retryAfterMs).toBeGreaterThan(50_000);
  await put('waiting', 'd');
  for (const { id } of late) await sql('UPDATE universe.work SET available_at = now() WHERE work_id = $1', id);
  expect(await bed.call('stream_peek', { stream: 'waiting' })).toMatchObject({ work: { task: 'b' } });
  expect(await bed.call('stream_info', { stream: 'waiting' })).toMatchObject({ pending: 3, delayed: 0, working: 1 });
  for (const task of ['b', 'c', 'd']) expect((await poll('waiting')).work).toMatchObject({ task });
});

test('many leases that are over cost a few statements, whatever becomes of the work under them', async () => {
  await bed.call('stream_create', { stream: 'over', options: { maxAttempts: 2 } });
  await Promise.all(Array.from({ length: 200 }, (_, n) => put('over', n)));
  for (let n = 0; n < 200; n += 1) await taken('over');
  await sql(`UPDATE universe.work SET attempts = 2 WHERE task::text = ANY($1::text[])`, ['7', '8']);
  await expireLeases('over');
  const [row] = await client.$queryRawUnsafe<{ id: string }[]>(
    `SELECT stream_id AS id FROM universe.streams WHERE name = 'over'`,
  );
  let statements = 0;
  const counting: typeof client = {
    $queryRawUnsafe: (...asked) => {
      statements += 1;
      return client.$queryRawUnsafe(...asked);
    },
    $executeRawUnsafe: (...asked) => {
      statements += 1;
      return client.$executeRawUnsafe(...asked);
    },
  };
  const told: string[] = [];
  const unit = { tx: counting, emit: ({ name }: { name: string }) => told.push(name), lastly() {}, async report() {} };
  expect(await expired(unit, row?.id ?? '')).toBe(200);
  expect(statements).toBeLessThan(5);
  expect(told.filter((name) => name === 'stream:dead')).toHaveLength(2);
  expect(await bed.call('stream_info', { stream: 'over' })).toMatchObject({ pending: 198, working: 0, dead: 2 });
  expect(await taken('over')).toMatchObject({ task: 0, attempts: 2 });
});

test('a stranger finds neither queues nor work', async () => {
  const { id } = await put('secret', 'x');
  expect(await bed.call('stream_info', { stream: 'secret' }, 'eve')).toMatchObject({ exists: false, total: 0 });
  expect(await bed.call('stream_poll', { stream: 'secret' }, 'eve')).toMatchObject({ code: 'E_STREAM_ABSENT' });
  expect(await bed.call('stream_complete', { id, result: 1 }, 'eve')).toMatchObject({ code: 'E_WORK_ABSENT' });
  expect(await bed.call('stream_stats', {}, 'eve')).toEqual({ streams: {}, leases: 0, workspaces: 0 });
  expect(await bed.call('stream_list', {}, 'eve')).toEqual({ streams: [] });
  expect(await bed.call('stream_list', { limit: 1 }, 'reader')).toMatchObject({ nextCursor: expect.any(String) });
});

test('what is over is kept for as long as its queue says', async () => {
  await bed.call('stream_create', { stream: 'brief', options: { retentionMs: 1000 } });
  await put('brief', 'x', { key: 'k' });
  const { id } = await taken('brief');
  await bed.call('stream_complete', { id, result: 1 });
  await sql(`UPDATE universe.work SET closed_at = now() - interval '2 seconds' WHERE work_id = $1`, id);
  expect(await sweepWork(client)).toBe(1);
  expect(await put('brief', 'y', { key: 'k' })).toMatchObject({ seq: 2, duplicate: false });
});

test('work that many put, take and complete at once has for each of them the outcome that it had alone', async () => {
  const options = { maxItems: 5 };
  await bed.call('stream_create', { stream: 'folded', options });
  const puts = await Promise.all(['a', 'b', 'a', 'c', 'd', 'e', 'f', 'a'].map((key) => put('folded', key, { key })));
  expect(puts.map(({ seq, duplicate, code }) => code ?? `${String(seq)}${duplicate === true ? ' again' : ''}`)).toEqual(
    ['1', '2', '1 again', '3', '4', '5', 'E_STREAM_FULL', '1 again'],
  );
  const polls = await Promise.all(Array.from({ length: 7 }, (_, n) => poll('folded', n % 2 === 0 ? 'w1' : 'w2')));
  const found = polls.filter(({ work }) => work !== null);
  expect(new Set(found.map(({ work }) => work?.task))).toEqual(new Set(['a', 'b', 'c', 'd', 'e']));
  const others = polls.filter(({ work }) => work === null);
  expect(others.every(({ retryAfterMs = 0 }) => retryAfterMs > 0)).toBe(true);
  expect(new Set(found.map(({ leaseToken }) => leaseToken)).size).toBe(5);
  const takenBy = (parity: number) =>
    polls.flatMap(({ work }, n) => (work !== null && n % 2 === parity ? [work.id] : []));
  const [[first = '', third = ''], [second = '']] = [takenBy(0), takenBy(1)];
  const done = await Promise.all([
    bed.call('stream_complete', { id: first, result: 1 }, 'w1'),
    bed.call('stream_complete', { id: second, result: 2 }, 'w1'),
    bed.call('stream_complete', { id: first, result: 3 }, 'w1'),
    bed.call('stream_complete', { id: third, result: 4 }, 'eve'),
    bed.call('stream_complete', { id: 'wrk_none', result: 5 }, 'w1'),
  ]);
  expect(done.map(({ code, status }) => code ?? status)).toEqual([
    'completed',
    'E_LEASE_LOST',
    'E_WORK_CLOSED',
    'E_WORK_ABSENT',
    'E_WORK_ABSENT',
  ]);
  expect(await bed.call('stream_info', { stream: 'folded' })).toMatchObject({ completed: 1, working: 4 });
});
