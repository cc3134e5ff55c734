/** A branch as readers see it: its working tree, or, without one, its last commit; and any past commit. */
import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { candidatePaths, filesOfStem } from '@svc/contract/names.ts';
import { emptyFoldersIn, isEmptyFolder } from '../files/empty-folders.ts';
import { decodeText, EntryKind, type FileEntry } from '../files/file-entry.ts';
import type { Worktree } from '../files/worktree.ts';
import { changeTimeOf, readChangeTimes } from '../git/change-times.ts';
import { readBlobPiece } from '../git/blob-piece.ts';
import { readBlob, readTree, type TreeEntry } from '../git/objects.ts';
import type { Repository } from '../git/repository.ts';
import { isShown, MAX_FILE_BYTES } from '../git/worktrees.ts';
import type { RowChains } from '../ports.ts';
import type { BranchIndex, TextSource } from '../search/branch-index.ts';
import type { ChangedAt } from '../search/conditions.ts';
import type { RuledIndex } from '../search/ruled-index.ts';
import { Slices } from '../thread/slices.ts';
import type { BranchWriter } from '../writer/branch-writer.ts';

export const ListedFile = z.strictObject({
  file: z.string(),
  bytes: z.number(),
  /** Empty where the bytes are not read. */
  hash: z.string(),
  modifiedAt: z.number().nullable(),
  /** Only text is served. */
  kind: EntryKind,
  /** Why it is not served, or not written, as the end of a sentence. */
  problem: z.string().nullable(),
});
export type ListedFile = Readonly<z.output<typeof ListedFile>>;

export interface ViewedFile extends ListedFile {
  /** Null when the file is not text. */
  readonly text: string | null;
  /** As git writes it. */
  readonly mode: string;
}

/** Bytes from `offset` on, at most so many. */
export interface Piece {
  readonly offset: number;
  readonly length: number;
}

export interface BranchView {
  readonly commit: string;
  /** Those that are wanted, in order of their paths; each is looked at when it is asked for. */
  files(isWanted: (path: string) => boolean): AsyncIterable<ListedFile>;
  /** In no particular order. */
  paths(): Promise<Iterable<string>>;
  read(path: string): Promise<ViewedFile | null>;
  /** Of a regular file, served or not; null when there is none, or it changed since it was looked at. */
  readPiece(path: string, piece: Piece): Promise<Uint8Array | null>;
  /** Directories in this one that hold no file, and that no commit knows of. */
  emptyFolders(directory: string): readonly string[];
  /** Whether this is such a directory. */
  isEmptyFolder(directory: string): boolean;
  isDirty(path: string): boolean;
  /** When each file was written, as far as its history and its working tree tell. */
  writingTimes(): Promise<ChangedAt>;
  /** What `ask` says of the index of these files, as it is to be under those rules. */
  ask<Answer>(chains: RowChains, ask: (index: RuledIndex) => Answer): Promise<Answer>;
}

export function worktreeView(repository: Repository, writer: BranchWriter, commit: string): BranchView {
  const { tree } = writer;
  return {
    commit,
    files: (isWanted) => filesOf(tree, isWanted),
    async paths() {
      await tree.catchUp();
      return pathsOf(tree.table.entries());
    },
    async read(path) {
      const found = await writer.read(path);
      return found === null
        ? null
        : { ...listed(found.entry, found.entry.problem), text: found.text, mode: found.entry.mode };
    },
    async readPiece(path, piece) {
      const found = await writer.read(path);
      return found === null ? null : tree.readPiece(found.entry, piece);
    },
    emptyFolders: (directory) => emptyFoldersIn(tree.root, tree.folderOnDisk(directory)),
    isEmptyFolder: (directory) => isEmptyFolder(tree.root, tree.folderOnDisk(directory)),
    isDirty: (path) => tree.table.isDirty(path),
    async writingTimes() {
      const times = await readChangeTimes(repository, commit);
      return (path) => {
        const entry = tree.table.get(path);
        if (entry === undefined) return null;
        const { onDisk, blob, modifiedAt } = entry;
        const committedAt = tree.table.isDirty(path) ? null : changeTimeOf(times, onDisk, blob);
        // Whoever makes a working tree writes into it what is much older.
        return committedAt === null ? modifiedAt : Math.min(committedAt, modifiedAt);
      };
    },
    async ask(chains, ask) {
      await tree.catchUp();
      return tree.index.ask(chains, ask);
    },
  };
}

