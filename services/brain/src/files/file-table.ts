/** What one working tree holds, every entry that git would not ignore, and how it differs from the last commit. */
import { z } from 'zod';
import {
  type Committing,
  committingOf,
  EntryKind,
  type EntryMode,
  type FileEntry,
  isNotLookedThrough,
  REPOSITORY_MODE,
} from './file-entry.ts';
import { isSpeakable, shownPath } from '../git/path-bytes.ts';
import { isIndexable } from '../git/tree-edit.ts';
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

const REPOSITORY = 'is a git repository of its own';
const NOT_UTF8 = 'has a name that is not UTF-8';
const NOT_TAKEN = 'has a name that git puts into no working tree';
const NOT_PUT = 'is in the last commit and was not put into the working tree';
const IN_THE_WAY = 'lies in the way of what a merge brought into the last commit';

export class FileTable {
  readonly #files = new Map<string, FileEntry>();
  readonly #names = createNameIndex();
  /** Spellings that are not their entry's path. */
  readonly #paths = new Map<string, string>();
  /** NFC path -> another spelling of it that goes by its own, while one spelled like the path has that. */
  readonly #displaced = new Map<string, string>();
  /** By the spelling on disk: of entries that differ from the last commit, whether or not a commit takes them. */
  readonly #different = new Set<string>();
  /** Entries of the last commit, by their spelling there. */
  #head = new Map<string, HeadEntry>();
  /** The NFC forms of those spellings; null = not asked for since they changed. */
  #headNames: ReadonlySet<string> | null = null;
  /** Of those, what the working tree does not hold as they are spelled. */
  readonly #missing = new Set<string>();
  /** Of the index: what was never put into the working tree. */
  #skipped: ReadonlySet<string> = new Set();
  /** Paths of the last commit in whose place lies what no commit holds: until that is settled, both stay as they are. */
  readonly inTheWay = new Set<string>();
  readonly #hasDirectory: (onDisk: string) => boolean;
  #totalBytes = 0;
  #unserved = 0;
  #sorted: readonly string[] | null = null;

