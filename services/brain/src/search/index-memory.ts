/** What the search indexes of one process may take up together, and the beat at which they do their background work. */
import { AnalysisThread, type OnNotAnalysed } from './analysis-thread.ts';

/** An index as the process looks after it; times in milliseconds of `now`. */
export interface TendedIndex {
  /** In memory; 0 = it is not loaded. */
  readonly bytes: number;
  readonly usedAt: number;
  /** Takes up work that is due, and does not wait for it. */
  tend(now: number): void;
  evict(): Promise<void>;
}

interface IndexMemoryOptions {
  /** Beyond this nothing is taken in: the process must not die of what somebody stores. */
  readonly limitBytes: number;
  readonly idleMs: number;
  readonly onNotAnalysed: OnNotAnalysed;
  /** Monotonic. */
  now(): number;
}

const MEBIBYTE = 1024 * 1024;
const DEFAULTS: IndexMemoryOptions = {
  limitBytes: 448 * MEBIBYTE,
  idleMs: 10 * 60_000,
  onNotAnalysed: () => {},
  now: () => performance.now(),
};
const BEAT_MS = 250;
/** What indexes that are not in use may take of all there is, so that others find room: 256 MiB of 448. */
const RESTING_SHARE = 4 / 7;
/** An index used within this time stays, whatever it takes: loading it again and again would cost more. */
const IN_USE_MS = 15_000;

export class IndexMemory {
  readonly thread: AnalysisThread;
  readonly now: () => number;
  readonly #options: IndexMemoryOptions;
  readonly #indexes = new Set<TendedIndex>();
  readonly #timer: NodeJS.Timeout;

  constructor(options: Partial<IndexMemoryOptions> = {}) {
    this.#options = { ...DEFAULTS, ...options };
    this.now = this.#options.now;
    this.thread = new AnalysisThread(this.#options.onNotAnalysed);
    this.#timer = setInterval(() => this.tend(), BEAT_MS).unref();
  }

  add(index: TendedIndex): void {
    this.#indexes.add(index);
  }

  remove(index: TendedIndex): void {
    this.#indexes.delete(index);
  }

  /** All that share it. */
  get indexes(): Iterable<TendedIndex> {
    return this.#indexes;
  }

  /** Of all indexes. */
  get bytes(): number {
    let bytes = 0;
    for (const index of this.#indexes) bytes += index.bytes;
    return bytes;
  }

  get limitBytes(): number {
    return this.#options.limitBytes;
  }

  /** What was left out has hardly a chance. */
  get isNearlyFull(): boolean {
    return this.bytes > this.#options.limitBytes * 0.9;
  }

  /** Lets go of the others, the longest unused first, as far as is needed. False when that is not enough. */
  async makeRoom(wanting: TendedIndex): Promise<boolean> {
    const { limitBytes } = this.#options;
    if (this.bytes < limitBytes) return true;
    const others = [...this.#indexes].filter((index) => index !== wanting && index.bytes > 0);
    for (const index of others.sort((a, b) => a.usedAt - b.usedAt)) {
      await index.evict();
      if (this.bytes < limitBytes) return true;
    }
    return false;
  }

  tend(): void {
    const now = this.now();
    for (const index of this.#indexes) index.tend(now);
    const { limitBytes, idleMs } = this.#options;
    const loaded = [...this.#indexes].filter(({ bytes }) => bytes > 0).sort((a, b) => a.usedAt - b.usedAt);
    let total = loaded.reduce((sum, { bytes }) => sum + bytes, 0);
    for (const index of loaded) {
      const unusedMs = now - index.usedAt;
      if (unusedMs < idleMs && (total <= limitBytes * RESTING_SHARE || unusedMs < IN_USE_MS)) break;
      total -= index.bytes;
      void index.evict();
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.thread.close();
  }
}
