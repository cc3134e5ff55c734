/** The only way to git. Arguments come from tables in code, user text goes to stdin or behind a checked prefix. */
import {
  type Dialogue,
  type DialogueListener,
  type OutputPiece,
  type Program,
  Spawner,
  type Stop,
  type Task,
  type TransferWatch,
} from './spawner.ts';

export type { OutputPiece } from './spawner.ts';

const DEFAULT_TIMEOUT_MS = 60_000;
const DEFAULT_MAX_OUTPUT_BYTES = 16 * 1024 * 1024;
const MAX_STDERR_BYTES = 8 * 1024;

/** Always in force, whatever the repository's own configuration says. */
const FIXED_CONFIG = [
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'core.fsync=committed',
  'core.fsyncMethod=fsync',
  'core.splitIndex=false',
  'core.filesRefLockTimeout=2000',
  'core.packedRefsTimeout=2000',
  'gc.auto=0',
  'i18n.commitEncoding=UTF-8',
  'protocol.allow=never',
] as const;

type GitFailure = 'exit' | Stop | 'spawn' | 'unsafe-argument';

/** Git did not do it. `exitCode` is null when git was killed or never ran; `stderr` holds at most 8 KiB. */
export class GitError extends Error {
  readonly code: GitFailure;
  readonly exitCode: number | null;
  readonly stderr: string;

  constructor(code: GitFailure, message: string, exitCode: number | null = null, stderr = '') {
    super(message);
    this.name = 'GitError';
    this.code = code;
    this.exitCode = exitCode;
    this.stderr = stderr;
  }
}

export interface GitCall {
  readonly args: readonly string[];
  readonly gitDir?: string;
  readonly workTree?: string;
  readonly indexFile?: string;
  /** Defaults to the work tree, else the git directory. */
  readonly cwd?: string;
  readonly stdin?: Uint8Array | string;
  /** Added to the environment that is otherwise built from nothing. */
  readonly env?: Readonly<Record<string, string>>;
  /** Further `-c` settings; they win over the fixed ones. */
  readonly config?: readonly string[];
  readonly timeoutMs?: number;
  readonly maxOutputBytes?: number;
  /** All that is wanted of the output. */
  readonly piece?: OutputPiece;
  /** Set for a transfer over the network. */
  readonly transfer?: TransferWatch & {
    /** Killed after so long without a word. */
    readonly silenceMs: number;
  };
  /** Exit codes that are answers, not failures (default: 0). */
  readonly answers?: readonly number[];
}

export interface GitOutput {
  readonly exitCode: number;
  readonly stdout: Buffer;
  readonly stderr: string;
}

interface GitSettings {
  /** Directories in which `git`, `ssh` and `sh` are found, as in PATH. */
  readonly searchPath?: string;
  readonly committer?: Identity;
}

export interface Identity {
  readonly name: string;
  readonly email: string;
}

export interface Git {
  readonly committer: Identity;
  /** Runs git to its end. Throws GitError. */
  run(call: GitCall): Promise<GitOutput>;
  /** Starts a git that answers questions from stdin; the caller kills it. */
  start(call: Pick<GitCall, 'args' | 'gitDir'>, listener: DialogueListener): Dialogue;
}

/** One for all repositories of this process. */
const spawner = new Spawner();

