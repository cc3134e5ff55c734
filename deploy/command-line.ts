/** What the command line gets of this process: its streams, its signals, and how a node starts in it. */
import { createReadStream, fstatSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { exitCode } from '@svc/cli/exit-codes.ts';
import { Interrupted } from '@svc/cli/run.ts';
import type { StartOptions, Surroundings } from '@svc/cli/surroundings.ts';

const FORCED_AFTER_MS = 1000;
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

export interface CommandLine {
  readonly surroundings: Surroundings;
  /** Aborted when whoever started it wants to end it. */
  readonly signal: AbortSignal;
}

export function takeProcess(): CommandLine {
  process.stdout.on('error', endWhenClosed);
  process.stderr.on('error', endWhenClosed);
  const { signal, onInterrupt, release } = takeSignals();
  const manifest = JSON.parse(readFileSync(join(import.meta.dirname, '..', 'package.json'), 'utf8')) as {
    version: string;
  };
  return {
    signal,
    surroundings: {
      argv: process.argv.slice(2),
      env: process.env,
      cwd: process.cwd(),
      home: homedir(),
      stdin: stdinOf(process),
      stdout: process.stdout,
      stderr: process.stderr,
      version: manifest.version,
      onInterrupt,
      // The node lives in this process from then on, and ends as every node does.
      async start({ environment }: StartOptions) {
        release();
        Object.assign(process.env, environment);
        await import('./embedded.ts');
      },
    },
  };
}

/** For a directory Node has a stream that is empty, and an empty file would be written from it; read as a file, it fails. */
function stdinOf({ stdin }: NodeJS.Process): Surroundings['stdin'] {
  return fstatSync(0).isDirectory() ? createReadStream('', { fd: 0 }) : stdin;
}

/** Nobody reads any more: nothing is worth saying. */
function endWhenClosed(error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE') process.exit(exitCode('closed'));
  process.stderr.write(`svc: what it says is not taken: ${error.message}\n`);
  process.exit(exitCode('failed'));
}

/** Twice ends it hard. A terminal tells everybody, and so does whoever started this process: what comes at once is one. */
function takeSignals() {
  const interruption = new AbortController();
  let askedAt: number | null = null;
  const end = (): void => {
    if (askedAt !== null && performance.now() - askedAt > FORCED_AFTER_MS) process.exit(exitCode('interrupted'));
    askedAt ??= performance.now();
    interruption.abort(new Interrupted('ended'));
  };
  let interrupt = end;
  const onSignal = (signal: NodeJS.Signals): void => (signal === 'SIGINT' ? interrupt() : end());
  for (const signal of SIGNALS) process.on(signal, onSignal);
  return {
    signal: interruption.signal,
    onInterrupt(instead: () => void): void {
      interrupt = instead;
    },
    release(): void {
      for (const signal of SIGNALS) process.off(signal, onSignal);
    },
  };
}
