/** Changes that an index has yet to take in, each path once, the longest waiting first. */
import type { IndexRoom } from './index-room.ts';
import type { RuledIndex } from './ruled-index.ts';

export interface PendingChange {
  readonly path: string;
  /** Of the content; null = whatever the source has; undefined = the file is gone. */
  readonly hash: string | null | undefined;
  /** The content when it was at hand. */
  readonly text: string | null;
  /** Number of the note that first asked for a look at this path. */
  readonly since: number;
}

/** Texts at hand are kept up to so many UTF-16 units in all; others are read again. */
const KEPT_TEXT = 8 * 1024 * 1024;

export class PendingChanges {
  readonly #changes = new Map<string, PendingChange>();
  #kept = 0;
  #notes = 0;

  get size(): number {
    return this.#changes.size;
  }

  /** Number of the last note. */
  get last(): number {
    return this.#notes;
  }

  /** Number of the oldest note still waiting, Infinity without any. */
  get oldest(): number {
    for (const { since } of this.#changes.values()) return since;
    return Number.POSITIVE_INFINITY;
  }

  has(path: string): boolean {
    return this.#changes.has(path);
  }

  /** Takes the place in the queue of an earlier note of that path. */
  note(path: string, hash: string | null | undefined, text: string | null): void {
    this.#notes += 1;
    const before = this.#changes.get(path);
    this.#kept -= before?.text?.length ?? 0;
    const kept = text !== null && this.#kept + text.length <= KEPT_TEXT ? text : null;
    this.#kept += kept?.length ?? 0;
    this.#changes.set(path, { path, hash, text: kept, since: before?.since ?? this.#notes });
  }

  /** The longest waiting; they stay until they are `done`. */
  first(count: number): PendingChange[] {
    const found: PendingChange[] = [];
    for (const change of this.#changes.values()) {
      if (found.length === count) break;
      found.push(change);
    }
    return found;
  }

  /** It was taken in; what was noted of the path since then stays. */
  done(change: PendingChange): void {
    if (this.#changes.get(change.path) !== change) return;
    this.#changes.delete(change.path);
    this.#kept -= change.text?.length ?? 0;
  }

  clear(): void {
    this.#changes.clear();
    this.#kept = 0;
  }
}

/**
 * Notes what of an index is not as it is wanted: by path the hash, null = whatever the source has. What changes between
 * its steps is noted by whoever changes it.
 */
export function* noteDifferences(
  index: Pick<RuledIndex, 'files' | 'hashOf'>,
  wanted: ReadonlyMap<string, string | null>,
  pending: PendingChanges,
  room: Pick<IndexRoom, 'isLeft'>,
): Generator<void, void> {
  for (const file of index.files()) {
    if (!wanted.has(file) && !pending.has(file)) pending.note(file, undefined, null);
    yield;
  }
  for (const [path, hash] of wanted) {
    const isHeld = hash === null ? index.hashOf(path) !== null : index.hashOf(path) === hash;
    if (!isHeld && !pending.has(path) && !room.isLeft(path)) pending.note(path, hash, null);
    yield;
  }
}
