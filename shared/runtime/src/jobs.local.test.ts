import { setTimeout as delay } from 'node:timers/promises';
import { createFakeClock } from '@svc/testing/fakes.ts';
import { describeJobs } from '@svc/testing/jobs.contract.ts';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { createLocalJobs } from './jobs.local.ts';

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
