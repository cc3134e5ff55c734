/** Runs a program inside of bubblewrap: without the network, files or environment of the host, and with limits. */
import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { syscallFilter } from './syscall-filter.ts';

interface ShellLimits {
  readonly cpuS: number;
  /** Of each process. */
  readonly memoryBytes: number;
  readonly processes: number;
  readonly fileBytes: number;
  /** Of each stream; more is read and dropped. */
  readonly outputBytes: number;
}

const SHELL_LIMITS: ShellLimits = {
  cpuS: 5,
  memoryBytes: 256 * 1024 * 1024,
  processes: 32,
  fileBytes: 16 * 1024 * 1024,
  outputBytes: 256 * 1024,
};

export interface ShellRun {
  /** Null = it was killed, or never ran. */
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly truncated: boolean;
  readonly timedOut: boolean;
  /** The sandbox came up and the program was started in it. */
  readonly started: boolean;
}

export interface RunningShell {
  /** False = it ended before its sandbox was there. */
  readonly up: Promise<boolean>;
  readonly done: Promise<ShellRun>;
  /** What came so far. */
  output(): { readonly stdout: string; readonly stderr: string };
  kill(): void;
}

export interface ShellSandbox {
  run(argv: readonly string[], timeMs: number, limits?: Partial<ShellLimits>): RunningShell;
  /** Null = there is no bubblewrap. */
  version(): Promise<string | null>;
  running(): number;
  /** Kills everything and waits for it. */
  close(): Promise<void>;
}

const HOME = '/home';
/** Where bubblewrap is found by its name. */
const SEARCH_PATH = '/usr/local/bin:/usr/bin:/bin';
const VERSION_WITHIN_MS = 2000;
/** To whom the limit on processes applies; root would be exempt from it. */
const NOBODY = 65_534;

/** `bubblewrap`: the program, by its path or as it is found in PATH. */
export function createShellSandbox(bubblewrap: string): ShellSandbox {
  const children = new Set<RunningShell>();
  return {
    run(argv, timeMs, limits = {}) {
      const shell = start(bubblewrap, [...wrapping({ ...SHELL_LIMITS, ...limits }), ...argv], {
        timeMs,
        outputBytes: limits.outputBytes ?? SHELL_LIMITS.outputBytes,
      });
      children.add(shell);
      void shell.done.finally(() => children.delete(shell));
      return shell;
    },
    version: () => versionOf(bubblewrap),
    running: () => children.size,
    async close() {
      const all = [...children];
      for (const shell of all) shell.kill();
      await Promise.all(all.map(({ done }) => done));
    },
  };
}

/**
 * All namespaces of its own, a root that cannot be written to, and one directory in memory that can. It begins no session
 * of its own, which would take it out of the group that is killed: the process around it has one without a terminal.
 */
function wrapping({ cpuS, memoryBytes, processes, fileBytes }: ShellLimits): string[] {
  const system = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64'].map((path) => `--ro-bind-try ${path} ${path}`);
  const options = [
    '--unshare-all --unshare-user --die-with-parent --clearenv',
    `--uid ${NOBODY} --gid ${NOBODY} --hostname sandbox --cap-drop ALL`,
    ...system,
    '--dir /dev --dev-bind /dev/null /dev/null --dev-bind /dev/zero /dev/zero',
    `--size ${fileBytes} --tmpfs ${HOME} --remount-ro / --chdir ${HOME}`,
    `--setenv PATH /usr/bin:/bin --setenv HOME ${HOME} --setenv TMPDIR ${HOME} --setenv LANG C.UTF-8`,
    '--seccomp 3 --json-status-fd 4 --',
    `/usr/bin/prlimit --cpu=${cpuS} --as=${memoryBytes} --nproc=${processes}`,
    `--fsize=${fileBytes} --core=0 --nofile=256 --`,
  ];
  return options.flatMap((option) => option.split(' '));
}

interface Bounds {
  readonly timeMs: number;
  readonly outputBytes: number;
}

function start(bubblewrap: string, args: readonly string[], { timeMs, outputBytes }: Bounds): RunningShell {
  const asNobody = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
  const child = spawn(bubblewrap, args, {
    cwd: '/',
    env: { PATH: SEARCH_PATH },
    stdio: ['ignore', 'pipe', 'pipe', 'pipe', 'pipe'],
    detached: true, // a session and a process group of its own
    ...asNobody,
  });
  const [stdout, stderr] = [collect(child.stdout, outputBytes), collect(child.stderr, outputBytes)];
  const said = child.stdio[4] as Readable;
  const status = collect(said, 4096);
  const isUp = Promise.withResolvers<boolean>();
  said.once('data', () => isUp.resolve(true)); // which process it is
  const filter = child.stdio[3] as Writable;
  filter.on('error', () => {}); // it ended before it read the filter, which its exit tells
  filter.end(syscallFilter());
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    killGroup(child);
  }, timeMs);
  const done = ended(child).then((): ShellRun => {
    clearTimeout(timer);
    isUp.resolve(false);
    // Only of a program that was started does bubblewrap tell how it ended.
    const [, code] = /"exit-code"\s*:\s*(\d+)/.exec(status.text()) ?? [];
    const wasKilled = child.signalCode !== null || timedOut;
    return {
      exitCode: code === undefined || wasKilled ? null : exitCodeOf(Number(code)),
      stdout: stdout.text(),
      stderr: stderr.text(),
      truncated: stdout.isTruncated() || stderr.isTruncated(),
      timedOut,
      started: code !== undefined || wasKilled,
    };
  });
  return {
    up: isUp.promise,
    done,
    output: () => ({ stdout: stdout.text(), stderr: stderr.text() }),
    kill: () => killGroup(child),
  };
}

/** Whoever was ended by a signal has 128 and its number. */
function exitCodeOf(code: number): number | null {
  return code > 128 && code <= 192 ? null : code;
}

/**
 * The sandbox is ended with the process around it only once it has asked the kernel for that; until then it is in the
 * group of that process. Left alone it would hold the pipes for as long as it runs.
 */
function killGroup(child: ChildProcess): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error; // it has ended by itself
  }
}

/** Also when it could not be started at all. */
function ended(child: ChildProcess): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  child.once('close', () => resolve());
  child.once('error', () => resolve());
  return promise;
}

interface Collected {
  text(): string;
  isTruncated(): boolean;
}

/** What is more than there is room for is read and dropped, so that the program does not wait for a reader. */
function collect(stream: Readable | null, limit: number): Collected {
  const parts: Buffer[] = [];
  let bytes = 0;
  let truncated = false;
  stream?.on('data', (part: Buffer) => {
    const room = limit - bytes;
    truncated ||= part.length > room;
    const kept = part.subarray(0, room);
    if (kept.length > 0) parts.push(kept);
    bytes += kept.length;
  });
  stream?.on('error', () => {});
  return {
    // A database keeps no NUL in its texts.
    text: () => Buffer.concat(parts).toString('utf8').replaceAll('\0', '\uFFFD'),
    isTruncated: () => truncated,
  };
}

async function versionOf(bubblewrap: string): Promise<string | null> {
  const child = spawn(bubblewrap, ['--version'], {
    env: { PATH: SEARCH_PATH },
    timeout: VERSION_WITHIN_MS,
  });
  const said = collect(child.stdout, 200);
  await ended(child);
  return /^bubblewrap (\S+)/.exec(said.text())?.[1] ?? null;
}
