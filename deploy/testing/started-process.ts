/** A process of the system that a test starts, and the sentence of one that does not start. */
import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { temporaryFolder } from '@svc/testing/servers/processes.ts';
import { expect, onTestFinished } from 'vitest';

/** Before the 65 s that a kept connection lives are over, and long enough for a slow machine with much else to do. */
const AT_ONCE_MS = 45_000;

interface Ending {
  readonly code: number | null;
  readonly stderr: string;
}

export interface Started {
  readonly pid: number;
  readonly ended: Promise<Ending>;
  /** Everything that it wrote so far. */
  said(): string;
  kill(signal: NodeJS.Signals): void;
}

/** `entry`: path below deploy/, then its arguments. Killed when the test is over. */
export function start(entry: readonly string[], environment: Readonly<Record<string, string>>): Started {
  const folder = temporaryFolder('svc-start');
  const child = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', join(import.meta.dirname, '..', entry[0] ?? ''), ...entry.slice(1)],
    {
      cwd: folder,
      env: { PATH: process.env['PATH'], NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'], ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  let [said, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (said += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
    stderr += text;
  });
  onTestFinished(() => {
    child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });
  const ended = new Promise<Ending>((resolve) => child.once('close', (code) => resolve({ code, stderr })));
  return { pid: child.pid ?? 0, ended, said: () => said, kill: (signal) => child.kill(signal) };
}

/** What a start that fails says; fails itself when it is not one sentence, or takes long. */
export async function sentenceOf({ ended }: Started): Promise<string> {
  const late = sleep(AT_ONCE_MS, null, { ref: false });
  const ending = await Promise.race([ended, late]);
  if (ending === null) throw new Error('the process did not end');
  expect(ending.code, ending.stderr).toBe(1);
  const lines = ending.stderr.trim().split('\n');
  expect(lines, ending.stderr).toHaveLength(1);
  return lines[0] ?? '';
}

/** Gone when the test is over. */
export function folder(): string {
  const path = temporaryFolder('svc-start-data');
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}
