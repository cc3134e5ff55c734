/** Starts the node of a data directory as a process of its own, which outlives whoever started it. */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { closeSync, lstatSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { DataLocked, takeLock } from '@svc/runtime/data-lock.ts';
import { findNode } from '../node-address.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** For a node that is started for clients on stdio. */
const LINGER_MS = '30000';
/** What only the client reads. */
const OF_CLIENTS = ['SVC_URL', 'SVC_KEY', 'SVC_TOKEN', 'SVC_SESSION', 'SVC_PROFILE'];
const LOOK_EVERY_MS = 50;
const SHOWN_LINES = 5;

/**
 * Resolves when the node can be reached or has ended, and at once when somebody else is about to start one. The reason
 * why it ended, or null.
 */
export async function startNode(directory: string, environment: Environment, withinMs: number): Promise<string | null> {
  const own = ownFolder();
  const name = createHash('sha256').update(directory).digest('hex').slice(0, 24);
  const endsAt = performance.now() + withinMs;
  let turn: { release(): void };
  try {
    turn = takeLock(join(own, `${name}.starting`));
  } catch (error) {
    if (error instanceof DataLocked) return null;
    throw error;
  }
  try {
    return await startAlone({ directory, environment, log: join(own, `${name}.log`), endsAt });
  } finally {
    turn.release();
  }
}

interface Start {
  readonly directory: string;
  readonly environment: Environment;
  /** What it says until it is ready, and what it complains of later. */
  readonly log: string;
  /** Of `performance.now()`. */
  readonly endsAt: number;
}

async function startAlone(start: Start): Promise<string | null> {
  const { directory, environment } = start;
  if (findNode(directory) !== 'absent') return null;
  const reason = await run(start);
  // The usual port may belong to the node of another directory; who chose one is told instead.
  const isChosen = ['SVC_MCP_PORT', 'SVC_MCP_PORT_FILE'].some((name) => (environment[name] ?? '') !== '');
  if (reason === null || isChosen || !reason.includes('SVC_MCP_PORT')) return reason;
  return run({ ...start, environment: { ...environment, SVC_MCP_PORT: '0' } });
}

async function run({ directory, environment, log, endsAt }: Start): Promise<string | null> {
  const output = openSync(log, 'w', 0o600);
  const entry = join(import.meta.dirname, '..', 'embedded.ts');
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', entry], {
    cwd: join(import.meta.dirname, '..', '..'),
    env: nodeEnvironment(directory, environment),
    stdio: ['ignore', output, output],
    detached: true,
  });
  closeSync(output);
  let reason: string | null = null;
  child.once('error', (error) => (reason = error.message));
  child.once('exit', () => (reason ??= lastLines(log)));
  while (reason === null && typeof findNode(directory) === 'string' && performance.now() < endsAt) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
  child.unref();
  return reason;
}

function nodeEnvironment(directory: string, environment: Environment): NodeJS.ProcessEnv {
  const kept = Object.entries(environment).filter(([name]) => !OF_CLIENTS.includes(name));
  return {
    SVC_LINGER_MS: LINGER_MS,
    // Nobody looks at what it says while all is well.
    SVC_LOG_LEVEL: 'warn',
    ...Object.fromEntries(kept),
    SVC_DATA_DIR: directory,
    SVC_MODE: 'headless',
  };
}

function lastLines(log: string): string {
  const lines = readFileSync(log, 'utf8').trimEnd().split('\n');
  return lines.slice(-SHOWN_LINES).join('\n') || 'it ended without a word';
}

/** Nobody else may write into it, so that no file in it is another one than it seems. Throws where that is not so. */
function ownFolder(): string {
  const { uid } = userInfo();
  const path = join(tmpdir(), `svc-${uid}`);
  mkdirSync(path, { mode: 0o700, recursive: true });
  const found = lstatSync(path);
  const isOurs = found.isDirectory() && (uid < 0 || (found.uid === uid && (found.mode & 0o077) === 0));
  if (!isOurs) throw new Error(`${path} must be a folder of yours alone`);
  return path;
}
