/**
 * Jobs of a cluster: slots and wakes in Redis (BullMQ), so that one replica runs each. The jobs of one service share a
 * queue: each queue takes a connection of its own to every replica, and asks Redis all the time.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type Job, type JobSchedulerJson, Queue, WaitingError, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import { IdleGate } from './idle-gate.ts';
import { JobLog, type JobLogger } from './job-log.ts';
import { createLocalJobs } from './jobs.local.ts';
import { type JobDeclaration, type Jobs, slotAfter } from './jobs.ts';
import { duplicateForBlocking, isRedisAway, isRedisRefusing } from './redis.ts';
import { RepeatedTrouble, troubleOf } from './repeated-trouble.ts';
import { createTurn } from './turns.ts';

interface BullmqJobsOptions {
  /** A connection whose commands fail fast; workers get connections of their own. It is left open at close. */
  readonly redis: Redis;
  readonly log: JobLogger;
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
/** More than a service has of jobs, so that none waits for another one. */
const RUNS_AT_ONCE = 100;
/** How long nothing is fetched after Redis has refused to hand out work. */
const REST_MS = 1_000;
const REFUSED_FOR_MS = 5 * REST_MS;
/** Delayed jobs looked at to find an earlier wish: each schedule has one, wishes are few. */
const WISHES_SEEN = 100;

const repeatStrategy = (nowMs: number, options: { readonly pattern?: string }) =>
  slotAfter(nowMs, Number(options.pattern));

interface BullmqJobs extends Jobs {
  /** Redis is there and has just refused to hand out work. */
  readonly isRefused: boolean;
}

export function createBullmqJobs(options: BullmqJobsOptions): BullmqJobs {
  const { redis, log, rebuildEveryMs = DEFAULT_REBUILD_MS } = options;
  const local = createLocalJobs({ log });
  const queues = new Map<string, ServiceQueue>();
  let closed = false;
  const workerRedis = duplicateForBlocking(redis);

  const rebuild = () => {
    for (const queue of queues.values()) void queue.rebuild();
  };
  const timer = setInterval(rebuild, rebuildEveryMs);
  redis.on('ready', rebuild);
  const holding = (id: string) => [...queues.values()].find((queue) => queue.has(id));

  return {
    get isRefused() {
      return [...queues.values()].some(({ isRefused }) => isRefused);
    },
    async schedule(job) {
      if (closed) throw new Error('jobs are closed');
      if (job.scope === 'process') return local.schedule(job);
      const [service = ''] = job.id.split('.', 1);
      const queue = queues.get(service) ?? new ServiceQueue(service, workerRedis, options);
      queues.set(service, queue);
      await queue.declare(job);
    },
    async wake(id, at) {
      await (holding(id) ?? local).wake(id, at);
    },
    async cancel(id) {
      await (holding(id) ?? local).cancel(id);
    },
    async close() {
      closed = true;
      clearInterval(timer);
      redis.off('ready', rebuild);
      await Promise.all([local.close(), ...[...queues.values()].map((queue) => queue.close())]);
      workerRedis.disconnect();
    },
  };
}

type Run = Job<{ readonly at?: number }>;

/** The jobs of one service in this process, and what Redis holds of them. A run bears the id of its job as its name. */
class ServiceQueue {
  readonly #redis: Redis;
  readonly #log: BullmqJobsOptions['log'];
  readonly #queue: Queue;
  readonly #worker: Worker;
  readonly #runs = new IdleGate();
  readonly #cancelledKey: string;
  readonly #jobs = new Map<string, DeclaredJob>();
  /** What was said of the queue, and when. */
  readonly #trouble = new RepeatedTrouble();
  #resting: NodeJS.Timeout | undefined;
  #refusedAt = Number.NEGATIVE_INFINITY;

