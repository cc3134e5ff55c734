import { afterAll, beforeAll, expect, test } from 'vitest';
import type { JobDeclaration } from '@svc/runtime/jobs.ts';
import { createLocalJobs } from '@svc/runtime/jobs.local.ts';
import { createLog } from '@svc/runtime/log.ts';
import type { Envelope } from '@svc/contract/rpc.ts';
import { type BrainNode, type BrainTestBed, openBrainTestBed, testCaller } from '../../../testing/brain-test-bed.ts';
import { HEARTBEAT } from '../heartbeat-store.ts';

let bed: BrainTestBed;
let node: BrainNode;
const declared: JobDeclaration[] = [];
beforeAll(async () => {
  bed = await openBrainTestBed();
  const local = createLocalJobs({ log: createLog('silent', {}) });
  const jobs = {
    ...local,
    // Run by hand.
    async schedule(job: JobDeclaration) {
      declared.push(job);
    },
  };
  // What is due goes by the clock of the database: that of this process is ahead.
  node = await bed.start({}, { jobs, clock: { now: () => Date.now() + 7_200_000 } });
});
afterAll(async () => {
  await node.stop();
  await bed[Symbol.asyncDispose]();
});

const LATER = { deadlineAt: Number.MAX_SAFE_INTEGER };
const operator = testCaller(() => node, null);
const session = (number: number) => number.toString(16).padStart(64, '0');
const as = (number: number, principal: string): Partial<Envelope> => ({
  ...LATER,
  session: session(number),
  principal,
});
const beat = (action: string, over: Partial<Envelope> = LATER) => operator.ok('context_heartbeat', { action }, over);
/** As if that time had passed. */
const passMs = async (ms: number) => {
  const passed = `interval '${ms} ms'`;
  await bed.database.pool.query(
    `UPDATE brain.brain_heartbeats SET due_at = due_at - ${passed}, used_at = used_at - ${passed}`,
  );
  const job = declared.find(({ id }) => id === 'brain.context-heartbeat');
  await job?.run({ scheduledAt: 0, signal: new AbortController().signal });
};

test('builds the last context again every four minutes, until nobody asks for an hour', async () => {
  await operator.ok('brain_write', { name: 'goals', content: 'Stay afloat.' }, LATER);
  expect(await beat('status')).toMatchObject({ action: 'status', running: false, beats: 0, lastBeatAt: null });
  expect(await beat('start')).toMatchObject({ action: 'start', running: true, intervalMs: HEARTBEAT.intervalMs });
  await operator.ok('context_build', {}, LATER);
  await passMs(HEARTBEAT.intervalMs - 10_000);
  expect(await beat('status')).toMatchObject({ running: true, beats: 0 });
  await operator.ok('brain_write', { name: 'goals', content: 'Stay afloat, always.' }, LATER);
  await passMs(10_001);
  const beaten = await beat('status');
  expect(beaten).toMatchObject({ running: true, beats: 1 });
  expect(Math.abs(Number(beaten['lastBeatAt']) - Date.now())).toBeLessThan(600_000);
  expect(await operator.ok('context_build', {}, LATER)).toMatchObject({
    cache: { state: 'hit' },
    assembled: expect.stringContaining('afloat, always') as string,
  });
  await beat('start');
  await passMs(HEARTBEAT.intervalMs);
  expect(await beat('status')).toMatchObject({ beats: 2 });
  await passMs(HEARTBEAT.idleMs + 1000);
  expect(await beat('status')).toMatchObject({ running: false, beats: 0 });
});

test('is stopped, goes on after a start, and is that of its session alone', async () => {
  await beat('start', as(1, 'ann'));
  expect(await beat('status', as(2, 'ann'))).toMatchObject({ running: false });
  expect(await beat('stop', as(1, 'ann'))).toMatchObject({ action: 'stop', running: false });
  expect(await beat('stop', as(1, 'ann'))).toMatchObject({ running: false });
  const rows = await bed.database.pool.query('SELECT 1 FROM brain.brain_heartbeats');
  expect(rows.rows).toEqual([]);
});

test('there are ten of a caller, and a hundred in all, however many start at once', async () => {
  const start = (number: number, principal: string) =>
    operator.ok('context_heartbeat', { action: 'start' }, as(number, principal));
  const codesOf = async (calls: readonly Promise<object>[]) =>
    (await Promise.all(calls)).flatMap((answer) => ('code' in answer ? [answer.code] : []));
  const own = Array.from({ length: HEARTBEAT.mostOfOne + 2 }, (_, number) => start(100 + number, 'greedy'));
  expect(await codesOf(own)).toEqual(['E_LIMIT', 'E_LIMIT']);
  const others = Array.from({ length: HEARTBEAT.most - HEARTBEAT.mostOfOne + 1 }, (_, number) =>
    start(200 + number, `one ${number}`),
  );
  expect(await codesOf(others)).toEqual(['E_LIMIT']);
  const rows = await bed.database.pool.query('SELECT 1 FROM brain.brain_heartbeats');
  expect(rows.rows).toHaveLength(HEARTBEAT.most);
  // Who has one keeps it.
  expect(await codesOf([start(100, 'greedy')])).toEqual([]);
});

test('a repeat under its key does not begin again what was ended since', async () => {
  await passMs(HEARTBEAT.idleMs + 1);
  const of = { ...as(99, 'repeater'), idempotencyKey: 'start-once' };
  const begun = await beat('start', of);
  expect(begun).toMatchObject({ running: true });
  await beat('stop', as(99, 'repeater'));
  expect(await beat('start', of)).toEqual(begun);
  expect(await beat('status', as(99, 'repeater'))).toMatchObject({ running: false });
});
