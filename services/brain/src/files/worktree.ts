/**
 * The working tree of one branch, held in memory as the file table and the search index, and checked against the disk
 * on every look: people edit these files with editors and git.
 */
import { hash } from 'node:crypto';
import { lstatSync, readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { isFilePath, MAX_PATH_DEPTH } from '@svc/contract/names.ts';
import { MAX_CONTENT_BYTES } from '@svc/contract/params.ts';
import { blobId } from '../git/blob-id.ts';
import type { BranchIndex, TextSource } from '../search/branch-index.ts';
import { obstacleAt } from './durable-write.ts';
import { CLOCK_STEP_MS, fileStamp } from './file-stamp.ts';
import { isAbsent } from './fsync.ts';
import { type FileEntry, FileTable } from './file-table.ts';

/** A difference that somebody else made. */
export interface NoticedChange {
  readonly path: string;
  readonly change: 'created' | 'updated' | 'deleted';
  readonly entry: FileEntry | null;
}

export interface FileText {
  readonly entry: FileEntry;
  /** Null when the file is not text. */
  readonly text: string | null;
}

/** A file as just read or written. */
export interface DescribedFile {
  readonly entry: FileEntry;
  /** Null when it is not text. */
  readonly text: string | null;
  /** The file may still change within the same tick of the file system's clock. */
  readonly lookedTooEarly: boolean;
}

export interface WorktreeOptions {
  readonly branch: string;
  readonly root: string;
  index(source: TextSource): BranchIndex;
  /** What was known when the service last looked; equal stat data needs no reading. */
  readonly catalogue: ReadonlyMap<string, FileEntry>;
  /** Milliseconds since the epoch. */
  now(): number;
}

const FILES_PER_TURN = 32;

export class Worktree {
  readonly branch: string;
  readonly root: string;
  readonly index: BranchIndex;
  readonly table = new FileTable();
  /** Paths that the writer is changing right now; they are no news until it is done. */
  readonly applying = new Set<string>();
  readonly #now: () => number;
  readonly #untrusted = new Set<string>();
  #noticed: NoticedChange[] = [];

  private constructor({ branch, root, index, now }: WorktreeOptions) {
    this.branch = branch;
    this.root = root;
    this.index = index({ text: async (path) => this.#textOf(path) });
    this.#now = now;
  }

  /** Reads what changed since the catalogue was written; the differences are noticed changes. */
  static async open(options: WorktreeOptions): Promise<Worktree> {
    const tree = new Worktree(options);
    for (const entry of options.catalogue.values()) tree.table.set(entry);
    await tree.scan();
    for (const { path, hash: known, isText } of tree.table.entries()) if (isText) tree.index.set(path, known);
    return tree;
  }

  /** The file as it is on disk now; whatever changed since the last look is taken in first. */
  refresh(path: string): FileEntry | null {
    const before = this.table.get(path) ?? null;
    if (this.applying.has(path)) return before;
    const stat = plainFileStat(this.root, path);
    const unchanged = stat === (before?.stat ?? null);
    if (unchanged && !this.#untrusted.has(path)) return before;
    const after = stat === null ? null : this.#describeOnDisk(path, !unchanged);
    this.accept(path, after);
    this.#notice(path, before, after?.entry ?? null);
    return after?.entry ?? null;
  }

  #describeOnDisk(path: string, suspicious: boolean): DescribedFile | null {
    const bytes = readPlainFile(this.root, path, suspicious);
    return bytes === null ? null : this.describe(path, bytes);
  }

  read(path: string): FileText | null {
    const entry = this.refresh(path);
    if (entry === null) return null;
    return { entry, text: entry.isText ? this.#textOf(path) : null };
  }

  #textOf(path: string): string | null {
    const bytes = readPlainFile(this.root, path, false);
    return bytes === null ? null : decodeText(bytes);
  }

  /** Whether a look at the file would bring news; our own writes are none. */
  looksChanged(path: string): boolean {
    return !this.applying.has(path) && plainFileStat(this.root, path) !== (this.table.get(path)?.stat ?? null);
  }

  /** False when anything lies here that the table does not know: a link, a dot file, a file too large to keep. */
  async holdsOnlyKnownFiles(directory = ''): Promise<boolean> {
    for (const child of await readDirectory(join(this.root, directory))) {
      const path = directory === '' ? child.name : `${directory}/${child.name}`;
      if (path === '.git') continue;
      const known = child.isDirectory() ? await this.holdsOnlyKnownFiles(path) : this.table.get(path) !== undefined;
      if (!known) return false;
    }
    return true;
  }

  /** Looks at every file. */
  async scan(): Promise<void> {
    const seen = new Set<string>();
    for await (const path of walk(this.root, '')) {
      seen.add(path);
      this.refresh(path);
      if (seen.size % FILES_PER_TURN === 0) await nextTurn();
    }
    for (const { path } of this.table.entries()) if (!seen.has(path)) this.refresh(path);
  }

  /** What the bytes just put in place look like to a later look. */
  describe(path: string, bytes: Uint8Array): DescribedFile {
    return describeFile(this.root, path, bytes, this.#now());
  }

  /** Takes in what is in place; null = nothing. */
  accept(path: string, described: DescribedFile | null): void {
    if (described === null) {
      this.table.delete(path);
      this.#untrusted.delete(path);
      this.index.delete(path);
      return;
    }
    const { entry, text, lookedTooEarly } = described;
    this.table.set(entry);
    if (lookedTooEarly) this.#untrusted.add(path);
    else this.#untrusted.delete(path);
    if (text === null) this.index.delete(path);
    else this.index.set(path, entry.hash, text);
  }

  #notice(path: string, before: FileEntry | null, entry: FileEntry | null): void {
    if (before?.hash === entry?.hash) return;
    const change = entry === null ? 'deleted' : before === null ? 'created' : 'updated';
    this.#noticed.push({ path, change, entry });
  }

  /** What refresh and scan found since the last call. */
  takeNoticed(): NoticedChange[] {
    const taken = this.#noticed;
    this.#noticed = [];
    return taken;
  }

  /** They could not be told yet. */
  putBackNoticed(noticed: readonly NoticedChange[]): void {
    this.#noticed.unshift(...noticed);
  }

  get hasNoticed(): boolean {
    return this.#noticed.length > 0;
  }
}

function describeFile(root: string, path: string, bytes: Uint8Array, now: number): DescribedFile {
  const stat = lstatSync(join(root, path), { bigint: true });
  const modifiedAt = Number(stat.mtimeNs / 1_000_000n);
  const text = decodeText(bytes);
  const entry: FileEntry = {
    path,
    hash: hash('sha256', bytes, 'hex'),
    blob: blobId(bytes),
    bytes: bytes.byteLength,
    stat: fileStamp(stat),
    modifiedAt,
    isText: text !== null,
  };
  return { entry, text, lookedTooEarly: now - modifiedAt < CLOCK_STEP_MS };
}

/** Null for everything that is no plain file of a size the service keeps. */
function plainFileStat(root: string, path: string): string | null {
  try {
    const stat = lstatSync(join(root, path), { bigint: true, throwIfNoEntry: false });
    if (stat === undefined || !stat.isFile() || stat.size > MAX_CONTENT_BYTES) return null;
    return fileStamp(stat);
  } catch (error) {
    if (isAbsent(error)) return null;
    throw error;
  }
}

/** `suspicious`: the way to the file must be walked again, because a link may have been put there. */
function readPlainFile(root: string, path: string, suspicious: boolean): Uint8Array | null {
  if (suspicious && obstacleAt(root, path) !== null) return null;
  try {
    return readFileSync(join(root, path));
  } catch (error) {
    if (isAbsent(error)) return null;
    throw error;
  }
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** UTF-8 without NUL, else null. */
export function decodeText(bytes: Uint8Array): string | null {
  if (bytes.includes(0)) return null;
  try {
    return decoder.decode(bytes);
  } catch {
    return null; // not UTF-8
  }
}

/** Plain files with legal names, below real directories only. */
async function* walk(root: string, directory: string): AsyncGenerator<string> {
  if (directory.split('/').length > MAX_PATH_DEPTH) return;
  for (const child of await readDirectory(join(root, directory))) {
    const path = directory === '' ? child.name : `${directory}/${child.name}`;
    if (!isFilePath(path)) continue;
    if (child.isDirectory()) yield* walk(root, path);
    else if (child.isFile()) yield path;
  }
}

async function readDirectory(path: string) {
  try {
    return await readdir(path, { withFileTypes: true });
  } catch (error) {
    if (isAbsent(error)) return [];
    throw error;
  }
}
