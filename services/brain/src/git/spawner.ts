/**
 * Starts git from a small process of its own. To start a process, the system copies the page tables of the one that asks,
 * and that one stands still meanwhile: tens of milliseconds with a database in memory, one or two from a small process.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import type { TransferProgress } from './transfer-output.ts';

/** A run of git; it sees nothing but this. */
export interface Program {
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/** Bytes of the output from `offset` on, at most so many. */
export interface OutputPiece {
  readonly offset: number;
  readonly length: number;
}

export interface Task extends Program {
  readonly stdin: Uint8Array | string;
  readonly timeoutMs: number;
  readonly maxOutputBytes: number;
  readonly maxErrorBytes: number;
  /** Set when no more of the output is wanted: git is ended once that is there, which counts as a good end. */
  readonly piece?: OutputPiece;
  /** Set for a transfer over the network: its progress is told while it runs, and it is killed after so long a silence. */
  readonly silenceMs?: number;
}

export type Stop = 'timeout' | 'silence' | 'output-limit';

export type Outcome =
  | {
      /** Null when a signal ended it. */
      readonly exitCode: number | null;
      /** Why it was killed; null = it ended by itself. */
      readonly stopped: Stop | null;
      readonly stdout: Uint8Array;
      readonly stderr: string;
    }
  | { readonly notStarted: string };

/** What may be done with a transfer while it runs. */
export interface TransferWatch {
  readonly onProgress?: (progress: TransferProgress) => void;
  /** Ends it, with everything that it started. */
  readonly signal?: AbortSignal;
}

/** What the small process is told; `id` names the run of git that is meant. */
export type Order = { readonly id: number } & (
  | { readonly do: 'run'; readonly task: Task }
  | { readonly do: 'open'; readonly program: Program }
  | { readonly do: 'write'; readonly text: string }
  | { readonly do: 'kill' }
);

/** What it answers. */
export type Report = { readonly id: number } & (
  | { readonly is: 'outcome'; readonly outcome: Outcome }
  | { readonly is: 'progress'; readonly progress: TransferProgress }
  | { readonly is: 'output'; readonly bytes: Uint8Array }
  | { readonly is: 'closed' }
);

/** A git that runs until it is killed. */
export interface Dialogue {
  write(text: string): void;
  kill(): void;
}

export interface DialogueListener {
  output(bytes: Buffer): void;
  /** Once, whatever ended it. */
  closed(): void;
}

const MAIN = join(import.meta.dirname, 'spawner.main.ts');
const LOST: Outcome = { notStarted: 'the process that starts git ended' };

export class Spawner {
  #helper: ChildProcess | null = null;
  #lastId = 0;
  readonly #listeners = new Map<number, (report: Report | null) => void>();

  /** Runs git to its end. Never rejects. */
  run(task: Task, { onProgress, signal }: TransferWatch = {}): Promise<Outcome> {
    const { promise, resolve } = Promise.withResolvers<Outcome>();
    const stop = (): void => this.#tell({ id, do: 'kill' });
    const id = this.#begin((report) => {
      if (report?.is === 'progress') return onProgress?.(report.progress);
      signal?.removeEventListener('abort', stop);
      this.#end(id);
      resolve(report?.is === 'outcome' ? report.outcome : LOST);
    });
    this.#send({ id, do: 'run', task });
    signal?.addEventListener('abort', stop);
    if (signal?.aborted === true) stop();
    return promise;
  }

  open(program: Program, listener: DialogueListener): Dialogue {
    const id = this.#begin((report) => {
      if (report?.is === 'output') return listener.output(Buffer.from(report.bytes));
      this.#end(id);
      listener.closed();
    });
    this.#send({ id, do: 'open', program });
    return {
      write: (text) => this.#tell({ id, do: 'write', text }),
      kill: () => this.#tell({ id, do: 'kill' }),
    };
  }

  /** `listener` hears the reports about one git, or null when the small process is gone. */
  #begin(listener: (report: Report | null) => void): number {
    this.#lastId += 1;
    this.#listeners.set(this.#lastId, listener);
    return this.#lastId;
  }

  #end(id: number): void {
    this.#listeners.delete(id);
    if (this.#listeners.size === 0) holdOpen(this.#helper, false);
  }

  /** Starts the small process when there is none. */
  #send(order: Order): void {
    this.#helper ??= this.#start();
    holdOpen(this.#helper, true);
    tell(this.#helper, order);
  }

  /** Nothing when what the order is about has ended. */
  #tell(order: Order): void {
    if (this.#helper !== null && this.#listeners.has(order.id)) tell(this.#helper, order);
  }

  #start(): ChildProcess {
    const helper = fork(MAIN, {
      serialization: 'advanced',
      execArgv: ['--disable-warning=ExperimentalWarning'],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      cwd: '/',
      // No credential of this process reaches it; where git is found is in the environment of each order.
      env: {},
    });
    helper.on('message', (report: Report) => this.#listeners.get(report.id)?.(report));
    const lose = (): void => {
      if (this.#helper !== helper) return;
      this.#helper = null;
      if (helper.connected) helper.disconnect(); // it ends, and what nobody waits for any more with it
      const lost = [...this.#listeners.values()]; // whoever asks anew meanwhile has a new process
      for (const listener of lost) listener(null);
    };
    helper.on('error', lose);
    helper.once('disconnect', lose);
    return helper;
  }
}

/** What cannot be sent is told by its `error` event; a process that never began has no channel. */
function tell(helper: Partial<Pick<ChildProcess, 'send'>>, order: Order): void {
  helper.send?.(order);
}

/** A process with nothing else to do ends as long as no git runs for it. */
function holdOpen(helper: ChildProcess | null, isHeld: boolean): void {
  if (isHeld) {
    helper?.ref();
    helper?.channel?.ref();
  } else {
    helper?.unref();
    helper?.channel?.unref();
  }
}