  /** `hasDirectory`: whether the disk has one there, which is all that a repository inside need have. */
  constructor(hasDirectory: (onDisk: string) => boolean = () => false) {
    this.#hasDirectory = hasDirectory;
  }

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
    else this.#noteSpelling(entry.path);
    this.#files.set(entry.path, entry);
    this.#judge(entry.onDisk, entry);
    // Who is spelled like the path has it; another spelling that had it goes by its own.
    if (before === undefined || before.onDisk === entry.onDisk) return;
    this.set({ ...before, path: before.onDisk });
  }

  #noteSpelling(path: string): void {
    const normal = path.normalize('NFC');
    if (normal !== path) this.#displaced.set(normal, path);
  }

  /** Another spelling of a path that nothing has any more, which goes by its own still. */
  displacedFrom(path: string): string | null {
    const onDisk = this.#displaced.get(path);
    return onDisk === undefined || this.#files.has(path) || !this.#files.has(onDisk) ? null : onDisk;
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
    this.#headNames = null;
    this.#different.clear();
    this.#missing.clear();
    for (const entry of this.#files.values()) this.#judge(entry.onDisk, entry);
    for (const onDisk of this.#head.keys()) if (!this.#isThere(onDisk)) this.#judge(onDisk, undefined);
  }

  /** The last commit changed these; null = removed. */
  advanceHead(changes: Iterable<readonly [string, HeadEntry | null]>): void {
    this.#headNames = null;
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

  /** Names what was never put into the working tree, so that its absence is no deletion. */
  setSkipped(skipped: ReadonlySet<string>): void {
    this.#skipped = skipped;
  }

  /** Whether something of the last commit is not in the working tree. */
  get isIncomplete(): boolean {
    return this.#missing.size > 0;
  }

  /** Whether what lay in the place of an entry of the last commit has made room for it. */
  isCleared(path: string): boolean {
    const onDisk = this.#files.get(path)?.onDisk;
    return onDisk !== undefined && this.#head.has(onDisk) && !this.#different.has(onDisk);
  }

  /**
   * What of the last commit stays as it is although it is not in the working tree, at this place, above it or below it.
   * What lay in the way and is gone may be written again.
   */
  keptAt(onDisk: string): LeftEntry | null {
    for (const missing of this.#missing) {
      const kept = isOneWay(missing, onDisk) ? this.#kept(missing) : null;
      if (kept !== null && !(kept === IN_THE_WAY && missing === onDisk)) return this.#absent(missing, kept);
    }
    return null;
  }

  /** Why the last commit's entry stays as it is, whatever the working tree holds; null = it does not. */
  #kept(onDisk: string): string | null {
    if (this.#isInTheWay(onDisk)) return IN_THE_WAY;
    if (!isSpeakable(onDisk)) return NOT_UTF8;
    if (!this.#missing.has(onDisk)) return null;
    const mode = this.#head.get(onDisk)?.mode ?? '';
    if (!isIndexable(onDisk, mode)) return NOT_TAKEN;
    if (this.#skipped.has(onDisk)) return NOT_PUT;
    const above = this.#outOfSight(onDisk);
    if (above !== null) return above;
    return mode === REPOSITORY_MODE && this.#hasDirectory(onDisk) ? REPOSITORY : null;
  }

  /** Why nobody can tell whether it is still there; null = it is not. */
  #outOfSight(onDisk: string): string | null {
    for (let slash = onDisk.indexOf('/'); slash !== -1; slash = onDisk.indexOf('/', slash + 1)) {
      const above = this.#files.get(this.pathOf(onDisk.slice(0, slash)));
      if (above !== undefined && isNotLookedThrough(above)) return above.problem;
    }
    return null;
  }

  #isInTheWay(onDisk: string): boolean {
    if (this.inTheWay.size === 0) return false;
    const name = onDisk.normalize('NFC');
    return [...this.inTheWay].some((path) => isOneWay(path, name) && this.#isCommitted(path));
  }

  #isCommitted(path: string): boolean {
    if (this.#head.has(path)) return true;
    this.#headNames ??= new Set([...this.#head.keys()].map((onDisk) => onDisk.normalize('NFC')));
    return this.#headNames.has(path);
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
    if (this.#kept(onDisk) !== null) return null;
    if (entry === undefined || entry.onDisk !== onDisk) {
      if (!isCommitted) return null;
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
      const kept = this.#kept(onDisk);
      if (entry === undefined || entry.onDisk !== onDisk) {
        if (kept !== null && !this.#isListed(onDisk)) left.push(this.#absent(onDisk, kept));
      } else if (kept !== null || !isTaken(committingOf(entry), this.#head.has(onDisk))) {
        const problem = kept ?? entry.problem ?? 'has a name that is committed only when a person has added it';
        left.push({ file: entry.path, kind: entry.kind, problem });
      }
    }
    return left.sort((a, b) => (a.file < b.file ? -1 : 1));
  }

  /** Entries that are not served, on disk or in the last commit alone. */
  unserved(): LeftEntry[] {
    const found = [...this.#missing].flatMap((onDisk) => {
      const kept = this.#kept(onDisk);
      return kept === null || this.#isListed(onDisk) ? [] : [this.#absent(onDisk, kept)];
    });
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

  /** The disk shows what has a name that is no UTF-8 as we do. */
  #isListed(onDisk: string): boolean {
    return !isSpeakable(onDisk) && this.#files.has(shownPath(onDisk));
  }

  #absent(onDisk: string, problem: string): LeftEntry {
    const kind = this.#head.get(onDisk)?.mode === '120000' ? 'link' : 'other';
    return { file: shownPath(this.pathOf(onDisk)), kind, problem };
  }

  #isThere(onDisk: string): boolean {
    return this.#files.get(this.pathOf(onDisk))?.onDisk === onDisk;
  }

  #judge(onDisk: string, entry: FileEntry | undefined): void {
    const head = this.#head.get(onDisk);
    const isThere = entry !== undefined && entry.onDisk === onDisk;
    if (head === undefined || isThere) this.#missing.delete(onDisk);
    else this.#missing.add(onDisk);
    const isSame = isThere
      ? head !== undefined && entry.blob === head.oid && entry.mode === head.mode
      : head === undefined;
    if (isSame) this.#different.delete(onDisk);
    else this.#different.add(onDisk);
  }
}

function isTaken(committing: Committing, isCommitted: boolean): boolean {
  return committing === 'always' || (committing === 'tracked' && isCommitted);
}

/** Whether one of the two is the other, or a directory above it. */
function isOneWay(path: string, other: string): boolean {
  return path === other || path.startsWith(`${other}/`) || other.startsWith(`${path}/`);
}
