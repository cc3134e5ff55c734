/** Private server processes of a test run: they die with it, and their folders go with them. */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { accessSync, chownSync, constants, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { wentWithout } from '../seen.ts';

/** A server that tests may hurt. The methods that need its process are absent when it is somebody else's. */
export interface TestServer {
  readonly url: string;
  /** Ends it and removes its data. */
  stop(): Promise<void>;
  readonly control?: ServerControl;
}

export interface ServerControl {
  /** Orderly end and start with the same port and data; `downMs` lies between. Resolves when it answers again. */
  restart(downMs?: number): Promise<void>;
  /** `kill -9`; `start` brings it back with the same port and data. */
  kill(): Promise<void>;
  start(): Promise<void>;
  /** Stops answering without closing connections, until `resume`. */
  pause(): Promise<void>;
  resume(): Promise<void>;
}

export interface ServerProcess {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** User to run as when we are root. */
  readonly user?: { readonly uid: number; readonly gid: number };
  readonly stopSignal?: NodeJS.Signals;
  /** Throws while the server does not answer. */
  probe(): Promise<void>;
}

const START_TIMEOUT_MS = 60_000;
const PROBE_EVERY_MS = 20;

const children = new Set<ChildProcess>();
const folders = new Set<string>();

process.once('exit', () => {
  for (const child of children) killGroup(child, 'SIGKILL');
  for (const folder of folders) removeFolder(folder);
});

const FOLDER_NAME = /^svc-test-[a-z-]+-(\d+)-/;

interface FolderPlace {
  readonly owner?: { readonly uid: number; readonly gid: number };
  readonly inside?: string;
}

/** `svc-test-<server>-<our pid>-…` in the temporary folder, removed when this process ends; if killed, by a later one. */
export function temporaryFolder(server: string, { owner, inside = tmpdir() }: FolderPlace = {}): string {
  for (const name of readdirSync(inside)) {
    const pid = FOLDER_NAME.exec(name)?.[1];
    if (pid !== undefined && !isAlive(Number(pid))) removeFolder(join(inside, name));
  }
  const folder = mkdtempSync(join(inside, `svc-test-${server}-${process.pid}-`));
  if (owner !== undefined) chownSync(folder, owner.uid, owner.gid);
  folders.add(folder);
  return folder;
}

export function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  folders.delete(folder);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Somebody else's process may not be signalled, but it is there.
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

/** Path of an executable in PATH or in one of `folders`; null when there is none. */
export function findExecutable(name: string, folders: readonly string[] = []): string | null {
  const places = [...folders, ...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin'];
  for (const place of places) {
    const path = join(place, name);
    try {
      accessSync(path, constants.X_OK);
      return path;
    } catch {
      // Not there: the next place.
    }
  }
  return null;
}

const SERVERS = ['nats-server', 'redis-server', 'postgresql'];

const aptTried = new Set<string>();

export function installServers(): void {
  installPackages(SERVERS);
}

/** Tries once per process to install them with apt; only root on Debian and its kin can. */
export function installPackages(wanted: readonly string[]): void {
  const packages = wanted.filter((name) => !aptTried.has(name));
  if (packages.length === 0 || process.getuid?.() !== 0 || findExecutable('apt-get') === null) return;
  for (const name of packages) aptTried.add(name);
  const environment = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  // Test files run in processes of their own: the second one waits for the first one's lock.
  const install = ['-o', 'DPkg::Lock::Timeout=120', 'install', '-y', '--no-install-recommends', ...packages];
  for (const args of [['update'], install]) {
    spawnSync('apt-get', args, { env: environment, stdio: 'ignore', timeout: 180_000 });
  }
}

/** The loud line of a suite that cannot run here. */
export function skipped(what: string, why: string): null {
  process.stderr.write(`SKIPPED: no ${what} can be had (${why})\n`);
  wentWithout(what);
  return null;
}

/** User and group ids of a system user; null when it does not exist. */
export function systemUser(name: string): { uid: number; gid: number } | null {
  try {
    const idOf = (flag: string) => Number(execFileSync('id', [flag, name], { stdio: ['ignore', 'pipe', 'ignore'] }));
    return { uid: idOf('-u'), gid: idOf('-g') };
  } catch {
    return null;
  }
}

/** Starts a server and resolves when it answers. Throws when it ends before that or never answers. */
export async function startProcess(server: ServerProcess): Promise<{ control: ServerControl; stop(): Promise<void> }> {
  let child = await launch(server);
  const end = async (signal: NodeJS.Signals) => {
    killGroup(child, 'SIGCONT');
    killGroup(child, signal);
    await ended(child);
  };
  const kill = async () => {
    // PostgreSQL's sessions are processes in groups of their own: left alive, they would answer for a moment.
    const sessions = childrenOf(child);
    const ending = end('SIGKILL');
    for (const pid of sessions) killIfThere(pid);
    await ending;
  };
  const stop = () => end(server.stopSignal ?? 'SIGTERM');
  const start = async () => {
    child = await launch(server);
  };
  return {
    stop,
    control: {
      async restart(downMs = 0) {
        await stop();
        await delay(downMs);
        await start();
      },
      kill,
      start,
      pause: async () => killGroup(child, 'SIGSTOP'),
      resume: async () => killGroup(child, 'SIGCONT'),
    },
  };
}

/** Where the system does not tell, none. */
function childrenOf({ pid }: ChildProcess): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
      .split(' ')
      .map(Number)
      .filter((child) => child > 0);
  } catch {
    return [];
  }
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

async function launch(server: ServerProcess): Promise<ChildProcess> {
  const [command, ...args] = commandLine(server);
  const output: string[] = [];
  // A group of its own, so that an interrupt typed at the terminal does not end it before the tests are done with it.
  const child = spawn(command, args, { ...server.user, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  children.add(child);
  const remember = (chunk: Buffer) => {
    output.push(chunk.toString());
    if (output.length > 50) output.shift();
  };
  child.stdout.on('data', remember);
  child.stderr.on('data', remember);
  child.once('error', (error) => output.push(error.message));
  child.once('close', () => children.delete(child));
  const giveUpAt = Date.now() + START_TIMEOUT_MS;
  for (;;) {
    await delay(PROBE_EVERY_MS);
    const dead = hasEnded(child);
    if (dead || Date.now() > giveUpAt) {
      killGroup(child, 'SIGKILL');
      throw new Error(
        `${server.name} ${dead ? 'ended at start' : 'does not answer'}:\n${output.join('').slice(-2000)}`,
      );
    }
    try {
      await server.probe();
      // Answered, but by whom: a server that lost the race for its port ends within a moment.
      await delay(PROBE_EVERY_MS);
      if (!hasEnded(child)) return child;
    } catch {
      // Not yet.
    }
  }
}

/** `setpriv` makes the kernel end the server when this process is killed. */
function commandLine({ command, args }: ServerProcess): [string, ...string[]] {
  const setpriv = findExecutable('setpriv');
  return setpriv === null ? [command, ...args] : [setpriv, '--pdeathsig', 'KILL', command, ...args];
}

function hasEnded(child: ChildProcess): boolean {
  return child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
}

async function ended(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return;
  await new Promise<void>((resolve) => child.once('exit', () => resolve()));
}

function killGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined || hasEnded(child)) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    // Ended meanwhile.
  }
}
