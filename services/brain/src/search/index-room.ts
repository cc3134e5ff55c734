/** Whether there is memory for one more file of an index; what there is none for is left out, and tried again later. */
import type { AnalysedFile } from './analysed-file.ts';
import type { IndexMemory, TendedIndex } from './index-memory.ts';

/** Memory is looked at after about so many bytes of text. */
const LOOK_AFTER_BYTES = 1024 * 1024;
const RETRY_AFTER_MS = 5_000;
/** What a byte of a record takes in the lists, about. */
const BYTES_PER_BYTE = 5;
const BYTES_PER_FILE = 1_000;

export class IndexRoom {
  readonly #memory: IndexMemory;
  readonly #index: TendedIndex;
  readonly #left = new Set<string>();
  #leftAt = 0;
  /** Files that went since it was loaded, or may have. */
  #gone = 0;
  /** Text that was admitted since memory was looked at. */
  #admitted = 0;
  #isFull = false;
  /** Of analyses that wait for their index. */
  #loadingBytes = 0;

  constructor(memory: IndexMemory, index: TendedIndex) {
    this.#memory = memory;
    this.#index = index;
  }

  /** Files that are not found because there was no room for them. */
  get leftOut(): number {
    return this.#left.size;
  }

  get loadingBytes(): number {
    return this.#loadingBytes;
  }

  /** Others that are not in use just now have to go first. */
  async admits(path: string, bytes: number): Promise<boolean> {
    this.#admitted += bytes;
    if (this.#admitted >= LOOK_AFTER_BYTES || this.#isFull) {
      this.#admitted = 0;
      this.#isFull = !(await this.#memory.makeRoom(this.#index));
    }
    if (this.#isFull) this.#leave(path);
    else this.#left.delete(path);
    return !this.#isFull;
  }

  /** It waits in memory until the index is made of all. */
  load({ bytes }: AnalysedFile): void {
    this.#loadingBytes += bytes * BYTES_PER_BYTE + BYTES_PER_FILE;
  }

  loaded(): void {
    this.#loadingBytes = 0;
  }

  isLeft(path: string): boolean {
    return this.#left.has(path);
  }

  /** The path is gone. */
  forget(path: string): void {
    this.#left.delete(path);
    this.#gone += 1;
  }

  /** Not all that was used for files that went is free for others: an index that is made anew has no gaps. */
  isWorthLoadingAnew(now: number): boolean {
    const isStuck = this.#left.size > 0 && now - this.#leftAt >= RETRY_AFTER_MS && this.#memory.isNearlyFull;
    return isStuck && this.#gone > 0;
  }

  /** Paths to be tried again now. */
  takeLeft(now: number): readonly string[] {
    if (this.#left.size === 0 || now - this.#leftAt < RETRY_AFTER_MS || this.#memory.isNearlyFull) return [];
    const paths = [...this.#left];
    this.#left.clear();
    this.#isFull = false;
    return paths;
  }

  clear(): void {
    this.#left.clear();
    this.#isFull = false;
    this.#gone = 0;
  }

  #leave(path: string): void {
    this.#left.add(path);
    this.#leftAt = this.#memory.now();
  }
}
