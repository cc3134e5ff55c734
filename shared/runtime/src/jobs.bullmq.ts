/** Jobs of a cluster: slots and wakes in Redis (BullMQ), so that one replica runs each. */
import { setTimeout as delay } from 'node:timers/promises';
import { type Job, Queue, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { IdleGate } from './idle-gate.ts';
import { createLocalJobs } from './jobs.local.ts';
import { type JobDeclaration, type Jobs, slotAfter } from './jobs.ts';
import { duplicateForBlocking, isRedisAway } from './redis.ts';

interface BullmqJobsOptions {
  /** A connection whose commands fail fast; workers get connections of their own. It is left open at close. */
  readonly redis: Redis;
  readonly log: Pick<Logger, 'error' | 'warn'>;
  /** Start of all keys. Braces keep the keys of one queue together on Redis Cluster. */
  readonly prefix?: string;
  /** How often each replica looks whether its schedules still stand. */
  readonly rebuildEveryMs?: number;
}

const DEFAULT_PREFIX = '{svc-jobs}';
const DEFAULT_REBUILD_MS = 10_000;
/** A replica that was killed loses its run to another after at most the sum of these. */
const LOCK_MS = 10_000;
const STALLED_CHECK_MS = 5_000;
/** A run is safe to repeat, so losing its worker often is no reason to give it up. */
const MAX_STALLED = 100;
/** How long closing waits for a Redis that is away. */
const CLOSE_LIMIT_MS = 2_000;
const SLOT = 'slot';
const WAKE = 'wake';
const SCHEDULER_ID = 'slots';
/** Delayed jobs looked at to find an earlier wish: a schedule has one, wishes are few. */
const WISHES_SEEN = 20;

const repeatStrategy = (nowMs: number, options: { readonly pattern?: string }) =>
  slotAfter(nowMs, Number(options.pattern));

export function createBullmqJobs(options: BullmqJobsOptions): Jobs {
  const { redis, log, rebuildEveryMs = DEFAULT_REBUILD_MS } = options;
  const local = createLocalJobs({ log });
  const cluster = new Map<string, ClusterJob>();
  const ending = new Set<Promise<void>>();
  let closed = false;
  const workerRedis = duplicateForBlocking(redis);

  const rebuild = () => {
    for (const job of cluster.values()) void job.rebuild();
  };
  const timer = setInterval(rebuild, rebuildEveryMs);
  redis.on('ready', rebuild);

  return {
    async schedule(job) {
      if (closed) throw new Error('jobs are closed');
      if (job.scope === 'process') return local.schedule(job);
      const known = cluster.get(job.id);
      if (known !== undefined) return known.replace(job);
      const created = new ClusterJob(job, workerRedis, options);
      cluster.set(job.id, created);
      await created.declare();
    },
    async wake(id, at) {
      const job = cluster.get(id);
      await (job === undefined ? local.wake(id, at) : job.wake(at));
    },
    async cancel(id) {
      const job = cluster.get(id);
      if (job === undefined) return local.cancel(id);
      await job.cancel();
      cluster.delete(id);
      // Not awaited: a job may cancel itself. `close` waits for it.
      const ended = job.close().finally(() => ending.delete(ended));
      ending.add(ended);
    },
    async close() {
      closed = true;
      clearInterval(timer);
      redis.off('ready', rebuild);
      await Promise.all([local.close(), ...ending, ...[...cluster.values()].map((job) => job.close())]);
      workerRedis.disconnect();
    },
  };
}

/** One queue per job: its single worker per process keeps runs from overlapping. */
class ClusterJob {
  readonly #redis: Redis;
  readonly #log: BullmqJobsOptions['log'];
  readonly #queue: Queue;
  readonly #worker: Worker;
  readonly #drain = new AbortController();
  readonly #runs = new IdleGate();
  readonly #cancelledKey: string;
  #job: JobDeclaration;

  constructor(job: JobDeclaration, workerRedis: Redis, { redis, log, prefix = DEFAULT_PREFIX }: BullmqJobsOptions) {
    this.#job = job;
    this.#redis = redis;
    this.#log = log;
    this.#cancelledKey = `${prefix}:cancelled`;
    this.#queue = new Queue(job.id, {
      connection: redis,
      prefix,
      settings: { repeatStrategy },
      defaultJobOptions: { removeOnComplete: true, removeOnFail: true },
    });
    this.#worker = new Worker(job.id, (run) => this.#process(run), {
      connection: workerRedis,
      prefix,
      settings: { repeatStrategy },
      concurrency: 1,
      lockDuration: LOCK_MS,
      stalledInterval: STALLED_CHECK_MS,
      maxStalledCount: MAX_STALLED,
    });
    const report = (error: Error) => {
      if (!isRedisAway(error)) log.warn({ err: error, job: job.id }, 'the job queue reports an error');
    };
    this.#queue.on('error', report);
    this.#worker.on('error', report);
  }

  /** Without Redis, `rebuild` does it when Redis is back. */
  async declare(): Promise<void> {
    await this.#attempt('declare', async () => {
      await this.#redis.srem(this.#cancelledKey, this.#job.id);
      await this.#putSchedule();
    });
  }

  async replace(job: JobDeclaration): Promise<void> {
    this.#job = job;
    await this.declare();
  }

  /** Puts the schedule back when it was lost, unless a replica cancelled the job. */
  async rebuild(): Promise<void> {
    await this.#attempt('rebuild', async () => {
      const cancelled = await this.#redis.sismember(this.#cancelledKey, this.#job.id);
      if (cancelled === 0) await this.#putSchedule();
    });
  }

  async wake(at: number): Promise<void> {
    await this.#attempt('wake', async () => {
      const now = Date.now();
      if (at <= now) {
        await this.#queue.add(WAKE, { at: now }, { deduplication: { id: WAKE } });
      } else if (!(await this.#hasWishBefore(at))) {
        await this.#queue.add(WAKE, { at }, { delay: at - now, deduplication: { id: `${WAKE}-${at}` } });
      }
    });
  }

  async cancel(): Promise<void> {
    await this.#redis.sadd(this.#cancelledKey, this.#job.id);
    await this.#queue.removeJobScheduler(SCHEDULER_ID);
    await this.#queue.drain(true);
  }

  async close(): Promise<void> {
    this.#drain.abort();
    const closed = this.#worker.close().then(() => this.#queue.close());
    closed.catch(() => {});
    // Without Redis the worker waits for it to come back; then its runs are what counts.
    const runsDone = this.#runs.idle().then(() => delay(CLOSE_LIMIT_MS, undefined, { ref: false }));
    await Promise.race([closed, runsDone]);
    await this.#runs.idle();
  }

  async #process(run: Job<{ readonly at?: number }>): Promise<void> {
    // From here on a new wish must lead to a new run: this one may have looked already.
    if (run.deduplicationId === WAKE) await this.#attempt('wake', () => this.#forgetWish());
    const scheduledAt = run.data.at ?? run.opts.prevMillis ?? run.timestamp;
    this.#runs.enter();
    try {
      await this.#job.run({ scheduledAt, signal: this.#drain.signal });
    } catch (error) {
      this.#log.error({ err: error, job: this.#job.id }, 'a job failed; its next slot comes');
    }
    this.#runs.leave();
  }

  /** Leaves a schedule alone that is as it should be, so that replicas do not move each other's slots. */
  async #putSchedule(): Promise<void> {
    const pattern = String(this.#job.everyMs);
    const known = await this.#queue.getJobScheduler(SCHEDULER_ID);
    const overdueMs = Date.now() - (known?.next ?? 0);
    if (known?.pattern === pattern && overdueMs < this.#job.everyMs + LOCK_MS + STALLED_CHECK_MS) return;
    await this.#queue.upsertJobScheduler(SCHEDULER_ID, { pattern }, { name: SLOT });
  }

  async #hasWishBefore(at: number): Promise<boolean> {
    const delayed = await this.#queue.getDelayed(0, WISHES_SEEN - 1);
    return delayed.some((job) => job?.name === WAKE && job.data.at <= at);
  }

  async #forgetWish(): Promise<void> {
    await this.#queue.removeDeduplicationKey(WAKE);
  }

  /** The database knows what is due, so a Redis that is away delays work and loses none. */
  async #attempt(what: string, action: () => Promise<void>): Promise<void> {
    if (this.#redis.status !== 'ready') return;
    try {
      await action();
    } catch (error) {
      if (error instanceof Error && isRedisAway(error)) return;
      this.#log.warn({ err: error, job: this.#job.id, what }, 'Redis failed: the job waits');
    }
  }
}
