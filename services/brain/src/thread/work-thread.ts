/** Work that everybody else would wait for, on a thread beside the main one: one piece after the other. */
import { Worker } from 'node:worker_threads';

/** The thread ended over it twice, for want of memory say, or was closed. */
export class ThreadEnded extends Error {}

/** It took longer than it was given; the thread was ended over it. */
export class ThreadTooSlow extends Error {}

/** What the script of a thread says to each question; see `answerQuestions`. */
export type ThreadReply<Answer> = { readonly answer: Answer } | { readonly bug: unknown };

interface WorkThreadOptions {
  /** Without work for so long, the thread ends; the next piece starts another. */
  readonly idleMs?: number;
}

/** The engine would give each thread some 100 MiB for what it forgets at once, and keep them as long as the thread lives. */
const YOUNG_GENERATION_MB = 8;

/** The thread starts with the first piece. A bug in it is thrown where the answer is waited for. */
export class WorkThread<Question, Answer> implements AsyncDisposable {
  readonly #script: URL;
  readonly #idleMs: number;
  #worker: Worker | null = null;
  #idle: NodeJS.Timeout | null = null;
  #isClosed = false;
  /** So that whoever the thread ended over is known, and spoils nobody else's piece. */
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  constructor(script: URL, { idleMs = 10_000 }: WorkThreadOptions = {}) {
    this.#script = script;
    this.#idleMs = idleMs;
  }

  /** Throws ThreadEnded, ThreadTooSlow, or what the work threw. `withinMs` counts from when the work begins. */
  async ask(question: Question, withinMs?: number): Promise<Answer> {
    this.#waiting += 1;
    const asked = this.#last.then(() => this.#attempts(question, withinMs));
    this.#last = asked.catch(() => {});
    try {
      return await asked;
    } finally {
      this.#waiting -= 1;
      if (this.#waiting === 0) this.#rest();
    }
  }

  /** What is in hand and what waits is answered with ThreadEnded. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    if (this.#idle !== null) clearTimeout(this.#idle);
    await this.#worker?.terminate();
  }

  /** A thread may die of what has nothing to do with the piece; of a second one the piece is the likely cause. */
  async #attempts(question: Question, withinMs: number | undefined): Promise<Answer> {
    const reply = (await this.#attempt(question, withinMs)) ?? (await this.#attempt(question, withinMs));
    if (reply === null) throw new ThreadEnded('the thread ended over the work');
    if ('bug' in reply) throw reply.bug;
    return reply.answer;
  }

  /** Null when the thread ended. */
  async #attempt(question: Question, withinMs: number | undefined): Promise<ThreadReply<Answer> | null> {
    if (this.#isClosed) return null;
    if (this.#idle !== null) clearTimeout(this.#idle);
    const worker = (this.#worker ??= this.#start());
    worker.ref();
    const { promise, resolve, reject } = Promise.withResolvers<ThreadReply<Answer> | null>();
    const ended = (): void => resolve(null);
    worker.once('message', resolve).once('exit', ended);
    const tooSlow = (): void => {
      this.#worker = null;
      void worker.terminate();
      reject(new ThreadTooSlow('the work took longer than it was given'));
    };
    const limit = withinMs === undefined ? null : setTimeout(tooSlow, Math.max(withinMs, 0));
    worker.postMessage(question, []);
    try {
      return await promise;
    } finally {
      if (limit !== null) clearTimeout(limit);
      worker.off('message', resolve).off('exit', ended);
    }
  }

  #start(): Worker {
    const worker = new Worker(this.#script, {
      execArgv: [], // options meant for the entry of this process do not fit the thread's
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB },
    });
    worker.on('error', () => {}); // 'exit' follows
    worker.on('exit', () => {
      if (this.#worker === worker) this.#worker = null;
    });
    return worker;
  }

  #rest(): void {
    const worker = this.#worker;
    if (worker === null || this.#isClosed) return;
    worker.unref();
    this.#idle = setTimeout(() => {
      if (this.#worker === worker) this.#worker = null;
      void worker.terminate();
    }, this.#idleMs).unref();
  }
}
