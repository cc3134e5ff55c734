/** What all jobs promise. `jobs.local` and `jobs.bullmq` both pass this suite. */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { JobContext, JobDeclaration, Jobs } from '@svc/runtime/jobs.ts';
import { afterEach, describe, expect, test } from 'vitest';

const HOUR_MS = 3_600_000;
const EVERY_MS = 100;

async function eventually(condition: () => boolean): Promise<void> {
  while (!condition()) await delay(5);
}

/** `create` null: the suite is skipped, visibly. */
export function describeJobs(name: string, create: (() => Promise<Jobs>) | null): void {
  describe.skipIf(create === null).each(['cluster', 'process'] as const)(`jobs: ${name}, scope %s`, (scope) => {
    const opened: Jobs[] = [];
    const open = async () => {
      if (create === null) throw new Error('skipped');
      const jobs = await create();
      opened.push(jobs);
      return jobs;
    };
    afterEach(async () => {
      await Promise.all(opened.splice(0).map((jobs) => jobs.close()));
    });
    const declare = (everyMs: number, run: JobDeclaration['run']): JobDeclaration => {
      return { id: `test.${randomUUID()}`, everyMs, scope, run };
    };
    describeSlots(open, declare);
    describeWakes(open, declare);
    describeEnds(open, declare);
  });
}

type Open = () => Promise<Jobs>;
type Declare = (everyMs: number, run: JobDeclaration['run']) => JobDeclaration;

function describeSlots(open: Open, declare: Declare): void {
  test('each slot runs once, in order, never early', async () => {
    const jobs = await open();
    const runs: { scheduledAt: number; startedAt: number }[] = [];
    await jobs.schedule(
      declare(EVERY_MS, async ({ scheduledAt }) => {
        runs.push({ scheduledAt, startedAt: Date.now() });
      }),
    );
    await eventually(() => runs.length >= 6);
    const slots = runs.map(({ scheduledAt }) => scheduledAt);
    expect(slots).toEqual([...new Set(slots)].sort((one, other) => one - other));
    for (const { scheduledAt, startedAt } of runs) {
      expect(scheduledAt % EVERY_MS).toBe(0);
      expect(startedAt).toBeGreaterThanOrEqual(scheduledAt);
    }
  });

  test('runs longer than the interval do not overlap', async () => {
    const jobs = await open();
    let running = 0;
    let most = 0;
    let done = 0;
    await jobs.schedule(
      declare(EVERY_MS, async () => {
        running += 1;
        most = Math.max(most, running);
        await delay(EVERY_MS * 2.5);
        running -= 1;
        done += 1;
      }),
    );
    await eventually(() => done >= 4);
    expect(most).toBe(1);
  });

  test('a run that takes long holds up no other job', async () => {
    const jobs = await open();
    const end = Promise.withResolvers<void>();
    const started = Promise.withResolvers<void>();
    await jobs.schedule(
      declare(EVERY_MS, () => {
        started.resolve();
        return end.promise;
      }),
    );
    await started.promise;
    let others = 0;
    await jobs.schedule(
      declare(EVERY_MS, async () => {
        others += 1;
      }),
    );
    await eventually(() => others >= 8);
    end.resolve();
  });

  test('the next slot comes after a run that threw', async () => {
    const jobs = await open();
    let runs = 0;
    await jobs.schedule(
      declare(EVERY_MS, async () => {
        runs += 1;
        throw new Error('a bug');
      }),
    );
    await eventually(() => runs >= 3);
  });

  test('declaring an id again replaces interval and work', async () => {
    const jobs = await open();
    let before = 0;
    let after = 0;
    const first = declare(HOUR_MS, async () => {
      before += 1;
    });
    await jobs.schedule(first);
    await jobs.schedule({
      ...first,
      everyMs: EVERY_MS,
      run: async () => {
        after += 1;
      },
    });
    await eventually(() => after >= 2);
    expect(before).toBe(0);
  });
}

