/** Differences that somebody else made and that nobody has been told of yet, one for each path. */
import type { FileEntry } from './file-entry.ts';

/** `known`: nobody changed anything, but it is not recorded yet. */
type NoticedKind = 'created' | 'updated' | 'deleted' | 'known';

export interface NoticedChange {
  readonly path: string;
  readonly change: NoticedKind;
  readonly entry: FileEntry | null;
}

interface Difference {
  /** Hash as it was last told; null = nothing was there. */
  readonly before: string | null;
  readonly entry: FileEntry | null;
  readonly isKnown: boolean;
}

export class NoticedChanges {
  #differences = new Map<string, Difference>();

  get isEmpty(): boolean {
    return this.#differences.size === 0;
  }

  /** Later notices of a path replace earlier ones: what counts is what was told last, and what is there now. */
  add(path: string, before: FileEntry | null, entry: FileEntry | null): void {
    const earlier = this.#differences.get(path);
    this.#put(path, { before: earlier === undefined ? (before?.hash ?? null) : earlier.before, entry, isKnown: false });
  }

  /** The entry is as the last commit has it, and was never recorded. */
  addKnown(path: string, entry: FileEntry): void {
    this.#put(path, { before: entry.hash, entry, isKnown: true });
  }

  #put(path: string, difference: Difference): void {
    const isNothing = !difference.isKnown && difference.before === (difference.entry?.hash ?? null);
    if (isNothing) this.#differences.delete(path);
    else this.#differences.set(path, difference);
  }

  /** Nothing that anybody has to be told of. */
  get isSilent(): boolean {
    for (const { isKnown } of this.#differences.values()) if (!isKnown) return false;
    return true;
  }

  take(): NoticedDifferences {
    const taken = this.#differences;
    this.#differences = new Map();
    return new NoticedDifferences(taken);
  }

  /** They could not be told; what was noticed since stays on top of them. */
  putBack({ differences }: NoticedDifferences): void {
    const since = this.#differences;
    this.#differences = new Map();
    for (const [path, difference] of differences) {
      const later = since.get(path);
      const entry = later === undefined ? difference.entry : later.entry;
      this.#put(path, { ...difference, entry, isKnown: difference.isKnown && later === undefined });
    }
    for (const [path, difference] of since) if (!differences.has(path)) this.#differences.set(path, difference);
  }
}

/** What was taken at one time. */
export class NoticedDifferences {
  readonly differences: ReadonlyMap<string, Difference>;

  constructor(differences: ReadonlyMap<string, Difference>) {
    this.differences = differences;
  }

  get size(): number {
    return this.differences.size;
  }

  changes(): NoticedChange[] {
    return Array.from(this.differences, ([path, { before, entry, isKnown }]) => {
      const change = isKnown ? 'known' : entry === null ? 'deleted' : before === null ? 'created' : 'updated';
      return { path, change, entry };
    });
  }
}