export function createGit(settings: GitSettings = {}): Git {
  const committer = settings.committer ?? { name: 'svc', email: 'svc@localhost' };
  const base = {
    PATH: settings.searchPath ?? '/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin',
    HOME: '/nonexistent',
    LC_ALL: 'C',
    TZ: 'UTC',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_TERMINAL_PROMPT: '0',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_NO_REPLACE_OBJECTS: '1',
    // One that is there, even if it is empty, has every git print advice.
    GIT_GRAFT_FILE: '/dev/null/none',
    GIT_NO_LAZY_FETCH: '1',
    GIT_DEFAULT_HASH: 'sha1',
    GIT_DEFAULT_REF_FORMAT: 'files',
    GIT_COMMITTER_NAME: committer.name,
    GIT_COMMITTER_EMAIL: committer.email,
  };
  const programOf = (call: GitCall): Program => {
    const config = [...FIXED_CONFIG, ...(call.config ?? [])].flatMap((setting) => ['-c', setting]);
    return {
      args: [...config, ...call.args],
      cwd: call.cwd ?? call.workTree ?? call.gitDir ?? '/',
      env: { ...base, ...locations(call), ...call.env },
    };
  };
  return {
    committer,
    run: (call) => runToEnd(call, programOf(call)),
    start: (call, listener) => spawner.open(programOf(call), listener),
  };
}

function locations(call: GitCall): Record<string, string> {
  return {
    ...(call.gitDir === undefined ? {} : { GIT_DIR: call.gitDir }),
    ...(call.workTree === undefined ? {} : { GIT_WORK_TREE: call.workTree }),
    ...(call.indexFile === undefined ? {} : { GIT_INDEX_FILE: call.indexFile }),
  };
}

async function runToEnd(call: GitCall, program: Program): Promise<GitOutput> {
  const command = call.args.find((argument) => !argument.startsWith('-')) ?? 'git';
  if ([...program.args, ...Object.values(program.env), program.cwd].some((text) => text.includes('\0'))) {
    throw new GitError('unsafe-argument', `git ${command}: a NUL byte in an argument or variable`);
  }
  const outcome = await spawner.run(taskOf(call, program), call.transfer);
  if ('notStarted' in outcome) {
    throw new GitError('spawn', `git ${command} could not be started: ${outcome.notStarted}`);
  }
  const { exitCode, stopped, stdout, stderr } = outcome;
  if (stopped !== null) throw new GitError(stopped, `git ${command}: ${stopped}`, null, stderr);
  if (exitCode === null || !(call.answers ?? [0]).includes(exitCode)) {
    throw new GitError('exit', `git ${command} exited with ${String(exitCode)}`, exitCode, stderr);
  }
  return { exitCode, stdout: Buffer.from(stdout.buffer, stdout.byteOffset, stdout.byteLength), stderr };
}

function taskOf(call: GitCall, program: Program): Task {
  return {
    ...program,
    stdin: call.stdin ?? '',
    timeoutMs: call.timeoutMs ?? DEFAULT_TIMEOUT_MS,
    maxOutputBytes: call.maxOutputBytes ?? DEFAULT_MAX_OUTPUT_BYTES,
    maxErrorBytes: MAX_STDERR_BYTES,
    ...(call.piece === undefined ? {} : { piece: call.piece }),
    ...(call.transfer === undefined ? {} : { silenceMs: call.transfer.silenceMs }),
  };
}

const MAX_REF_LENGTH = 240;
const COMMIT_ID = /^[0-9a-f]{40}$/;
const REF = /^refs\/(?:heads|remotes|rescue)(?:\/[A-Za-z0-9_][A-Za-z0-9._+-]*)+$/;

export function isObjectId(text: string): boolean {
  return COMMIT_ID.test(text);
}

/** Returns `id` when it is a full object id, else throws: nothing else may stand where git expects one. */
export function objectId(id: string): string {
  if (!isObjectId(id)) throw new GitError('unsafe-argument', 'not an object id');
  return id;
}

/** Returns `ref` when it is a full name under heads, remotes or rescue, else throws. */
export function refName(ref: string): string {
  const forbidden =
    ref.length > MAX_REF_LENGTH || ref.includes('..') || /\.(?:lock)?(?:\/|$)/.test(ref) || ref === 'refs/heads/HEAD';
  if (!REF.test(ref) || forbidden) {
    throw new GitError('unsafe-argument', 'not a reference name');
  }
  return ref;
}

export function branchRef(branch: string): string {
  return refName(`refs/heads/${branch}`);
}