async function* filesOf(tree: Worktree, isWanted: (path: string) => boolean): AsyncGenerator<ListedFile> {
  await tree.catchUp();
  const { table } = tree;
  const skipped = table.unserved().filter(({ file }) => table.get(file) === undefined && isWanted(file));
  const unseen = skipped.map((entry) => ({ ...entry, bytes: 0, hash: '', modifiedAt: null })).sort(byFile);
  let told = 0;
  const slices = new Slices();
  for (const path of table.sortedPaths()) {
    if (slices.isOver) await slices.pause();
    for (; told < unseen.length && (unseen[told]?.file ?? '') < path; told += 1) yield* unseen.slice(told, told + 1);
    const entry = isWanted(path) ? table.get(path) : undefined;
    if (entry !== undefined) yield listed(entry, table.problemOf(entry));
  }
  yield* unseen.slice(told);
}

/** About 250 bytes each. */
const KEPT_TREE_ENTRIES = 200_000;

export interface CommitView extends BranchView {
  /** Lets go of what is in memory. */
  close(): Promise<void>;
}

/** Files of commits, of all repositories; in order of their paths. */
const trees = new LRUCache<string, ReadonlyMap<string, TreeEntry>>({
  maxSize: KEPT_TREE_ENTRIES,
  sizeCalculation: (tree) => tree.size + 1,
});

/** What only a working tree has. */
const OF_NO_TREE: Pick<BranchView, 'emptyFolders' | 'isEmptyFolder' | 'isDirty'> = {
  emptyFolders: () => [],
  isEmptyFolder: () => false,
  isDirty: () => false,
};

/** A commit never changes, so what it holds is remembered, as far as there is room; texts are kept only by its index. */
export function commitView(
  repository: Repository,
  commit: string,
  newIndex: (source: TextSource) => BranchIndex,
): CommitView {
  let index: BranchIndex | null = null;

  const shownTree = () => orderedTree(repository, commit);

  async function readOne(path: string): Promise<ViewedFile | null> {
    const entry = (await shownTree()).get(path);
    return entry === undefined ? null : viewedEntry(repository, path, entry);
  }

  async function* files(isWanted: (path: string) => boolean): AsyncGenerator<ListedFile> {
    const slices = new Slices();
    for (const [path, entry] of await shownTree()) {
      if (slices.isOver) await slices.pause();
      if (!isWanted(path)) continue;
      yield withoutContent(await viewedEntry(repository, path, entry));
    }
  }

  async function askIndex<Answer>(chains: RowChains, ask: (found: RuledIndex) => Answer): Promise<Answer> {
    const paths = (await shownTree()).keys();
    if (index === null) {
      index = newIndex({ text: async (path) => (await readOne(path))?.text ?? null });
      for (const path of paths) index.set(path, null);
    }
    return index.ask(chains, ask);
  }

  return {
    commit,
    files,
    paths: async () => (await shownTree()).keys(),
    read: readOne,
    async readPiece(path, piece) {
      const entry = (await shownTree()).get(path);
      if (entry === undefined) return null;
      if (entry.bytes !== null && entry.bytes > MAX_FILE_BYTES) return readBlobPiece(repository, entry.oid, piece);
      const whole = await readBlob(repository, entry.oid);
      // A copy, so that a small piece does not keep a large blob alive.
      return Buffer.from(whole.subarray(piece.offset, piece.offset + piece.length));
    },
    ...OF_NO_TREE,
    writingTimes: () => committedTimes(repository, commit),
    ask: askIndex,
    close: async () => index?.close(),
  };
}

