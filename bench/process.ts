/** Processes under measurement: they end with this one, and what they say is kept. */
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findExecutable } from '@svc/testing/servers/processes.ts';

export type Environment = Readonly<Record<string, string>>;

/** Absolute path of this repository. */
export const PROJECT = join(import.meta.dirname, '..');
const KEPT_OUTPUT = 8000;
const READY_WITHIN_MS = 60_000;
const STOP_WITHIN_MS = 15_000;

const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

export interface NodeProcess {
  readonly pid: number;
  /** Resolves with the first group of the pattern, as soon as the output has it. Throws when the process ends first. */
  said(pattern: RegExp): Promise<string>;
  /** Resident memory, bytes. NaN where the system does not tell. */
  residentBytes(): number;
  /** Processor time of all its threads so far. NaN where the system does not tell. */
  cpuMs(): number;
  kill(signal: NodeJS.Signals): void;
  /** Resolves with its output and exit code (null = ended by a signal). */
  readonly ended: Promise<{ readonly code: number | null; readonly output: string }>;
  /** SIGTERM, and SIGKILL when that does not help. */
  stop(): Promise<void>;
}

/** Starts `node <entry> <args>` with nothing of our environment but what a process needs; `entry` is below the project. */
export function startNode(entry: string, args: readonly string[] = [], environment: Environment = {}): NodeProcess {
  const node = [process.execPath, '--disable-warning=ExperimentalWarning', join(PROJECT, entry), ...args];
  const setpriv = findExecutable('setpriv');
  const [command = process.execPath, ...rest] = setpriv === null ? node : [setpriv, '--pdeathsig', 'KILL', ...node];
  const child = spawn(command, rest, {
    cwd: PROJECT,
    env: {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      UV_THREADPOOL_SIZE: '16',
      MALLOC_ARENA_MAX: '2',
      MALLOC_TRIM_THRESHOLD_: '131072',
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  let output = '';
  const listeners = new Set<() => void>();
  const remember = (chunk: Buffer): void => {
    output = (output + chunk.toString()).slice(-KEPT_OUTPUT);
    for (const listener of listeners) listener();
  };
  child.stdout.on('data', remember);
  child.stderr.on('data', remember);
  const ended = new Promise<{ code: number | null; output: string }>((resolve) => {
    child.once('close', (code) => {
      running.delete(child);
      resolve({ code, output });
    });
  });

  return {
    pid: child.pid ?? 0,
    said: (pattern) =>
      new Promise((resolve, reject) => {
        const fail = (why: string): void => reject(new Error(`${entry} ${why}:\n${output}`));
        const timer = setTimeout(() => fail('said nothing of it'), READY_WITHIN_MS);
        const look = (): void => {
          const found = pattern.exec(output);
          if (found === null) return;
          clearTimeout(timer);
          listeners.delete(look);
          resolve(found[1] ?? found[0]);
        };
        listeners.add(look);
        void ended.then(() => fail('ended'));
        look();
      }),
    residentBytes: () => residentBytes(child.pid ?? 0),
    cpuMs: () => cpuMs(child.pid ?? 0),
    kill: (signal) => child.kill(signal),
    ended,
    async stop() {
      child.kill('SIGTERM');
      const hard = setTimeout(() => child.kill('SIGKILL'), STOP_WITHIN_MS);
      await ended;
      clearTimeout(hard);
    },
  };
}

function residentBytes(pid: number): number {
  const kibibytes = /^VmRSS:\s+(\d+) kB$/m.exec(readProcFile(pid, 'status'))?.[1];
  return Number(kibibytes) * 1024;
}

/** The 14th and 15th field of the line count in hundredths of a second; the second field may hold blanks. */
function cpuMs(pid: number): number {
  const fields = readProcFile(pid, 'stat').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

function readProcFile(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch {
    return '';
  }
}
