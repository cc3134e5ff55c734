import { type ChildProcess, fork, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';

function watched(limitMs: number, blockMs: number, times: number, ...more: string[]) {
  const args = [...[limitMs, blockMs, times].map(String), ...more];
  const child: ChildProcess = fork(join(import.meta.dirname, 'watchdog.fixture.ts'), args, {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
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

/** One processor, and so many others that want all of it. */
const OTHERS = 6;
const hasAffinity = process.platform === 'linux' && spawnSync('taskset', ['--version']).error === undefined;

test.skipIf(!hasAffinity)('one that others leave no processor is not: it would go on', async () => {
  const { child, said } = watched(1000, 400, 1, 'own');
  await once(child, 'message');
  spawnSync('taskset', ['-a', '-c', '-p', '0', String(child.pid)]);
  const others = Array.from({ length: OTHERS }, () =>
    spawn('taskset', ['-c', '0', process.execPath, '-e', 'for (;;);'], { stdio: 'ignore' }),
  );
  onTestFinished(() => others.forEach((other) => void other.kill('SIGKILL')));
  expect(await once(child, 'close')).toEqual([0, null]);
  expect(said()).not.toContain('stood still');
});
