/** Files of a branch with an open conflict; writing one settles it. */
import type { FileTable } from '../files/file-table.ts';

export interface OpenConflict {
  readonly file: string;
  readonly kind: string;
}

export class OpenConflicts {
  readonly #files = new Set<string>();
  readonly #table: FileTable;

  constructor(table: FileTable, known: readonly OpenConflict[]) {
    this.#table = table;
    this.add(known);
  }

  add(conflicts: readonly OpenConflict[]): void {
    for (const conflict of conflicts) {
      this.#files.add(conflict.file);
      if (conflict.kind === 'in-the-way') this.#table.inTheWay.add(conflict.file);
    }
  }

  delete(file: string): void {
    this.#files.delete(file);
    this.#table.inTheWay.delete(file);
  }

  has(file: string): boolean {
    return this.#files.has(file);
  }

  /** Those of what lay in the way of an entry of the last commit, which is in its place by now. */
  cleared(): string[] {
    return [...this.#table.inTheWay].filter((file) => this.#table.isCleared(file));
  }

  [Symbol.iterator](): IterableIterator<string> {
    return this.#files.values();
  }
}
