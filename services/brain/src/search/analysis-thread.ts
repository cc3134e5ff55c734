/** Analysis beside the main thread: a thread that starts with the first large piece of work and ends when there is none. */
import { Worker } from 'node:worker_threads';
import type { TextFormat } from './passages.ts';
import { Block } from './snapshot-block.ts';

export interface AnalysisRequest {
  readonly id: number;
  readonly texts: readonly TextToAnalyse[];
}

export interface AnalysisReply {
  readonly id: number;
  readonly block: Uint8Array;
}

export interface TextToAnalyse {
  readonly format: TextFormat;
  readonly hash: string;
  readonly content: string;
}

const IDLE_MS = 10_000;

interface Waiting {
  resolve(block: Block | null): void;
}

export class AnalysisThread {
  #worker: Worker | null = null;
  #idle: NodeJS.Timeout | null = null;
  #requests = 0;
  readonly #waiting = new Map<number, Waiting>();

  /** A block without files; null when the thread ended over it, so that the caller has to do the work. */
  analyse(texts: readonly TextToAnalyse[]): Promise<Block | null> {
    if (this.#idle !== null) clearTimeout(this.#idle);
    this.#worker ??= this.#start();
    const worker = this.#worker;
    worker.ref();
    const id = (this.#requests += 1);
    const request: AnalysisRequest = { id, texts };
    return new Promise((resolve) => {
      this.#waiting.set(id, { resolve });
      worker.postMessage(request, []);
    });
  }

  /** What is under way is answered with null. */
  async close(): Promise<void> {
    if (this.#idle !== null) clearTimeout(this.#idle);
    await this.#worker?.terminate();
  }

  #start(): Worker {
    const worker = new Worker(new URL('./analysis.worker.ts', import.meta.url), {
      execArgv: [], // options meant for the entry of this process do not fit the thread's
    });
    worker.on('message', ({ id, block }: AnalysisReply) => {
      this.#waiting.get(id)?.resolve(Block.read(block));
      this.#waiting.delete(id);
      if (this.#waiting.size === 0) this.#rest(worker);
    });
    worker.on('error', () => {}); // 'exit' follows
    worker.on('exit', () => {
      if (this.#worker === worker) this.#worker = null;
      for (const { resolve } of this.#waiting.values()) resolve(null);
      this.#waiting.clear();
    });
    return worker;
  }

  #rest(worker: Worker): void {
    worker.unref();
    this.#idle = setTimeout(() => void worker.terminate(), IDLE_MS).unref();
  }
}
