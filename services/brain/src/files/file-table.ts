/** What one working tree holds: every plain file with a legal name, its hashes, and how it differs from the last commit. */
import { foldCase } from '@svc/contract/names.ts';

export interface FileEntry {
  readonly path: string;
  /** SHA-256 of the bytes, hex. */
  readonly hash: string;
  /** Git blob id of the bytes. */
  readonly blob: string;
  readonly bytes: number;
  /** Size, times and inode in one text: equal text, equal bytes (but see `Worktree.refresh`). */
  readonly stat: string;
  /** Milliseconds since the epoch. */
  readonly modifiedAt: number;
  /** UTF-8 without NUL. */
  readonly isText: boolean;
}

export type ChangeKind = 'added' | 'modified' | 'deleted';

export class FileTable {
  readonly #files = new Map<string, FileEntry>();
  readonly #names = createNameIndex();
  readonly #dirty = new Set<string>();
  /** Files of the last commit: path -> blob id. */
  #head = new Map<string, string>();
  #totalBytes = 0;

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

  set(entry: FileEntry): void {
    const before = this.#files.get(entry.path);
    if (before === undefined) this.#names.add(entry.path);
    this.#totalBytes += entry.bytes - (before?.bytes ?? 0);
    this.#files.set(entry.path, entry);
    this.#judge(entry.path);
  }

  delete(path: string): void {
    this.#totalBytes -= this.#files.get(path)?.bytes ?? 0;
    if (this.#files.delete(path)) this.#names.remove(path);
    this.#judge(path);
  }

  /** The name that `path`, new, would be confused with on a file system that folds case; null when there is none. */
  collision(path: string): string | null {
    return this.#names.collision(path);
  }

  /** Compares with another commit: path -> blob id. */
  setHead(blobs: ReadonlyMap<string, string>): void {
    this.#head = new Map(blobs);
    this.#dirty.clear();
    for (const path of new Set([...this.#files.keys(), ...this.#head.keys()])) this.#judge(path);
  }

  /** The last commit changed these: path -> blob id, null = removed. */
  advanceHead(blobs: ReadonlyMap<string, string | null>): void {
    for (const [path, blob] of blobs) {
      if (blob === null) this.#head.delete(path);
      else this.#head.set(path, blob);
      this.#judge(path);
    }
  }

  isDirty(path: string): boolean {
    return this.#dirty.has(path);
  }

  /** Differences from the last commit, sorted by path. */
  changes(): { file: string; change: ChangeKind }[] {
    const kind = (file: string) => kindOf(this.#files.has(file), this.#head.has(file));
    return [...this.#dirty].sort().map((file) => ({ file, change: kind(file) }));
  }

  get dirtyCount(): number {
    return this.#dirty.size;
  }

  #judge(path: string): void {
    if (this.#files.get(path)?.blob === this.#head.get(path)) this.#dirty.delete(path);
    else this.#dirty.add(path);
  }
}

function kindOf(present: boolean, committed: boolean): ChangeKind {
  if (!committed) return 'added';
  return present ? 'modified' : 'deleted';
}

/** Folded name -> the spelling in use, for files and every directory above them. */
export interface NameIndex {
  add(path: string): void;
  remove(path: string): void;
  /** The name in use that `path` would be confused with, or null. */
  collision(path: string): string | null;
}

export function createNameIndex(): NameIndex {
  const spelling = new Map<string, { name: string; uses: number; file: boolean }>();

  function* prefixes(path: string): Generator<{ name: string; file: boolean }> {
    for (let end = path.indexOf('/'); end !== -1; end = path.indexOf('/', end + 1)) {
      yield { name: path.slice(0, end), file: false };
    }
    yield { name: path, file: true };
  }

  return {
    add(path: string): void {
      for (const { name, file } of prefixes(path)) {
        const folded = foldCase(name);
        const present = spelling.get(folded);
        if (present) present.uses += 1;
        else spelling.set(folded, { name, uses: 1, file });
      }
    },
    remove(path: string): void {
      for (const { name } of prefixes(path)) {
        const folded = foldCase(name);
        const present = spelling.get(folded);
        if (present && (present.uses -= 1) === 0) spelling.delete(folded);
      }
    },
    collision(path: string): string | null {
      for (const { name, file } of prefixes(path)) {
        const present = spelling.get(foldCase(name));
        if (present && (present.name !== name || present.file !== file)) return present.name;
      }
      return null;
    },
  };
}