function describeWakes(open: Open, declare: Declare): void {
  test('a wish runs once, for its time, never early', async () => {
    const jobs = await open();
    const runs: { scheduledAt: number; startedAt: number }[] = [];
    const job = declare(HOUR_MS, async ({ scheduledAt }) => {
      runs.push({ scheduledAt, startedAt: Date.now() });
    });
    await jobs.schedule(job);
    const at = Date.now() + 150;
    await jobs.wake(job.id, at);
    await eventually(() => runs.length > 0);
    await delay(100);
    expect(runs).toHaveLength(1);
    expect(runs[0]?.scheduledAt).toBe(at);
    expect(runs[0]?.startedAt).toBeGreaterThanOrEqual(at);
  });

  test('the earliest wish wins', async () => {
    const jobs = await open();
    const runs: number[] = [];
    const job = declare(HOUR_MS, async ({ scheduledAt }) => {
      runs.push(scheduledAt);
    });
    await jobs.schedule(job);
    const now = Date.now();
    for (const at of [now + 60_000, now + 200, now + 40_000]) await jobs.wake(job.id, at);
    await eventually(() => runs.length > 0);
    expect(runs).toEqual([now + 200]);
  });

  test('wishes for the past run now; those made during a run lead to one more', async () => {
    const jobs = await open();
    const gates: (() => void)[] = [];
    const job = declare(HOUR_MS, async () => {
      await new Promise<void>((resolve) => gates.push(resolve));
    });
    await jobs.schedule(job);
    await jobs.wake(job.id, 0);
    await eventually(() => gates.length === 1);
    await Promise.all(Array.from({ length: 30 }, () => jobs.wake(job.id, 0)));
    await delay(50);
    expect(gates).toHaveLength(1);
    gates[0]?.();
    await eventually(() => gates.length === 2);
    gates[1]?.();
    await delay(100);
    expect(gates).toHaveLength(2);
  });

  test('a wish for a job nobody declared is no error', async () => {
    const jobs = await open();
    await jobs.wake('test.unknown', Date.now());
  });
}

function describeEnds(open: Open, declare: Declare): void {
  test('a cancelled job runs no more, and may be declared again', async () => {
    const jobs = await open();
    let runs = 0;
    const job = declare(EVERY_MS, async () => {
      runs += 1;
    });
    await jobs.schedule(job);
    await eventually(() => runs >= 1);
    await jobs.cancel(job.id);
    await delay(20);
    const atCancel = runs;
    await jobs.wake(job.id, 0);
    await delay(EVERY_MS * 3);
    expect(runs).toBe(atCancel);
    await jobs.schedule(job);
    await eventually(() => runs > atCancel);
  });

  test('a job may cancel itself', async () => {
    const jobs = await open();
    let runs = 0;
    const job = declare(EVERY_MS, async () => {
      runs += 1;
      await jobs.cancel(job.id);
    });
    await jobs.schedule(job);
    await eventually(() => runs >= 1);
    await delay(EVERY_MS * 3);
    expect(runs).toBe(1);
    await jobs.close();
  });

  test('close tells a run under way, waits for it, and lets none begin', async () => {
    const jobs = await open();
    const started = Promise.withResolvers<JobContext>();
    let done = 0;
    const job = declare(HOUR_MS, async (context) => {
      started.resolve(context);
      await delay(150);
      done += 1;
    });
    await jobs.schedule(job);
    await jobs.wake(job.id, 0);
    const { signal } = await started.promise;
    await jobs.wake(job.id, 0);
    expect(signal.aborted).toBe(false);
    const closed = jobs.close();
    expect(signal.aborted).toBe(true);
    await closed;
    expect(done).toBe(1);
    await delay(50);
    expect(done).toBe(1);
    await expect(jobs.schedule(job)).rejects.toThrow('closed');
  });
}
