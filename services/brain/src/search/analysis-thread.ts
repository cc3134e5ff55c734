/** Analysis beside the main thread: a thread that starts with the first large piece of work and ends when there is none. */
import { WorkThread } from '../thread/work-thread.ts';
import type { TextFormat } from './passages.ts';
import { Block } from './snapshot-block.ts';

export interface TextToAnalyse {
  readonly format: TextFormat;
  readonly hash: string;
  readonly content: string;
}

/** Told why the thread gave no answer. */
export type OnNotAnalysed = (error: unknown) => void;

/** It takes some 30 MiB, and little time to start again. */
const IDLE_MS = 2_000;

export class AnalysisThread {
  readonly #thread = new WorkThread<readonly TextToAnalyse[], Uint8Array>(
    new URL('./analysis.worker.ts', import.meta.url),
    { idleMs: IDLE_MS },
  );
  readonly #onNotAnalysed: OnNotAnalysed;

  constructor(onNotAnalysed: OnNotAnalysed) {
    this.#onNotAnalysed = onNotAnalysed;
  }

  /** A block without files; null when the thread failed at it, so that the caller has to do the work, text by text. */
  async analyse(texts: readonly TextToAnalyse[]): Promise<Block | null> {
    try {
      return Block.read(await this.#thread.ask(texts));
    } catch (error) {
      this.#onNotAnalysed(error);
      return null;
    }
  }

  /** What is under way is answered with null. */
  async close(): Promise<void> {
    await this.#thread[Symbol.asyncDispose]();
  }
}
