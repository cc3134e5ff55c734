/** One process of the system under test: started, killed, paused and restarted with the same settings and port. */
import { type ChildProcess, spawn } from 'node:child_process';
import { appendFileSync, closeSync, existsSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { findExecutable } from '@svc/testing/servers/processes.ts';
import { request } from 'undici';
import { waitFor } from '../instruments/wait-for.ts';
import { scriptOf } from './bundle.ts';
import type { Environment } from './target.ts';

interface ServiceProcessOptions {
  readonly name: string;
  /** Path of the entry below the project, then its arguments. */
  readonly command: readonly [entry: string, ...args: string[]];
  readonly nodeOptions?: readonly string[];
  readonly environment: Environment;
  readonly root: string;
  /** Base URL to ask for readiness; null = ready means announced, which the gateways tell. */
  readonly url: string | null;
  /** Base URL of its health port, where that is another one. */
  readonly health?: string;
}

const ERROR_LINE = /^\{"level":[56]0,/;
const MOST_ERRORS = 5;
const START_WITHIN_MS = 150_000;
const STOP_WITHIN_MS = 30_000;

const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** A line for each start of this run, by whichever worker: starts are most of what scenarios cost. */
const startsFile = (): string => join(tmpdir(), 'process-starts');
const MOST_STARTING = 12;
let startsAreFor = 'all';

/** The scenario file that whatever starts from now on in this worker is for. */
export function countStartsFor(file: string): void {
  startsAreFor = basename(file, '.scenario.ts');
}

/** How often what was started in this run, and for which files most. */
export function startsOfRun(): string {
  const lines = existsSync(startsFile()) ? readFileSync(startsFile(), 'utf8').split('\n').filter(Boolean) : [];
  const starts = lines.map((line) => line.split(' '));
  const whats = countsOf(starts.map(([what = '']) => what));
  const files = countsOf(starts.map(([, file = '']) => file)).slice(0, MOST_STARTING);
  return `${lines.length} processes were started: ${whats.join(', ')}\nmost of them for ${files.join(', ')}`;
}

/** Each with how often it is there, the most frequent first. */
function countsOf(names: readonly string[]): string[] {
  const groups = [...Map.groupBy(names, (name) => name)].sort(([, one], [, other]) => other.length - one.length);
  return groups.map(([name, { length }]) => `${length} ${name}`);
}

export class ServiceProcess {
  readonly name: string;
  readonly url: string | null;
  /** Base URL of `/health` and `/ready`; null = it has none. */
  readonly health: string | null;
  readonly logFile: string;
  readonly #options: ServiceProcessOptions;
  #environment: Environment;
  #child: ChildProcess | null = null;

  constructor(options: ServiceProcessOptions) {
    this.#options = options;
    this.#environment = options.environment;
    this.name = options.name;
    this.url = options.url;
    this.health = options.health ?? options.url;
    mkdirSync(join(options.root, 'logs'), { recursive: true });
    mkdirSync(join(options.root, 'cwd'), { recursive: true });
    this.logFile = join(options.root, 'logs', `${options.name}.log`);
  }

  get isRunning(): boolean {
    return this.#child !== null && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  get pid(): number {
    const pid = this.#child?.pid;
    if (pid === undefined) throw new Error(`${this.name} does not run`);
    return pid;
  }

  /** Settings from the next start on; true when they differ from those until now. */
  configure(environment: Environment): boolean {
    const differs = !isDeepStrictEqual(environment, this.#environment);
    this.#environment = environment;
    return differs;
  }

  /** Lets it go on, or starts it, or starts it again when it has other settings; resolves when it serves. */
  async revive(environment: Environment): Promise<void> {
    if (this.configure(environment)) await this.dispose();
    this.signal('SIGCONT');
    if (!this.isRunning) this.spawn();
    await this.serving();
  }

  /** Resolves when it says so at its own port, whoever else knows it. */
  async serving(): Promise<void> {
    await this.#serves(this.health);
  }

  /** Starts it and resolves when it serves. */
  async start(): Promise<void> {
    this.spawn();
    await this.ready();
  }

  spawn(): void {
    const { command, nodeOptions = [], root } = this.#options;
    const [entry, ...args] = command;
    const log = openSync(this.logFile, 'a');
    const options = ['--disable-warning=ExperimentalWarning', ...nodeOptions];
    const node = [process.execPath, ...options, scriptOf(entry), ...args];
    const setpriv = findExecutable('setpriv');
    const [file = process.execPath, ...rest] = setpriv === null ? node : [setpriv, '--pdeathsig', 'KILL', ...node];
    const child = spawn(file, rest, {
      cwd: join(root, 'cwd'),
      env: {
        PATH: process.env['PATH'],
        NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
        HOME: root,
        LANG: 'C.UTF-8',
        UV_THREADPOOL_SIZE: '16',
        ...this.#environment,
      },
      stdio: ['ignore', log, log],
    });
    closeSync(log);
    appendFileSync(startsFile(), `${args.join('+') || basename(entry, '.ts')} ${startsAreFor}\n`);
    running.add(child);
    child.once('exit', () => running.delete(child));
    this.#child = child;
  }

  async ready(withinMs = START_WITHIN_MS): Promise<void> {
    await this.#serves(this.url, withinMs);
  }

  async #serves(url: string | null, withinMs = START_WITHIN_MS): Promise<void> {
    if (url === null) return;
    await waitFor(
      async () => {
        this.assertRunning();
        const reply = await request(`${url}/ready`);
        await reply.body.dump();
        return reply.statusCode === 200;
      },
      // A process that starts has other things to do than to be asked.
      { withinMs, everyMs: 50, what: `${this.name} to be ready`, ignoreErrors: () => this.isRunning },
    );
  }

  assertRunning(): void {
    if (!this.isRunning) throw new Error(`${this.name} ended:\n${this.tail()}`);
  }

  tail(): string {
    return readFileSync(this.logFile, 'utf8').slice(-4000);
  }

  /** The last lines of its log that tell of an error. */
  errors(): string[] {
    const lines = readFileSync(this.logFile, 'utf8').split('\n');
    return lines.filter((line) => ERROR_LINE.test(line)).slice(-MOST_ERRORS);
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal);
  }

  /** Resolves with the exit code, null when a signal ended it. */
  async ended(withinMs = STOP_WITHIN_MS): Promise<number | null> {
    const child = this.#child;
    if (child === null) return 0;
    await waitFor(() => !this.isRunning, { withinMs, what: `${this.name} to end` });
    return child.exitCode;
  }

  async kill(): Promise<void> {
    this.signal('SIGCONT');
    this.signal('SIGKILL');
    await this.ended();
  }

  /** SIGTERM; resolves with the exit code. */
  async stop(): Promise<number | null> {
    this.signal('SIGCONT');
    this.signal('SIGTERM');
    return this.ended();
  }

  /** Ends it gently, and hard when that does not help. */
  async dispose(): Promise<void> {
    if (!this.isRunning) return;
    this.signal('SIGCONT');
    this.signal('SIGTERM');
    await this.ended(12_000).catch(() => this.kill());
  }
}

/** SIGKILL of all at once; they start again while whoever asks them goes on. */
export async function killed(victims: readonly ServiceProcess[]): Promise<void> {
  await Promise.all(victims.map((one) => one.kill()));
  for (const one of victims) one.spawn();
}
