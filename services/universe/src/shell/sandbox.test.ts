/** What becomes of a program whose sandbox is killed while it comes up. */
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
