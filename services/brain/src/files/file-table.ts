/** What one working tree holds, every entry that git would not ignore, and how it differs from the last commit. */
import { z } from 'zod';
import { type Committing, committingOf, EntryKind, type EntryMode, type FileEntry } from './file-entry.ts';
import { createNameIndex } from './name-index.ts';

export const ChangeKind = z.enum(['added', 'modified', 'deleted']);
export type ChangeKind = z.output<typeof ChangeKind>;

/** A file that differs from an earlier state. */
export const ChangedFile = z.strictObject({ file: z.string(), change: ChangeKind });
export type ChangedFile = z.output<typeof ChangedFile>;

/** What a commit takes. */
export interface TreeChange {
  readonly file: string;
  /** As git spells it. */
  readonly onDisk: string;
  readonly change: ChangeKind;
  /** Of what lies there now; null of what went. */
  readonly kind: EntryKind | null;
  readonly mode: EntryMode | null;
}

/** What a commit leaves as it is. */
export const LeftEntry = z.strictObject({
  file: z.string(),
  kind: EntryKind,
  problem: z.string().describe('Why, as the end of a sentence.'),
});
export type LeftEntry = z.output<typeof LeftEntry>;

/** An entry of the last commit. */
export interface HeadEntry {
  readonly mode: string;
  readonly oid: string;
}

export class FileTable {
  readonly #files = new Map<string, FileEntry>();
  readonly #names = createNameIndex();
  /** Spellings that are not their entry's path. */
  readonly #paths = new Map<string, string>();
  /** By the spelling on disk: of entries that differ from the last commit, whether or not a commit takes them. */
  readonly #different = new Set<string>();
  /** Entries of the last commit, by their spelling there. */
  #head = new Map<string, HeadEntry>();
  /** Of those, what was never put into the working tree. */
  #skipped: ReadonlySet<string> = new Set();
  #totalBytes = 0;
  #unserved = 0;
  #sorted: readonly string[] | null = null;

  get size(): number {
    return this.#files.size;
  }

  get totalBytes(): number {
    return this.#totalBytes;
  }

  get(path: string): FileEntry | undefined {
    return this.#files.get(path);
  }

  entries(): IterableIterator<FileEntry> {
    return this.#files.values();
  }

  /** The path of what the disk spells like that. */
  pathOf(onDisk: string): string {
    const known = this.#paths.get(onDisk);
    if (known !== undefined) return known;
    if (this.#files.get(onDisk)?.onDisk === onDisk) return onDisk;
    const normal = onDisk.normalize('NFC');
    const other = this.#files.get(normal);
    return other === undefined || other.onDisk === onDisk ? normal : onDisk;
  }

  set(entry: FileEntry): void {
    const before = this.#files.get(entry.path);
    if (before === undefined) {
      this.#names.add(entry.path);
      this.#sorted = null;
    } else this.#forget(before);
    this.#totalBytes += entry.bytes;
    if (entry.kind !== 'text') this.#unserved += 1;
    if (entry.onDisk !== entry.path) this.#paths.set(entry.onDisk, entry.path);
    this.#files.set(entry.path, entry);
    this.#judge(entry.onDisk, entry);
    // Who is spelled like the path has it; another spelling that had it goes by its own.
    if (before !== undefined && before.onDisk !== entry.onDisk) this.set({ ...before, path: before.onDisk });
  }

  delete(path: string): void {
    const before = this.#files.get(path);
    if (before === undefined) return;
    this.#forget(before);
    this.#files.delete(path);
    this.#names.remove(path);
    this.#sorted = null;
    this.#judge(before.onDisk, undefined);
  }

  #forget(entry: FileEntry): void {
    this.#totalBytes -= entry.bytes;
    if (entry.kind !== 'text') this.#unserved -= 1;
    if (entry.onDisk !== entry.path) this.#paths.delete(entry.onDisk);
  }

  /** The name that `path` would be confused with on a file system that folds case; null when there is none. */
  collision(path: string): string | null {
    return this.#names.collision(path);
  }

  /** Why the entry is not served, or not written; null when it is both. */
  problemOf({ path, problem }: FileEntry): string | null {
    if (problem !== null) return problem;
    // Not which: whoever reads this file may not know of that one.
    return this.collision(path) === null
      ? null
      : 'has a name that some file systems do not tell apart from another one';
  }

