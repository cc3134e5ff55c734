/** Jobs on the real database and behind real doors: who may make them, what they run as, what is told of them. */
import { poolClient } from '@svc/runtime/transaction.ts';
import { migratedDatabase } from '@svc/testing/database.ts';
import type { Fields } from '@svc/testing/service-bed.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type DoorsBed, openDoorsBed } from '../../testing/doors-bed.ts';
import { sessionOfJob } from './domain/run.ts';
import { KEPT_RUNS, MOST_JOBS } from './domain/schedule.ts';

const database = await migratedDatabase();
const client = poolClient(database.pool);
let bed: DoorsBed;

beforeAll(async () => {
  bed = await openDoorsBed(database);
  for (const agent of ['ann', 'bob']) await bed.enrol(agent, 'editor');
  await bed.enrol('root', 'admin');
});
afterAll(async () => {
  for (const release of bed.probe.held) release();
  await bed.stop();
  await database.close();
});

const DAY = 86_400_000;
const ENQUEUE = { tool: 'stream_enqueue', arguments: { stream: 'beats', task: 'x' } };
const probeTask = (args: Fields = {}) => ({ tool: 'probe_write', arguments: args });
const schedule = (args: Fields, agent?: string) => bed.call('cron_schedule', { interval: DAY, ...args }, agent);
const run = async (id: string, agent?: string) => (await bed.call('cron_run', { id }, agent))['run'];
const jobOf = async (id: string, agent?: string) => {
  const { jobs, history } = await bed.call('cron_list', { id }, agent);
  return { job: (jobs as Fields[])[0], history: history as Fields[] };
};
/** As if so many ticks had come while nobody was there. */
const backDate = (id: string, ticks: number) =>
  client.$executeRawUnsafe(
    `UPDATE universe.cron_jobs SET anchor_at = anchor_at - interval_ms * $2::int * interval '1 millisecond',
       next_at = next_at - interval_ms * $2::int * interval '1 millisecond' WHERE job_id = $1`,
    id,
    ticks,
  );
const ends = (id: string, ended: Fields) =>
  expect.poll(async () => (await jobOf(id)).history).toContainEqual(expect.objectContaining(ended));