async function orderedTree(repository: Repository, commit: string): Promise<ReadonlyMap<string, TreeEntry>> {
  const key = `${commit} ${repository.gitDir}`;
  const known = trees.get(key);
  if (known !== undefined) return known;
  const entries = await readShownTree(repository, commit);
  const tree = new Map([...entries].sort(([a], [b]) => (a < b ? -1 : 1)));
  trees.set(key, tree);
  return tree;
}

async function committedTimes(repository: Repository, commit: string): Promise<ChangedAt> {
  const times = await readChangeTimes(repository, commit);
  const tree = await orderedTree(repository, commit);
  return (path) => {
    const entry = tree.get(path);
    return entry === undefined ? null : changeTimeOf(times, path, entry.oid);
  };
}

async function readShownTree(repository: Repository, commit: string): Promise<Map<string, TreeEntry>> {
  const entries = await readTree(repository, commit);
  for (const [path, entry] of entries) if (!isShown(path, entry)) entries.delete(path);
  return entries;
}

export interface FoundFile {
  readonly file: ViewedFile | null;
  /** When none is meant for certain: those that the path may stand for. */
  readonly candidates: readonly string[];
}

/** Names beyond that tell nobody anything. */
const MAX_CANDIDATES = 20;

/** The file a path means among those that may be seen: of that name, with `.md`, or the only one of that stem. */
export async function findFile(view: BranchView, path: string, mayRead: (path: string) => boolean): Promise<FoundFile> {
  const named = candidatePaths(path);
  const readable = named.filter(mayRead);
  const found = await readFirst(view, readable);
  if (found !== null) return { file: found, candidates: [] };
  const paths = await view.paths();
  // Where a name is spelled otherwise on disk, only a look at what is there tells of it.
  const spelled = await readFirst(view, readable);
  if (spelled !== null || named.length === 1) return { file: spelled, candidates: [] };
  const candidates = filesOfStem(path, paths).filter(mayRead);
  const [only] = candidates;
  const file = only === undefined || candidates.length > 1 ? null : await view.read(only);
  return { file, candidates: file === null ? candidates.slice(0, MAX_CANDIDATES) : [] };
}

async function readFirst(view: BranchView, paths: readonly string[]): Promise<ViewedFile | null> {
  for (const path of paths) {
    const file = await view.read(path);
    if (file !== null) return file;
  }
  return null;
}

function listed({ path: file, bytes, hash: sha256, modifiedAt, kind }: FileEntry, problem: string | null): ListedFile {
  return { file, bytes, hash: sha256, modifiedAt, kind, problem };
}

export function withoutContent({ text: _text, mode: _mode, ...file }: ViewedFile): ListedFile {
  return file;
}

/** What is too large for text is described without its bytes, as a look at the disk does it. */
async function viewedEntry(repository: Repository, file: string, entry: TreeEntry): Promise<ViewedFile> {
  const { oid, bytes, mode } = entry;
  if (bytes === null || bytes <= MAX_FILE_BYTES) return { ...viewed(file, await readBlob(repository, oid)), mode };
  return { file, bytes, hash: '', modifiedAt: null, text: null, kind: 'large', problem: 'is larger than 1 MiB', mode };
}

function viewed(file: string, content: Buffer): Omit<ViewedFile, 'mode'> {
  const text = decodeText(content);
  const names = { file, bytes: content.byteLength, hash: hash('sha256', content, 'hex'), modifiedAt: null };
  return text === null
    ? { ...names, text, kind: 'binary', problem: 'is not UTF-8 text' }
    : { ...names, text, kind: 'text', problem: null };
}

function* pathsOf(entries: Iterable<FileEntry>): Generator<string> {
  for (const { path } of entries) yield path;
}

function byFile(a: ListedFile, b: ListedFile): number {
  return a.file < b.file ? -1 : a.file > b.file ? 1 : 0;
}
