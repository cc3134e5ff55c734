import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';

function watched(
  limitMs: number,
  blockMs: number,
  times: number,
  stderr: 'pipe' | number = 'pipe',
): { child: ChildProcess; said: () => string } {
  const child = fork(join(import.meta.dirname, 'watchdog.fixture.ts'), [limitMs, blockMs, times].map(String), {
    stdio: ['ignore', 'ignore', stderr, 'ipc'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let text = '';
  child.stderr?.on('data', (chunk: Buffer) => (text += chunk.toString()));
  return { child, said: () => text };
}

test('a process whose loop stands still is ended, with a sentence', async () => {
  const { child, said } = watched(1000, 150_000, 1);
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
  expect([code, signal]).toEqual([null, 'SIGKILL']);
  expect(said()).toContain('the event loop has stood still for 1000 ms');
});

test.runIf(process.platform === 'linux')('also where nobody takes the sentence', async () => {
  const full = openSync('/dev/full', 'w');
  onTestFinished(() => closeSync(full));
  const { child } = watched(1000, 150_000, 1, full);
  expect(await once(child, 'close')).toEqual([null, 'SIGKILL']);
});

test('one that stands still for less, however often, is not', async () => {
  const { child, said } = watched(3000, 600, 4);
  expect(await once(child, 'close')).toEqual([0, null]);
  expect(said()).not.toContain('stood still');
});

test('one that was stopped as a whole is not', async () => {
  const { child } = watched(1000, 0, 0);
  await once(child, 'message');
  child.kill('SIGSTOP');
  await sleep(2500);
  child.kill('SIGCONT');
  expect(await once(child, 'close')).toEqual([0, null]);
});
