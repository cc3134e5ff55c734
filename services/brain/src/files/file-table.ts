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

export interface FileTable {
  readonly size: number;
  readonly totalBytes: number;
  get(path: string): FileEntry | undefined;
  entries(): IterableIterator<FileEntry>;
  set(entry: FileEntry): void;
  delete(path: string): void;
  /** The name that `path`, new, would be confused with on a file system that folds case; null when there is none. */
  collision(path: string): string | null;
  /** Files of the last commit: path -> blob id. */
  setHead(blobs: ReadonlyMap<string, string>): void;
  /** The last commit changed these: path -> blob id, null = removed. */
  advanceHead(blobs: ReadonlyMap<string, string | null>): void;
  isDirty(path: string): boolean;
  /** Differences from the last commit, sorted by path. */
  changes(): { file: string; change: ChangeKind }[];
  readonly dirtyCount: number;
}

export function createFileTable(): FileTable {
  const files = new Map<string, FileEntry>();
  const names = createNameIndex();
  const dirty = new Set<string>();
  let head = new Map<string, string>();
  let totalBytes = 0;

  function judge(path: string): void {
    if (files.get(path)?.blob === head.get(path)) dirty.delete(path);
    else dirty.add(path);
  }

  return {
    get size() {
      return files.size;
    },
    get totalBytes() {
      return totalBytes;
    },
    get: (path) => files.get(path),
    entries: () => files.values(),
    set(entry) {
      const before = files.get(entry.path);
      if (before === undefined) names.add(entry.path);
      totalBytes += entry.bytes - (before?.bytes ?? 0);
      files.set(entry.path, entry);
      judge(entry.path);
    },
    delete(path) {
      totalBytes -= files.get(path)?.bytes ?? 0;
      if (files.delete(path)) names.remove(path);
      judge(path);
    },
    collision: (path) => names.collision(path),
    setHead(blobs) {
      head = new Map(blobs);
      dirty.clear();
      for (const path of new Set([...files.keys(), ...head.keys()])) judge(path);
    },
    advanceHead(blobs) {
      for (const [path, blob] of blobs) {
        if (blob === null) head.delete(path);
        else head.set(path, blob);
        judge(path);
      }
    },
    isDirty: (path) => dirty.has(path),
    changes() {
      return [...dirty].sort().map((file) => ({ file, change: kindOf(files.has(file), head.has(file)) }));
    },
    get dirtyCount() {
      return dirty.size;
    },
  };
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
