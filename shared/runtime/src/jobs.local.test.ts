import { setTimeout as delay } from 'node:timers/promises';
import { createFakeClock, type FakeClock } from '@svc/testing/fakes.ts';
import { describeJobs } from '@svc/testing/jobs.contract.ts';
import { pino } from 'pino';
import { expect, test, vi } from 'vitest';
import { createLocalJobs } from './jobs.local.ts';
import { type JobContext, type Jobs, slotAfter } from './jobs.ts';

const log = pino({ level: 'silent' });

describeJobs('local', async () => createLocalJobs({ log }));

test('slots follow the injected clock', async () => {
  const clock = createFakeClock();
  const jobs = createLocalJobs({ log, clock });
  const slots: number[] = [];
  const startedAt = clock.now();
  await jobs.schedule({
    id: 'test.clock',
    everyMs: 50,
    scope: 'process',
    run: async ({ scheduledAt }) => {
      slots.push(scheduledAt);
    },
  });
  await delay(120);
  expect(slots).toEqual([]);
  clock.set(startedAt + 50);
  while (slots.length === 0) await delay(5);
  expect(slots).toEqual([startedAt + 50]);
  await jobs.close();
});

/** What a job saw, on timers that the test moves. */
async function withJob(
  everyMs: number,
  act: (given: { clock: FakeClock; jobs: Jobs; runs: number[] }) => Promise<void>,
) {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const clock = createFakeClock();
  const jobs = createLocalJobs({ log, clock });
  const runs: number[] = [];
  try {
    const run = async ({ scheduledAt }: JobContext) => void runs.push(scheduledAt);
    await jobs.schedule({ id: 'test.set', everyMs, scope: 'process', run });
    await act({ clock, jobs, runs });
    await jobs.close();
  } finally {
    vi.useRealTimers();
  }
}

test('a clock that is set back by an hour holds up no job', async () => {
  await withJob(1000, async ({ clock, runs }) => {
    clock.set(slotAfter(clock.now(), 1000));
    await vi.advanceTimersByTimeAsync(1000);
    expect(runs).toHaveLength(1);
    clock.set(clock.now() - 3_600_000);
    for (let second = 0; second < 5; second += 1) {
      await vi.advanceTimersByTimeAsync(1000);
      clock.set(clock.now() + 1000);
    }
    expect(runs.length).toBeGreaterThanOrEqual(4);
    expect(runs.length).toBeLessThanOrEqual(6);
  });
});

test('what a clock that is set forward makes due waits no longer than a minute', async () => {
  await withJob(86_400_000, async ({ clock, jobs, runs }) => {
    const at = clock.now() + 600_000;
    await jobs.wake('test.set', at);
    clock.set(at + 1000);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(runs).toEqual([at]);
  });
});