  constructor(service: string, workerRedis: Redis, { redis, log, prefix = DEFAULT_PREFIX }: BullmqJobsOptions) {
    this.#redis = redis;
    this.#log = log;
    this.#cancelledKey = `${prefix}:cancelled`;
    const name = `${service}.jobs`;
    this.#queue = new Queue(name, {
      connection: redis,
      prefix,
      settings: { repeatStrategy },
      defaultJobOptions: { removeOnComplete: true, removeOnFail: true },
    });
    this.#worker = new Worker(name, (run: Run, token) => this.#process(run, token), {
      connection: workerRedis,
      prefix,
      settings: { repeatStrategy },
      concurrency: RUNS_AT_ONCE,
      lockDuration: LOCK_MS,
      stalledInterval: STALLED_CHECK_MS,
      maxStalledCount: MAX_STALLED,
    });
    this.#queue.on('error', (error) => this.#tell(error, 'the job queue reports an error'));
    this.#worker.on('error', (error) => {
      this.#tell(error, 'the job queue reports an error');
      if (isRedisRefusing(error)) this.#rest();
    });
  }

  /** While it goes on, it is so each time that Redis is asked. */
  get isRefused(): boolean {
    return performance.now() - this.#refusedAt < REFUSED_FOR_MS;
  }

  has(id: string): boolean {
    return this.#jobs.has(id);
  }

  /** Without Redis, `rebuild` does it when Redis is back. */
  async declare(declaration: JobDeclaration): Promise<void> {
    const known = this.#jobs.get(declaration.id);
    if (known === undefined) this.#jobs.set(declaration.id, new DeclaredJob(declaration, this.#log));
    else known.declaration = declaration;
    await this.#attempt('declare', async () => {
      await this.#redis.srem(this.#cancelledKey, declaration.id);
      await this.#putSchedule(declaration, await this.#queue.getJobScheduler(declaration.id));
    });
  }

  /** Puts schedules back that were lost, unless a replica cancelled the job. */
  async rebuild(): Promise<void> {
    await this.#attempt('rebuild', async () => {
      const cancelled = await this.#redis.smembers(this.#cancelledKey);
      const schedules = await this.#queue.getJobSchedulers();
      for (const { declaration } of this.#jobs.values()) {
        const known = schedules.find(({ key }) => key === declaration.id);
        if (!cancelled.includes(declaration.id)) await this.#putSchedule(declaration, known);
      }
    });
  }

  async wake(id: string, at: number): Promise<void> {
    await this.#attempt('wake', async () => {
      const now = Date.now();
      if (at <= now) {
        await this.#queue.add(id, { at: now }, { deduplication: { id } });
      } else if (!(await this.#hasWishBefore(id, at))) {
        await this.#queue.add(id, { at }, { delay: at - now, deduplication: { id: `${id}-${at}` } });
      }
    });
  }

  async cancel(id: string): Promise<void> {
    await this.#redis.sadd(this.#cancelledKey, id);
    await this.#queue.removeJobScheduler(id);
    const pending = await this.#queue.getJobs(['waiting', 'delayed']);
    // One that has begun since then stays and ends by itself.
    for (const run of pending) if (run?.name === id && run.id !== undefined) await this.#queue.remove(run.id);
    this.#jobs.get(id)?.end();
    this.#jobs.delete(id);
  }

  async close(): Promise<void> {
    clearTimeout(this.#resting);
    for (const job of this.#jobs.values()) job.end();
    const closed = this.#worker.close().then(() => this.#queue.close());
    closed.catch(() => {});
    // Without Redis the worker waits for it to come back; then its runs are what counts.
    const runsDone = this.#runs.idle().then(() => delay(CLOSE_LIMIT_MS, undefined, { ref: false }));
    await Promise.race([closed, runsDone]);
    await this.#runs.idle();
  }

  async #process(run: Run, token: string | undefined): Promise<void> {
    // One that only other replicas declare, as while they are replaced by newer ones, waits for its next slot.
    const job = this.#jobs.get(run.name);
    if (job === undefined) return;
    const scheduledAt = run.data.at ?? run.opts.prevMillis ?? run.timestamp;
    this.#runs.enter();
    try {
      const isOver = await job.run(scheduledAt, {
        isSlot: run.deduplicationId === undefined,
        // From here on a new wish must lead to a new run: this one may have looked already.
        begins: () => this.#forgetWish(run),
      });
      if (isOver) return;
    } finally {
      this.#runs.leave();
    }
    await run.moveToWait(token); // another replica runs it
    throw new WaitingError();
  }

  /** Leaves a schedule alone that is as it should be, so that replicas do not move each other's slots. */
  async #putSchedule({ id, everyMs }: JobDeclaration, known: JobSchedulerJson | undefined): Promise<void> {
    const pattern = String(everyMs);
    const overdueMs = Date.now() - (known?.next ?? 0);
    const toleratedMs = everyMs + LOCK_MS + STALLED_CHECK_MS;
    // One too far ahead is of a clock that was set back meanwhile.
    if (known?.pattern === pattern && Math.abs(overdueMs) < toleratedMs) return;
    await this.#queue.upsertJobScheduler(id, { pattern }, { name: id });
  }

  async #hasWishBefore(id: string, at: number): Promise<boolean> {
    const delayed = await this.#queue.getDelayed(0, WISHES_SEEN - 1);
    return delayed.some((run) => run?.name === id && run.data.at <= at);
  }

  async #forgetWish({ name, deduplicationId }: Run): Promise<void> {
    if (deduplicationId !== name) return;
    await this.#attempt('wake', async () => void (await this.#queue.removeDeduplicationKey(name)));
  }

  /** The database knows what is due, so a Redis that is away delays work and loses none. */
  async #attempt(what: string, action: () => Promise<void>): Promise<void> {
    if (this.#redis.status !== 'ready') return;
    try {
      await action();
    } catch (error) {
      this.#tell(error, `Redis failed at ${what}: the job waits`);
    }
  }

  #tell(error: unknown, trouble: string): void {
    if (error instanceof Error && isRedisAway(error)) return;
    if (!this.#trouble.isDue(`${trouble} ${troubleOf(error)}`)) return;
    this.#log.warn({ err: error, queue: this.#queue.name }, trouble);
  }

  /** As long as Redis is there and refuses, BullMQ asks it again at once, as fast as it can. */
  #rest(): void {
    this.#refusedAt = performance.now();
    if (this.#resting !== undefined) return;
    void this.#worker.pause(true);
    this.#resting = setTimeout(() => {
      this.#resting = undefined;
      void this.#worker.resume();
    }, REST_MS);
  }
}

interface Occasion {
  readonly isSlot: boolean;
  begins(): Promise<void>;
}

/** A job as this process declares it; its runs do not overlap. */
class DeclaredJob {
  declaration: JobDeclaration;
  readonly #log: JobLog;
  readonly #drain = new AbortController();
  readonly #inTurn = createTurn();
  #slotWaits = false;

  constructor(declaration: JobDeclaration, log: BullmqJobsOptions['log']) {
    this.declaration = declaration;
    this.#log = new JobLog(log);
  }

  /** Tells the run under way; no other begins. */
  end(): void {
    this.#drain.abort();
  }

  /** False when it did not begin because of the end. */
  async run(scheduledAt: number, { isSlot, begins }: Occasion): Promise<boolean> {
    // The one that waits already will see what is due by then.
    if (isSlot && this.#slotWaits) return true;
    if (isSlot) this.#slotWaits = true;
    return this.#inTurn(async () => {
      if (isSlot) this.#slotWaits = false;
      const { signal } = this.#drain;
      if (signal.aborted) return false;
      await begins();
      await this.#log.run(this.declaration, { scheduledAt, signal });
      return true;
    });
  }
}
