/** The small process of `spawner.ts`. It ends with the one that started it, and takes every git along. */
import { spawn, type ChildProcessByStdio } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { SilenceWatch } from './silence-watch.ts';
import type { Order, Outcome, OutputPiece, Program, Report, Stop, Task } from './spawner.ts';
import { TransferOutput, type TransferProgress } from './transfer-output.ts';

type GitProcess = ChildProcessByStdio<Writable, Readable, Readable>;

const PROGRESS_EVERY_MS = 250;

const running = new Map<number, GitProcess>();

process.on('message', (order: Order) => {
  if (order.do === 'run')
    void run(order.id, order.task).then((outcome) => report({ id: order.id, is: 'outcome', outcome }));
  else if (order.do === 'open') open(order.id, order.program);
  else if (order.do === 'write') running.get(order.id)?.stdin.write(order.text);
  else killGroup(running.get(order.id));
});
process.on('disconnect', () => {
  for (const git of running.values()) killGroup(git);
  process.exit(0);
});
// They are meant for the process that started this one, which finishes its work first.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => undefined);

function report(message: Report): void {
  if (process.connected) process.send?.(message);
}

function start(id: number, { args, cwd, env }: Program): GitProcess {
  const git = spawn('git', args, { cwd, env, stdio: ['pipe', 'pipe', 'pipe'], detached: true });
  running.set(id, git);
  // git may end without reading its input; its exit code tells
  git.stdin.on('error', () => undefined);
  return git;
}

/** Ends git and everything it started (transports, askpass, ssh). */
function killGroup(git: GitProcess | undefined): void {
  if (git?.pid === undefined) return;
  try {
    process.kill(-git.pid, 'SIGKILL');
  } catch {
    // the group is already gone
  }
}

async function run(id: number, task: Task): Promise<Outcome> {
  try {
    return await runToEnd(id, task);
  } catch (error) {
    // Some reasons not to start, as arguments that are too long, are thrown instead of told by an event.
    return { notStarted: String(error) };
  }
}

function runToEnd(id: number, task: Task): Promise<Outcome> {
  const { promise, resolve } = Promise.withResolvers<Outcome>();
  const git = start(id, task);
  let stopped: Stop | null = null;
  const stop = (reason: Stop): void => {
    stopped ??= reason;
    killGroup(git);
  };
  const { piece, silenceMs, maxErrorBytes } = task;
  let isThere = false;
  const enough = (): void => {
    isThere = true;
    killGroup(git);
  };
  const stdout =
    piece === undefined
      ? collect(git.stdout, task.maxOutputBytes, () => stop('output-limit'))
      : collectPiece(git.stdout, piece, enough);
  const stderr =
    silenceMs === undefined
      ? collect(git.stderr, maxErrorBytes, () => undefined)
      : follow(id, git, { silenceMs, maxErrorBytes }, () => stop('silence'));
  const timer = setTimeout(() => stop('timeout'), task.timeoutMs);
  const end = (outcome: Outcome): void => {
    clearTimeout(timer);
    running.delete(id);
    resolve(outcome);
  };
  git.on('error', (error) => end({ notStarted: error.message }));
  git.on('close', (code) => {
    const exitCode = isThere ? 0 : code;
    end({ exitCode, stopped, stdout: stdout(), stderr: stderr().toString() });
  });
  git.stdin.end(task.stdin);
  return promise;
}

/** Keeps at most `limit` bytes and says once when there were more. */
function collect(stream: Readable, limit: number, onExcess: () => void): () => Buffer {
  const chunks: Buffer[] = [];
  let bytes = 0;
  stream.on('data', (chunk: Buffer) => {
    if (bytes > limit) return;
    bytes += chunk.length;
    chunks.push(chunk);
    if (bytes > limit) onExcess();
  });
  return () => Buffer.concat(chunks).subarray(0, limit);
}

/** Keeps the bytes of one piece and says once when it is whole. */
function collectPiece(stream: Readable, { offset, length }: OutputPiece, onWhole: () => void): () => Buffer {
  const end = offset + length;
  const chunks: Buffer[] = [];
  let read = 0;
  stream.on('data', (chunk: Buffer) => {
    if (read >= end) return;
    // a copy, so that few bytes do not keep a large chunk alive
    chunks.push(Buffer.from(chunk.subarray(Math.max(0, offset - read), end - read)));
    read += chunk.length;
    if (read >= end) onWhole();
  });
  return () => Buffer.concat(chunks);
}

/** Tells how far a transfer is, and once when nothing was heard of the other side for too long. */
function follow(
  id: number,
  git: GitProcess,
  { silenceMs, maxErrorBytes }: Required<Pick<Task, 'silenceMs' | 'maxErrorBytes'>>,
  onSilence: () => void,
): () => string {
  const output = new TransferOutput(maxErrorBytes);
  let latest: TransferProgress | null = null;
  const tell = (): void => {
    if (latest !== null) report({ id, is: 'progress', progress: latest });
    latest = null;
  };
  const telling = setInterval(tell, PROGRESS_EVERY_MS);
  const silence = new SilenceWatch({ group: git.pid ?? 0, silenceMs, isAtWork: () => output.isAtWork }, onSilence);
  git.on('close', () => {
    silence[Symbol.dispose]();
    clearInterval(telling);
  });
  git.stdout.on('data', () => silence.hear());
  git.stderr.on('data', (bytes: Buffer) => {
    silence.hear();
    latest = output.read(bytes) ?? latest;
  });
  return () => {
    tell();
    return output.text();
  };
}

function open(id: number, program: Program): void {
  try {
    converse(id, start(id, program));
  } catch {
    report({ id, is: 'closed' }); // thrown, as in `run`
  }
}

function converse(id: number, git: GitProcess): void {
  const close = (): void => {
    if (running.delete(id)) report({ id, is: 'closed' });
  };
  git.on('error', close);
  git.on('close', close);
  git.stdout.on('data', (bytes: Buffer) => report({ id, is: 'output', bytes }));
  git.stderr.resume();
}
