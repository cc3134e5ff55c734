/** Programs that go on after their call, while what follows them fails. */
import { setTimeout as delay } from 'node:timers/promises';
import { systemClock } from '@svc/runtime/clock.ts';
import { findBubblewrap } from '@svc/testing/servers/bubblewrap.ts';
import { afterAll, expect, test } from 'vitest';
import { createFollowing } from './following.ts';
import type { JobEnd } from './job-store.ts';
import { createShellSandbox, type ShellRun } from './sandbox.ts';
import { createShell, SHELL_SLOTS } from './shell.ts';

const installed = findBubblewrap();
const sandbox = createShellSandbox(installed ?? '');
const shell = createShell(systemClock, sandbox);
afterAll(() => shell.close());

const ENDED: ShellRun = { exitCode: 0, stdout: 'done\n', stderr: '', truncated: false, timedOut: false, started: true };

test('the end of a program is told when the database is there again, and costs nobody anything until then', async () => {
  let isAway = true;
  const told: JobEnd[] = [];
  const warned: string[] = [];
  const jobs = {
    async print() {},
    async end(_jobId: string, end: JobEnd) {
      if (isAway) throw new Error('the database is away');
      told.push(end);
    },
  };
  const log = { warn: (_about: unknown, line = '') => void warned.push(line) };
  const following = createFollowing(jobs, { clock: systemClock, log }, 5);
  following.follow('job_1', { done: Promise.resolve(ENDED), output: () => ENDED });
  await expect.poll(() => warned.length).toBeGreaterThan(2);
  isAway = false;
  await expect.poll(() => told).toEqual([{ output: 'done', exitCode: 0 }]);
  isAway = true;
  following.follow('job_2', { done: Promise.resolve(ENDED), output: () => ENDED });
  await delay(10);
  await following.close();
});

test.skipIf(installed === null)(
  'a program of which nothing could be noted ends, and has its place until then',
  async () => {
    const spawn = (begun: () => Promise<void>) =>
      shell.spawn({ workspace: 'a', family: null }, ['tail', '-f', '/dev/null'], 60_000, begun);
    for (let round = 0; round <= SHELL_SLOTS.atOnceOfWorkspace; round += 1) {
      await expect(spawn(() => Promise.reject(new Error('no row')))).rejects.toThrow('no row');
      expect(sandbox.running()).toBe(0);
    }
    const held = Promise.withResolvers<void>();
    const waiting = [spawn(() => held.promise), spawn(() => held.promise)];
    await expect(spawn(async () => {})).rejects.toMatchObject({ code: 'RATE_LIMITED' });
    held.resolve();
    expect(await Promise.all(waiting)).toMatchObject([{ ok: true }, { ok: true }]);
  },
);
