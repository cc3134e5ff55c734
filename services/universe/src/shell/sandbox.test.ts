/** What becomes of a program whose sandbox is killed while it comes up, and what it cannot have of the kernel. */
import { arch } from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { findBubblewrap } from '@svc/testing/servers/bubblewrap.ts';
import { expect, test } from 'vitest';
import { createShellSandbox } from './sandbox.ts';

const installed = findBubblewrap();
const SHELLS = 200;

test.skipIf(installed === null)('a sandbox that is killed at any moment of its start is over at once', async () => {
  const sandbox = createShellSandbox(installed ?? '');
  const shells = Array.from({ length: SHELLS }, (_, n) =>
    delay(n * 5).then(async () => {
      const shell = sandbox.run(['tail', '-f', '/dev/null'], 60_000);
      await delay(n % 20);
      shell.kill();
      return shell.done;
    }),
  );
  for (const { exitCode, timedOut } of await Promise.all(shells)) {
    expect({ exitCode, timedOut }).toEqual({ exitCode: null, timedOut: false });
  }
  expect(sandbox.running()).toBe(0);
});

const MEMFD_CREATE = arch === 'arm64' ? 279 : 319;

test.skipIf(installed === null)('no memory is to be had that counts against no limit of a process', async () => {
  const sandbox = createShellSandbox(installed ?? '');
  const run = (...argv: string[]) => sandbox.run(argv, 10_000).done;
  for (const kind of ['--shmem=1024', '--semaphore=1', '--queue']) {
    expect(await run('ipcmk', kind), kind).toMatchObject({
      stdout: '',
      stderr: expect.stringContaining('not permitted'),
    });
  }
  const memfd = await run('perl', '-e', `my $name = "x"; print syscall(${MEMFD_CREATE}, $name, 0), " $!"`);
  expect(memfd.stdout).toBe('-1 Operation not permitted');
});