  /** Compares with another commit. */
  setHead(head: ReadonlyMap<string, HeadEntry>): void {
    this.#head = new Map(head);
    this.#skipped = new Set();
    this.#different.clear();
    for (const entry of this.#files.values()) this.#judge(entry.onDisk, entry);
    for (const onDisk of this.#head.keys()) if (!this.#isThere(onDisk)) this.#different.add(onDisk);
  }

  /** The last commit changed these; null = removed. */
  advanceHead(changes: ReadonlyMap<string, HeadEntry | null>): void {
    for (const [onDisk, entry] of changes) {
      if (entry === null) this.#head.delete(onDisk);
      else this.#head.set(onDisk, entry);
      this.#judge(onDisk, this.#files.get(this.pathOf(onDisk)));
    }
  }

  headOf(onDisk: string): HeadEntry | undefined {
    return this.#head.get(onDisk);
  }

  headPaths(): IterableIterator<string> {
    return this.#head.keys();
  }

  /** Names what of the last commit was never put into the working tree, so that its absence is no deletion. */
  setSkipped(skipped: ReadonlySet<string>): void {
    this.#skipped = skipped;
  }

  /** Entries of the last commit that are not in the working tree. */
  missing(): string[] {
    return [...this.#different].filter((onDisk) => !this.#isThere(onDisk) && this.#head.has(onDisk));
  }

  isDirty(path: string): boolean {
    return this.#different.has(this.#files.get(path)?.onDisk ?? path);
  }

  /** What a commit takes, sorted by path. */
  changes(): TreeChange[] {
    const changes: TreeChange[] = [];
    for (const onDisk of this.#different) {
      const change = this.#changeOf(onDisk);
      if (change !== null) changes.push(change);
    }
    return changes.sort((a, b) => (a.file < b.file ? -1 : 1));
  }

  #changeOf(onDisk: string): TreeChange | null {
    const path = this.pathOf(onDisk);
    const entry = this.#files.get(path);
    const isCommitted = this.#head.has(onDisk);
    if (entry === undefined || entry.onDisk !== onDisk) {
      if (!isCommitted || this.#skipped.has(onDisk)) return null;
      return { file: path, onDisk, change: 'deleted', kind: null, mode: null };
    }
    if (!isTaken(committingOf(entry), isCommitted)) return null;
    const { kind, mode } = entry;
    return { file: path, onDisk, change: isCommitted ? 'modified' : 'added', kind, mode };
  }

  /** What a commit leaves although the last one does not hold it as it is, sorted by path. */
  left(): LeftEntry[] {
    const left: LeftEntry[] = [];
    for (const onDisk of this.#different) {
      const entry = this.#files.get(this.pathOf(onDisk));
      if (entry === undefined || entry.onDisk !== onDisk) {
        if (this.#skipped.has(onDisk)) left.push(skippedEntry(this.pathOf(onDisk), this.#head.get(onDisk)));
      } else if (!isTaken(committingOf(entry), this.#head.has(onDisk))) {
        const problem = entry.problem ?? 'has a name that is committed only when a person has added it';
        left.push({ file: entry.path, kind: entry.kind, problem });
      }
    }
    return left.sort((a, b) => (a.file < b.file ? -1 : 1));
  }

  /** Entries that are not served, on disk or in the last commit alone. */
  unserved(): LeftEntry[] {
    const skipped = [...this.#skipped].filter((onDisk) => !this.#isThere(onDisk));
    const found = skipped.map((onDisk) => skippedEntry(this.pathOf(onDisk), this.#head.get(onDisk)));
    if (this.#unserved === 0) return found;
    for (const { path, kind, problem } of this.#files.values()) {
      if (kind !== 'text') found.push({ file: path, kind, problem: problem ?? 'is not served' });
    }
    return found;
  }

  /** Every path, in order. */
  sortedPaths(): readonly string[] {
    this.#sorted ??= [...this.#files.keys()].sort();
    return this.#sorted;
  }

  get dirtyCount(): number {
    let count = 0;
    for (const onDisk of this.#different) if (this.#changeOf(onDisk) !== null) count += 1;
    return count;
  }

  #isThere(onDisk: string): boolean {
    return this.#files.get(this.pathOf(onDisk))?.onDisk === onDisk;
  }

  #judge(onDisk: string, entry: FileEntry | undefined): void {
    const head = this.#head.get(onDisk);
    const isSame =
      entry === undefined || entry.onDisk !== onDisk
        ? head === undefined
        : head !== undefined && entry.blob === head.oid && entry.mode === head.mode;
    if (isSame) this.#different.delete(onDisk);
    else this.#different.add(onDisk);
  }
}

function isTaken(committing: Committing, isCommitted: boolean): boolean {
  return committing === 'always' || (committing === 'tracked' && isCommitted);
}

function skippedEntry(file: string, head: HeadEntry | undefined): LeftEntry {
  const kind = head?.mode === '120000' ? 'link' : 'other';
  return { file, kind, problem: 'is in the last commit and was not put into the working tree' };
}
