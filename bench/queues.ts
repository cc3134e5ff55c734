/**
 * Work put into a queue, taken and completed by many at once: our queues on PostgreSQL, beside pg-boss on the same server
 * and BullMQ on Redis. One at a time, and some at a time: with the bulk calls of those that have them, and with as many
 * calls at once of those that have none.
 */
import { randomUUID } from 'node:crypto';
import { openPostgresDatabase } from '@svc/runtime/database.postgres.ts';
import { startPostgres } from '@svc/testing/servers/postgres.ts';
import { startRedis } from '@svc/testing/servers/redis.ts';
import { Queue, Worker } from 'bullmq';
import { PgBoss } from 'pg-boss';
import { openQueueBed } from '../services/universe/testing/queue-bed.ts';
import { markdownTable, median, quantile, shown } from './figures.ts';

const CLIENTS = 64;
const POOL_SIZE = 16;
const TOGETHER = 10;
const WARMUP_MS = 1000;
const LEASE_MS = 60_000;
const TASK = { file: 'notes.md', lines: [1, 2, 3] };
const log = { warn() {}, fatal() {} };

/** One client puts so many there, takes as many of what is next and completes them; returns how many it got. */
type Cycle = (size: number) => Promise<number>;

interface Contender {
  readonly title: string;
  readonly cycle: Cycle;
  /** One at a time, and some. */
  readonly aims: readonly [string, string];
  stop(): Promise<void>;
}

interface Rate {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** Resolves with a Markdown table, or with why there is none. */
export async function measureQueues(seconds: number, rounds: number): Promise<string> {
  const [postgres, redis] = await Promise.all([startPostgres(), startRedis()]);
  try {
    if (postgres === null || redis === null) return 'no PostgreSQL or no Redis: queues were not measured';
    const contenders = [await bullmq(redis.url), await pgBoss(postgres.url), await ours(postgres.url)];
    const tables: string[] = [];
    for (const size of [1, TOGETHER]) {
      const rates = new Map<string, Rate[]>(contenders.map(({ title }) => [title, []]));
      for (let round = 0; round < rounds; round += 1) {
        for (const { title, cycle } of contenders) rates.get(title)?.push(await rateOf(cycle, size, seconds));
      }
      const of = (title: string, field: keyof Rate) => median((rates.get(title) ?? []).map((rate) => rate[field]));
      tables.push(table(contenders, size, of));
    }
    for (const { stop } of contenders) await stop();
    return tables.join('\n\n');
  } finally {
    await Promise.all([postgres?.stop(), redis?.stop()]);
  }
}

function table(
  contenders: readonly Contender[],
  size: number,
  of: (title: string, field: keyof Rate) => number,
): string {
  const fastest = Math.max(...contenders.slice(0, -1).map(({ title }) => of(title, 'perSecond')));
  const rows = contenders.map(({ title, aims }) => [
    title,
    shown(of(title, 'perSecond')),
    shown(of(title, 'p50Ms'), 1),
    shown(of(title, 'p99Ms'), 1),
    `${shown(of(title, 'perSecond') / fastest, 2)} x`,
    aims[size === 1 ? 0 : 1],
  ]);
  return markdownTable(
    [`${CLIENTS} clients, one queue, ${size} at a time`, 'items/s', 'p50 ms', 'p99 ms', 'of the faster', 'aim'],
    rows,
  );
}

async function rateOf(cycle: Cycle, size: number, seconds: number): Promise<Rate> {
  const beginsAt = performance.now() + WARMUP_MS;
  const endsAt = beginsAt + seconds * 1000;
  const times: number[] = [];
  let items = 0;
  const client = async (): Promise<void> => {
    while (performance.now() < endsAt) {
      const startedAt = performance.now();
      const completed = await cycle(size);
      const doneAt = performance.now();
      if (completed === 0 || startedAt < beginsAt || doneAt > endsAt) continue;
      items += completed;
      times.push(doneAt - startedAt);
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  return { perSecond: items / seconds, p50Ms: quantile(times, 0.5), p99Ms: quantile(times, 0.99) };
}

/** At once. */
function many<Value>(size: number, one: () => Promise<Value>): Promise<Value[]> {
  return Promise.all(Array.from({ length: size }, one));
}

async function bullmq(url: string): Promise<Contender> {
  const { hostname: host, port } = new URL(url);
  const connection = { host, port: Number(port), maxRetriesPerRequest: null };
  const queue = new Queue('bench', { connection, defaultJobOptions: { removeOnComplete: 1000 } });
  const worker = new Worker('bench', null, { connection, lockDuration: LEASE_MS });
  await worker.waitUntilReady();
  return {
    title: 'BullMQ',
    aims: ['', ''],
    async cycle(size) {
      await queue.addBulk(Array.from({ length: size }, () => ({ name: 'task', data: TASK })));
      const token = randomUUID();
      const taken = await many(size, () => worker.getNextJob(token, { block: false }));
      const jobs = taken.filter((job) => job !== undefined);
      await Promise.all(jobs.map((job) => job.moveToCompleted('done', token, false)));
      return jobs.length;
    },
    async stop() {
      await worker.close();
      await queue.close();
    },
  };
}

async function pgBoss(url: string): Promise<Contender> {
  const boss = new PgBoss({ connectionString: url, max: POOL_SIZE, supervise: false, schedule: false });
  await boss.start();
  await boss.createQueue('bench', { expireInSeconds: LEASE_MS / 1000 });
  return {
    title: 'pg-boss',
    aims: ['', ''],
    async cycle(size) {
      await boss.insert(
        'bench',
        Array.from({ length: size }, () => ({ data: TASK })),
      );
      const jobs = await boss.fetch('bench', { batchSize: size });
      const ids = jobs.map(({ id }) => id);
      if (ids.length > 0) await boss.complete('bench', ids, { said: 'done' });
      return ids.length;
    },
    stop: () => boss.stop({ graceful: false }),
  };
}

async function ours(url: string): Promise<Contender> {
  const database = await openPostgresDatabase({ url, log, poolSize: POOL_SIZE });
  const bed = await openQueueBed(database);
  return {
    title: 'queues of the universe',
    aims: ['>= 0.5 x', '>= 1 x'],
    async cycle(size) {
      await many(size, () => bed.put('bench', TASK));
      const taken = await many(size, () => bed.take('bench', LEASE_MS));
      const ids = taken.filter((id) => id !== null);
      await Promise.all(ids.map((id) => bed.complete(id, 'done')));
      return ids.length;
    },
    async stop() {
      await bed.close();
      await database.close();
    },
  };
}
