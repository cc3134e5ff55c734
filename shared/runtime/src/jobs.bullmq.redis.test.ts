import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { describeJobs } from '@svc/testing/jobs.contract.ts';
import { startOwnRedis } from '@svc/testing/servers/redis.ts';
import type { Redis } from 'ioredis';
import { pino } from 'pino';
import { afterAll, afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { createBullmqJobs } from './jobs.bullmq.ts';
import type { Jobs } from './jobs.ts';
import { connectRedis } from './redis.ts';

const log = pino({ level: 'silent' });
const server = await startOwnRedis();
const { url, control } = server ?? { url: '', control: undefined };
const connections: Redis[] = [];

afterAll(async () => {
  for (const redis of connections) redis.disconnect();
  await server?.stop();
});

async function connect(): Promise<Redis> {
  const redis = await connectRedis({ url, name: 'test', log });
  connections.push(redis);
  return redis;
}

describeJobs('BullMQ', server === null ? null : async () => createBullmqJobs({ redis: await connect(), log }));

describe.skipIf(server === null)('BullMQ jobs of several replicas', () => {
  const EVERY_MS = 200;
  const opened: Jobs[] = [];
  const replica = async () => {
    const jobs = createBullmqJobs({ redis: await connect(), log, rebuildEveryMs: 300 });
    opened.push(jobs);
    return jobs;
  };
  const collect = (id: string, slots: number[]) => ({
    id,
    everyMs: EVERY_MS,
    scope: 'cluster' as const,
    run: async ({ scheduledAt }: { readonly scheduledAt: number }) => {
      slots.push(scheduledAt);
    },
  });
  const until = async (condition: () => boolean) => {
    while (!condition()) await delay(10);
  };

  afterEach(async () => {
    await Promise.all(opened.splice(0).map((jobs) => jobs.close()));
  });

  test('three replicas that keep looking after the schedule run each slot once', async () => {
    const slots: number[] = [];
    const replicas = await Promise.all([replica(), replica(), replica()]);
    await Promise.all(replicas.map((jobs) => jobs.schedule(collect('test.slots', slots))));
    // A loaded machine may skip some.
    await until(() => slots.length >= 20);
    await delay(1000);
    expect(new Set(slots).size).toBe(slots.length);
  });

  test('a wish runs on one replica', async () => {
    const slots: number[] = [];
    const replicas = await Promise.all([replica(), replica(), replica()]);
    const job = { ...collect('test.wish', slots), everyMs: 3_600_000 };
    for (const jobs of replicas) await jobs.schedule(job);
    const at = Date.now() + 200;
    await Promise.all(replicas.map((jobs) => jobs.wake(job.id, at)));
    await until(() => slots.length > 0);
    await delay(200);
    expect(slots).toEqual([at]);
  });

  test('what waits behind a run goes to another replica when its own ends', async () => {
    const end = Promise.withResolvers<void>();
    const [here, there]: [number[], number[]] = [[], []];
    const job = { ...collect('test.handed', []), everyMs: 3_600_000 };
    const one = await replica();
    await one.schedule({
      ...job,
      run: async ({ scheduledAt }) => {
        here.push(scheduledAt);
        await end.promise;
      },
    });
    await one.wake(job.id, 0);
    await until(() => here.length === 1);
    await one.wake(job.id, 0);
    await delay(200); // taken, and waiting
    const two = await replica();
    await two.schedule({ ...job, run: collect(job.id, there).run });
    const closed = one.close();
    end.resolve();
    await closed;
    await until(() => there.length === 1);
    expect(here).toHaveLength(1);
  });

  test('slots that come due behind a long run are one', async () => {
    const end = Promise.withResolvers<void>();
    const slots: number[] = [];
    const jobs = await replica();
    await jobs.schedule({
      ...collect('test.long', []),
      run: async ({ scheduledAt }) => {
        slots.push(scheduledAt);
        if (slots.length === 1) await end.promise;
      },
    });
    await until(() => slots.length === 1);
    await delay(EVERY_MS * 10);
    end.resolve();
    await until(() => slots.length >= 3);
    const [first = 0, behind = 0, next = 0] = slots;
    // A loaded machine may skip some.
    expect(behind - first).toBeLessThanOrEqual(EVERY_MS * 5);
    expect(next - behind).toBeGreaterThanOrEqual(EVERY_MS * 3);
  });

  test('however many jobs a service has, they take a connection between them', async () => {
    const admin = await connect();
    const count = async () =>
      String(await admin.call('CLIENT', 'LIST'))
        .trim()
        .split('\n').length;
    const jobs = await replica();
    const before = await count();
    for (let number = 0; number < 20; number += 1) await jobs.schedule(collect(`many.${number}`, []));
    expect((await count()) - before).toBeLessThanOrEqual(2);
  });

  test('a job cancelled by one replica is not put back by the others', async () => {
    const slots: number[] = [];
    const [one, two] = [await replica(), await replica()];
    const job = collect('test.cancelled', slots);
    await one.schedule(job);
    await two.schedule(job);
    await until(() => slots.length > 0);
    await one.cancel(job.id);
    await delay(EVERY_MS);
    const atCancel = slots.length;
    await delay(1000);
    expect(slots.length).toBe(atCancel);
  });

  test('a job is cancelled also while runs that wait for their time begin', async () => {
    const jobs = await replica();
    const WISHES = 80;
    const run = async () => delay(EVERY_MS);
    const job = { ...collect('test.beginning', []), everyMs: 3_600_000, run };
    await jobs.schedule(job);
    // Each before those that are there already, or it would be no wish of its own.
    const from = Date.now() + WISHES * 5;
    for (let number = WISHES; number > 0; number -= 1) await jobs.wake(job.id, from + number);
    await delay(from - Date.now());
    await jobs.cancel(job.id);
  });

  test('a clock that is set back by an hour holds up no schedule', async () => {
    const slots: number[] = [];
    const jobs = await replica();
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3_600_000 });
    await jobs.schedule(collect('test.set-back', slots)).finally(() => vi.useRealTimers());
    await until(() => slots.length >= 5);
  });

  test('a schedule lost with everything in Redis is rebuilt', async () => {
    const slots: number[] = [];
    await (await replica()).schedule(collect('test.flushed', slots));
    await until(() => slots.length > 1);
    const admin = await connect();
    await admin.flushall();
    const flushedAt = Date.now();
    await until(() => (slots.at(-1) ?? 0) > flushedAt + EVERY_MS);
    expect(new Set(slots).size).toBe(slots.length);
  });

  test('Redis killed and back: slots go on; what is declared or wished meanwhile is no error', async () => {
    const [before, meanwhile]: [number[], number[]] = [[], []];
    const jobs = await replica();
    await jobs.schedule(collect('test.outage', before));
    await until(() => before.length > 1);
    await control?.kill();
    await delay(100);
    await jobs.schedule(collect('test.outage-new', meanwhile));
    await jobs.wake('test.outage', 0);
    await delay(500);
    await control?.start();
    const backAt = Date.now();
    await until(() => (before.at(-1) ?? 0) > backAt && meanwhile.length > 0);
  });

  test('Redis full and emptied: slots go on; meanwhile it is asked now and then, and the log stays readable', async () => {
    const slots: number[] = [];
    const redis = await connect();
    const warned: unknown[] = [];
    const heard = { info() {}, error() {}, warn: (...told: unknown[]) => warned.push(told) };
    const jobs = createBullmqJobs({ redis, log: heard });
    opened.push(jobs);
    await jobs.schedule(collect('test.full', slots));
    await until(() => slots.length >= 2);
    const refused = async () => Number(/errorstat_OOM:count=(\d+)/.exec(await redis.info('errorstats'))?.[1] ?? 0);
    const before = await refused();
    await redis.config('SET', 'maxmemory', '1');
    onTestFinished(async () => void (await redis.config('SET', 'maxmemory', '0')));
    await expect.poll(refused).toBeGreaterThan(before);
    await delay(3000);
    expect(jobs.isRefused).toBe(true);
    expect((await refused()) - before).toBeLessThan(50);
    expect(warned.length).toBeGreaterThan(0);
    expect(warned.length).toBeLessThan(10);
    await redis.config('SET', 'maxmemory', '0');
    const reached = slots.length;
    await until(() => slots.length >= reached + 3);
    await expect.poll(() => jobs.isRefused).toBe(false);
  });

  test('closes while Redis is away', async () => {
    const jobs = await replica();
    await jobs.schedule(collect('test.close', []));
    await control?.kill();
    await delay(100);
    await jobs.close();
    await control?.start();
  });

  test('kill -9 of replicas: slots go on, at most one is repeated for each kill', async () => {
    const slots: number[] = [];
    const script = fileURLToPath(import.meta.resolve('@svc/testing/fixtures/jobs-replica.ts'));
    const start = (): ChildProcess => {
      const child = spawn(process.execPath, [script, url, 'test.killed', String(EVERY_MS)], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      createInterface({ input: child.stdout }).on('line', (line) => slots.push(Number(line)));
      return child;
    };
    const children = [start(), start(), start()];
    const kills = 8;
    try {
      await until(() => slots.length > 3);
      for (let kill = 0; kill < kills; kill += 1) {
        children.shift()?.kill('SIGKILL');
        children.push(start());
        const runsBefore = slots.length;
        await until(() => slots.length > runsBefore + 2);
      }
      expect(slots.length - new Set(slots).size).toBeLessThanOrEqual(kills);
    } finally {
      for (const child of children) child.kill('SIGKILL');
    }
  });
});