describe('a job', () => {
  test('runs its tool as who made it, at each tick and when it is asked to', async () => {
    expect(await schedule({ id: 'beat', interval: 1000, task: ENQUEUE }, 'ann')).toMatchObject({
      id: 'beat',
      scheduled: true,
      replaced: false,
      identity: 'ann',
    });
    expect(await run('beat', 'ann')).toMatchObject({ status: 'ok', result: { stream: 'beats', status: 'pending' } });
    await ends('beat', { tick: 1, status: 'ok' });
    await bed.call('cron_cancel', { id: 'beat' }, 'ann');
    const { pending } = await bed.call('stream_info', { stream: 'beats' });
    expect(pending).toBeGreaterThanOrEqual(2);
  });

  test('mints no token: none stands behind it any more', async () => {
    const task = { tool: 'svc_habitat_mintToken', arguments: { agentId: 'ann', ttlMs: 1000 } };
    await schedule({ id: 'mint', task }, 'ann');
    expect(await run('mint', 'ann')).toMatchObject({ status: 'refused', code: 'FORBIDDEN' });
  });

  test('shows a secret to whoever waits for the run, and keeps it nowhere', async () => {
    await schedule({ id: 'secret', task: { tool: 'svc_habitat_mintToken', arguments: { agentId: 'ann' } } });
    const again = () => bed.callAs({ idempotencyKey: 'secret' }, 'cron_run', { id: 'secret' });
    expect(await again()).toMatchObject({ run: { status: 'ok', result: { token: expect.stringMatching(/^svc_/) } } });
    expect(await again()).toMatchObject({ run: { status: 'ok', result: { agentId: 'ann', token: null } } });
    const kept = await client.$queryRawUnsafe('SELECT result::text AS result FROM universe.cron_runs');
    expect(JSON.stringify(kept)).not.toMatch(/svc_[0-9a-f]{64}/);
  });

  test('is of who made it: others neither take its id, run nor cancel it; an admin sees and cancels it', async () => {
    await schedule({ id: 'own', task: probeTask() }, 'ann');
    expect(await schedule({ id: 'own' }, 'bob')).toMatchObject({ code: 'E_CRON_TAKEN' });
    expect(await bed.call('cron_run', { id: 'own' }, 'bob')).toMatchObject({ code: 'E_CRON_ABSENT' });
    await expect(bed.call('cron_run', { id: 'own' }, 'root')).rejects.toThrow('FORBIDDEN');
    expect((await jobOf('own', 'bob')).job).toBeUndefined();
    expect((await jobOf('own', 'root')).job).toMatchObject({ identity: 'ann', tool: 'probe_write' });
    expect(await bed.call('cron_cancel', { id: 'own' }, 'bob')).toMatchObject({ cancelled: false });
    expect(await bed.call('cron_cancel', { id: 'own' }, 'root')).toMatchObject({ cancelled: true });
    expect(await bed.call('cron_cancel', { id: 'own' }, 'ann')).toMatchObject({ cancelled: false });
    await expect(schedule({ id: 'away', workspace: 'elsewhere' }, 'ann')).rejects.toThrow('FORBIDDEN');
  });

  test('does not come to be with a wrong interval, an unknown tool, or what does not fit it; nor is it a job of jobs', async () => {
    const wrong = [
      { interval: 999 },
      { interval: 86_400_001 },
      { task: { tool: 'no_such_tool' } },
      { task: { tool: 'probe_write', arguments: { txt: 'x' } } },
      { task: { tool: 'probe_write', arguments: { text: 'x'.repeat(17_000) } } },
      { id: '-x' },
    ];
    for (const args of wrong) await expect(schedule(args, 'ann')).rejects.toThrow('VAF_INPUT_INVALID');
    for (const task of [
      { tool: 'cron_schedule', arguments: {} },
      { tool: 'cron_run', arguments: { id: 'x' } },
      { tool: 'svc_call', arguments: { name: 'cron_run', args: { id: 'x' } } },
    ]) {
      expect(await schedule({ task }, 'ann')).toMatchObject({ code: 'E_CRON_TOOL' });
    }
    expect(bed.probe.keys).toEqual([]);
    expect(await bed.callAs({ hops: 8 }, 'cron_run', { id: 'x' })).toMatchObject({ code: 'E_LIMIT' });
  });

  test('makes and runs no job inside of the calls that it makes either', async () => {
    const inner: Record<string, Fields> = { cron_schedule: { id: 'child' }, cron_run: { id: 'nested' } };
    for (const [tool, args] of Object.entries(inner)) {
      await bed.call('recursion_register', { name: 'again', type: 'tool', tool }, 'ann');
      for (const operation of [tool, 'again']) {
        const task = { tool: 'recursion_retry', arguments: { operation, arguments: args } };
        await schedule({ id: 'nested', task }, 'ann');
        expect(await run('nested', 'ann')).toMatchObject({ status: 'failed', code: 'E_RETRY_FAILED' });
        expect(await bed.callAs({ session: sessionOfJob('cron_1') }, tool, args)).toMatchObject({
          code: 'E_CRON_TOOL',
        });
      }
    }
    expect((await jobOf('child', 'ann')).job).toBeUndefined();
    await bed.call('cron_cancel', { id: 'nested' }, 'ann');
  });

  test('whose ticks were missed runs the latest of them once, and counts the others', async () => {
    await schedule({ id: 'late', interval: 60_000, task: probeTask() });
    await backDate('late', 10);
    await ends('late', { tick: 10, status: 'ok' });
    expect((await jobOf('late')).job).toMatchObject({ runs: 1, missed: 9, failures: 0 });
    const [key] = bed.probe.keys.splice(0);
    expect(key).toMatch(/^cron:default\/late:\d+:10$/);
  });

  test('whose next tick is far off, because the clock was set back, counts anew from now', async () => {
    await schedule({ id: 'far', interval: 1000, task: probeTask() });
    await backDate('far', -90_000);
    await ends('far', { tick: 1, status: 'ok' });
    expect((await jobOf('far')).job).toMatchObject({ missed: 0 });
    await bed.call('cron_cancel', { id: 'far' });
    bed.probe.keys.splice(0);
  });

  test('never runs beside itself: a tick meanwhile is skipped, and who asks for a run is told', async () => {
    await schedule({ id: 'slow', interval: 60_000, task: probeTask({ hold: true }) });
    const first = run('slow');
    await expect.poll(() => bed.probe.held.length).toBe(1);
    expect(await bed.call('cron_run', { id: 'slow' })).toMatchObject({ code: 'E_CRON_BUSY' });
    await backDate('slow', 1);
    await ends('slow', { tick: 1, status: 'skipped' });
    bed.probe.held.pop()?.();
    expect(await first).toMatchObject({ status: 'ok' });
    expect((await jobOf('slow')).job).toMatchObject({ runs: 1 });
  });

  test('that is made anew begins a new count of ticks, and an end that nobody tells is told as lost', async () => {
    await schedule({ id: 'gone', task: probeTask({ hold: true }) });
    const first = run('gone');
    await expect.poll(() => bed.probe.held.length).toBe(1);
    await client.$executeRawUnsafe(`UPDATE universe.cron_runs SET seen_at = now() - interval '301 seconds'
      WHERE status = 'running'`);
    await expect.poll(async () => (await jobOf('gone')).history[0]).toMatchObject({ status: 'lost' });
    bed.probe.held.pop()?.();
    expect(await first).toMatchObject({ status: 'lost' });
    expect(await schedule({ id: 'gone' })).toMatchObject({ replaced: true, task: null });
  });

  test('runs once for a key, and whoever repeats the call is told what came of it', async () => {
    await schedule({ id: 'once', task: probeTask({ text: 'done' }) });
    bed.probe.keys.splice(0);
    const answers = await Promise.all(
      Array.from({ length: 3 }, () => bed.callAs({ idempotencyKey: 'k' }, 'cron_run', { id: 'once' })),
    );
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect(answers[0]).toMatchObject({ run: { status: 'ok', result: { text: 'done' } } });
    expect(bed.probe.keys).toHaveLength(1);
  });

  test('is told to whoever repeats its call also when its job is gone, or later runs are too many', async () => {
    const keyed = (id: string) => bed.callAs({ idempotencyKey: id }, 'cron_run', { id });
    const ids = ['cancelled', 'busy'];
    const firsts: Fields[] = [];
    for (const id of ids) {
      await schedule({ id, task: probeTask({ text: id }) });
      firsts.push(await keyed(id));
    }
    await bed.call('cron_cancel', { id: 'cancelled' });
    for (let runs = 0; runs < KEPT_RUNS; runs += 1) await run('busy');
    for (const [index, id] of ids.entries()) {
      expect(firsts[index]).toMatchObject({ run: { status: 'ok', result: { text: id } } });
      expect(await keyed(id)).toEqual(firsts[index]);
    }
  });

  test('fails as its tool does, and is refused and switched off when who made it has no role any more', async () => {
    await bed.enrol('cid', 'editor');
    await schedule({ id: 'cids', interval: 60_000, task: ENQUEUE }, 'cid');
    await schedule({ id: 'pulse', interval: 60_000 }, 'cid');
    await schedule({ id: 'broken', task: probeTask() });
    bed.probe.failures.push('E_BUSY');
    expect(await run('broken')).toMatchObject({ status: 'failed', code: 'E_BUSY' });
    await bed.registry('svc_habitat_removeRole', { workspaceId: 'default', userId: 'cid', role: 'editor' });
    for (const id of ['cids', 'pulse']) {
      await backDate(id, 1);
      await ends(id, { status: 'refused', code: 'UNAUTHORIZED' });
      expect((await jobOf(id)).job).toMatchObject({ enabled: false, nextAt: null, failures: 1 });
    }
  });

  test('without a task ticks, and is told as that', async () => {
    await schedule({ id: 'heart', interval: 1000 });
    expect(await run('heart')).toMatchObject({ status: 'ok' });
    await ends('heart', { tick: 1, status: 'ok' });
    await bed.call('cron_cancel', { id: 'heart' });
    const rows = await client.$queryRawUnsafe<{ payload: Fields }[]>(
      `SELECT payload FROM universe.outbox WHERE name = 'cron:ticked'`,
    );
    expect(rows.map(({ payload }) => payload)).toContainEqual({ id: 'heart', tick: 1, parties: ['operator'] });
  });

  test('is one of so many of a family, and of all members: operators find room', async () => {
    const { ofMembers, ofFamily } = MOST_JOBS;
    const families = ['f1', 'f2', 'f3', 'f4', 'f5'];
    for (const family of families) await bed.enrol(family, 'editor');
    const made: [string, string][] = [];
    const codes: unknown[] = [];
    for (const family of families) {
      for (let n = 0; n <= ofFamily; n += 1) {
        const job = await schedule({ id: `${family}-${n}`, enabled: false }, family);
        if (job['scheduled'] === true) made.push([`${family}-${n}`, family]);
        else codes.push([family, job['code'], job['limit'], job['of']]);
      }
    }
    expect(codes).toContainEqual(['f1', 'E_QUOTA', ofFamily, 'family']);
    expect(codes).toContainEqual(['f5', 'E_QUOTA', ofMembers, 'workspace']);
    expect(await schedule({ id: 'f1-0', enabled: false }, 'f1')).toMatchObject({ replaced: true });
    expect(await schedule({ id: 'of-operator', enabled: false })).toMatchObject({ scheduled: true });
    for (const [id, family] of [...made, ['of-operator', undefined] as const])
      await bed.call('cron_cancel', { id }, family);
  });

  test('of who is gone makes room for those who are there', async () => {
    const there = ['r1', 'r2', 'r3'];
    for (const agent of [...there, 'leaver', 'late']) await bed.enrol(agent, 'editor');
    for (const agent of [...there, 'leaver'])
      for (let n = 0; n < MOST_JOBS.ofFamily; n += 1) await schedule({ id: `${agent}-${n}`, enabled: false }, agent);
    expect(await schedule({ id: 'lates' }, 'late')).toMatchObject({ code: 'E_QUOTA', of: 'workspace' });
    await bed.registry('svc_habitat_removeRole', { workspaceId: 'default', userId: 'leaver', role: 'editor' });
    expect(await schedule({ id: 'lates' }, 'late')).toMatchObject({ scheduled: true, replaced: false });
    expect(await jobOf('leaver-0')).toMatchObject({ job: undefined });
    const told = await client.$queryRawUnsafe<{ payload: Fields }[]>(
      `SELECT payload FROM universe.outbox WHERE name = 'cron:cancelled'`,
    );
    expect(told.map(({ payload }) => payload)).toContainEqual({ id: 'leaver-0', by: 'late', parties: ['leaver'] });
    await bed.call('cron_cancel', { id: 'lates' }, 'late');
    for (const agent of there)
      for (let n = 0; n < MOST_JOBS.ofFamily; n += 1)
        expect(await bed.call('cron_cancel', { id: `${agent}-${n}` }, agent)).toMatchObject({ cancelled: true });
  });

  test('beyond a hundred of a workspace there is none, and a list comes in pages', async () => {
    const { jobs } = (await bed.call('cron_list', {})) as { jobs: Fields[] };
    for (let n = jobs.length; n < 100; n += 1) await schedule({ id: `many-${n}`, enabled: false });
    expect(await schedule({ id: 'more' })).toMatchObject({ code: 'E_QUOTA', limit: 100 });
    const first = await bed.call('cron_list', { limit: 60 });
    const second = await bed.call('cron_list', { limit: 60, cursor: first['nextCursor'] });
    const ids = [first, second].flatMap((page) => (page['jobs'] as Fields[]).map(({ id }) => id));
    expect(new Set(ids).size).toBe(100);
  });
});
