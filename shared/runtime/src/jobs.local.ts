/** Jobs on timers of this process. */
import { type Clock, systemClock } from './clock.ts';
import { JobLog, type JobLogger } from './job-log.ts';
import { type JobDeclaration, type Jobs, slotAfter } from './jobs.ts';

interface LocalJobsOptions {
  readonly log: JobLogger;
  readonly clock?: Clock;
}

/** Timers do not follow the clock when it is set, nor through the sleep of a machine: longer waits look again then. */
const LOOK_AGAIN_MS = 60_000;

export function createLocalJobs({ log, clock = systemClock }: LocalJobsOptions): Jobs {
  const loops = new Map<string, JobLoop>();
  const ending = new Set<Promise<void>>();
  let closed = false;
  return {
    async schedule(job) {
      if (closed) throw new Error('jobs are closed');
      const known = loops.get(job.id);
      if (known === undefined) loops.set(job.id, new JobLoop(job, clock, log));
      else known.replace(job);
    },
    async wake(id, at) {
      loops.get(id)?.wake(at);
    },
    async cancel(id) {
      const loop = loops.get(id);
      if (loop === undefined) return;
      loops.delete(id);
      // Not awaited: a job may cancel itself. `close` waits for it.
      const ended = loop.stop().finally(() => ending.delete(ended));
      ending.add(ended);
    },
    async close() {
      closed = true;
      await Promise.all([...ending, ...[...loops.values()].map((loop) => loop.stop())]);
    },
  };
}

/** One job: at most one timer and one run at a time. */
class JobLoop {
  readonly #clock: Clock;
  readonly #log: JobLog;
  readonly #drain = new AbortController();
  #job: JobDeclaration;
  #nextSlot: number;
  #wakeAt = Number.POSITIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;

  constructor(job: JobDeclaration, clock: Clock, log: JobLogger) {
    this.#job = job;
    this.#clock = clock;
    this.#log = new JobLog(log);
    this.#nextSlot = slotAfter(clock.now(), job.everyMs);
    this.#arm();
  }

  replace(job: JobDeclaration): void {
    this.#job = job;
    this.#nextSlot = slotAfter(this.#clock.now(), job.everyMs);
    this.#arm();
  }

  wake(at: number): void {
    const dueAt = Math.max(at, this.#clock.now());
    if (dueAt >= this.#wakeAt) return;
    this.#wakeAt = dueAt;
    this.#arm();
  }

  async stop(): Promise<void> {
    this.#drain.abort();
    clearTimeout(this.#timer);
    await this.#running;
  }

  #arm(): void {
    clearTimeout(this.#timer);
    if (this.#running !== undefined || this.#drain.signal.aborted) return;
    const now = this.#clock.now();
    // The next slot of a clock that was set back is an earlier one.
    this.#nextSlot = Math.min(this.#nextSlot, slotAfter(now, this.#job.everyMs));
    const waitMs = Math.min(this.#nextSlot, this.#wakeAt) - now;
    this.#timer = setTimeout(() => this.#fire(), Math.min(Math.max(waitMs, 0), LOOK_AGAIN_MS));
  }

  #fire(): void {
    const now = this.#clock.now();
    const scheduledAt = Math.min(this.#nextSlot, this.#wakeAt);
    if (scheduledAt <= now) {
      if (this.#wakeAt <= now) this.#wakeAt = Number.POSITIVE_INFINITY;
      if (this.#nextSlot <= now) this.#nextSlot = slotAfter(now, this.#job.everyMs);
      this.#running = this.#run(scheduledAt).finally(() => {
        this.#running = undefined;
        this.#arm();
      });
    } else {
      this.#arm();
    }
  }

  async #run(scheduledAt: number): Promise<void> {
    await this.#log.run(this.#job, { scheduledAt, signal: this.#drain.signal });
  }
}
