/** The driver's memory of acknowledged writes: one path per line, on the disk before it counts. */
import { type FileHandle, open } from 'node:fs/promises';
import { existsSync, readFileSync } from 'node:fs';

/** Paths acknowledged so far. A line that a killed driver did not finish does not count. */
export function readJournal(file: string): Set<string> {
  if (!existsSync(file)) return new Set();
  return new Set(readFileSync(file, 'utf8').split('\n').slice(0, -1).filter(Boolean));
}

export class Journal {
  readonly #file: FileHandle;
  #waiting: string[] = [];
  #syncing: Promise<void> = Promise.resolve();

  private constructor(file: FileHandle) {
    this.#file = file;
  }

  static async open(path: string): Promise<Journal> {
    const file = await open(path, 'a');
    await file.write('\n'); // ends a line that a killed driver left open; empty lines do not count
    return new Journal(file);
  }

  /** Resolves when the entry is on the disk; entries of one moment share a sync. */
  async append(path: string): Promise<void> {
    this.#waiting.push(path);
    this.#syncing = this.#syncing.then(() => this.#flush());
    await this.#syncing;
  }

  async #flush(): Promise<void> {
    if (this.#waiting.length === 0) return;
    const lines = this.#waiting.map((path) => `${path}\n`).join('');
    this.#waiting = [];
    await this.#file.write(lines);
    await this.#file.datasync();
  }

  async close(): Promise<void> {
    await this.#syncing;
    await this.#file.close();
  }
}
