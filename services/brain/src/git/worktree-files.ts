/** Brings files of a working tree into the repository's objects, as they lie on disk: links are not followed. */
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
  readlinkSync,
  type BigIntStats,
} from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { MAX_COMMITTED_BYTES, REPOSITORY_MODE } from '../files/file-entry.ts';
import { CLOCK_STEP_MS, fileStamp } from '../files/file-stamp.ts';
import { isAbsent } from '../files/fsync.ts';
import type { IndexEntry } from './index-file.ts';
import { objectIdOf } from './object-id.ts';
import { writeObjects } from './objects.ts';
import { PACK_LIMITS } from './pack-file.ts';
import type { Repository } from './repository.ts';
import { GitError } from './run.ts';

/** A file whose bytes are an object now. */
interface StoredFile {
  readonly entry: IndexEntry;
  /** Of the file when its bytes were read. */
  readonly stamp: string;
  /** It may have changed since without a new stamp. */
  readonly isFresh: boolean;
}

/** Path -> its object; null = there is nothing there that a commit could hold. */
export type StoredFiles = Map<string, StoredFile | null>;

export interface StoreOptions {
  /** What was stored before; a file that has not changed since is not read again. */
  readonly known?: ReadonlyMap<string, StoredFile | null>;
  /** After each batch: how many of the paths are done. */
  readonly onProgress?: (done: number) => Promise<void>;
}

/** Above this git reads the file itself, so that its bytes are not in our memory. */
const IN_MEMORY_BYTES = 1024 * 1024;
const TURN_MS = 8;

/** Throws GitError, and what the disk says about a file that cannot be read. */
export async function storeFiles(
  repository: Repository,
  root: string,
  paths: readonly string[],
  { known, onProgress }: StoreOptions = {},
): Promise<StoredFiles> {
  const stored: StoredFiles = new Map();
  const batch = new Batch(repository, root);
  let turnEndsAt = performance.now() + TURN_MS;
  for (const path of paths) {
    const before = known?.get(path);
    stored.set(path, isUnchanged(root, path, before) ? (before ?? null) : batch.take(path));
    if (batch.isFull) {
      await batch.write();
      await onProgress?.(stored.size);
    }
    if (performance.now() >= turnEndsAt) {
      await nextTurn();
      turnEndsAt = performance.now() + TURN_MS;
    }
  }
  await batch.write();
  for (const path of batch.large) stored.set(path, await storeLargeFile(repository, root, path));
  return stored;
}

export function isUnchanged(root: string, path: string, before: StoredFile | null | undefined): boolean {
  return before !== undefined && before !== null && !before.isFresh && hasStamp(root, path, before.stamp);
}

export function hasStamp(root: string, path: string, stamp: string): boolean {
  const stat = statOf(join(root, path));
  return stat !== null && fileStamp(stat) === stamp;
}

class Batch {
  /** Left to git. */
  readonly large: string[] = [];
  readonly #repository: Repository;
  readonly #root: string;
  #bodies: Uint8Array[] = [];
  #bytes = 0;

  constructor(repository: Repository, root: string) {
    this.#repository = repository;
    this.#root = root;
  }

  get isFull(): boolean {
    return this.#bodies.length >= PACK_LIMITS.objects || this.#bytes >= PACK_LIMITS.bytes;
  }

  take(path: string): StoredFile | null {
    const found = readEntry(this.#root, path);
    if (found === 'large') this.large.push(path);
    if (found === null || found === 'large') return null;
    this.#bodies.push(found.body);
    this.#bytes += found.body.byteLength;
    return storedFile(found.stat, found.mode, objectIdOf({ type: 'blob', body: found.body }));
  }

  async write(): Promise<void> {
    const bodies = this.#bodies;
    this.#bodies = [];
    this.#bytes = 0;
    await writeObjects(
      this.#repository,
      bodies.map((body) => ({ type: 'blob', body })),
    );
  }
}

interface ReadEntry {
  readonly mode: string;
  readonly body: Buffer;
  readonly stat: BigIntStats;
}

function readEntry(root: string, path: string): ReadEntry | 'large' | null {
  const place = join(root, path);
  const stat = leadsThroughDirectories(root, path) ? statOf(place) : null;
  if (stat === null) return null;
  if (stat.isSymbolicLink()) return { mode: '120000', body: readlinkSync(place, { encoding: 'buffer' }), stat };
  if (!stat.isFile() || stat.size > MAX_COMMITTED_BYTES) return null;
  return stat.size > IN_MEMORY_BYTES ? 'large' : readFileEntry(place);
}

/** A directory on the way that is a link leads elsewhere. */
function leadsThroughDirectories(root: string, path: string): boolean {
  for (let slash = path.indexOf('/'); slash >= 0; slash = path.indexOf('/', slash + 1)) {
    if (statOf(join(root, path.slice(0, slash)))?.isDirectory() !== true) return false;
  }
  return true;
}

/**
 * Whether a commit may take the path for removed: nothing is there, or the way to it is no longer one, or a directory
 * takes its place, unless that is all there need be of a repository inside (`mode`: of the last commit's entry).
 */
export function isGone(root: string, path: string, mode: string | undefined): boolean {
  const stat = leadsThroughDirectories(root, path) ? statOf(join(root, path)) : null;
  return stat === null || (stat.isDirectory() && mode !== REPOSITORY_MODE);
}

/** Null when there is no plain file, or it may not be read. */
export function readFileEntry(place: string): ReadEntry | null {
  const file = openPlain(place);
  if (file === null) return null;
  try {
    // taken before the bytes: a change while they are read shows in a later look
    const stat = fstatSync(file, { bigint: true });
    return stat.isFile() ? { mode: modeOf(stat), body: readFileSync(file), stat } : null;
  } finally {
    closeSync(file);
  }
}

/** Null when there is no file, or a link, or something that would make us wait. */
function openPlain(place: string): number | null {
  try {
    return openSync(place, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if (isAbsent(error) || isRefused(error)) return null;
    throw error;
  }
}

/** A link, or a file that may not be read: it stays uncommitted, and keeps no other from its commit. */
function isRefused(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ELOOP' || error.code === 'EACCES');
}

function modeOf(stat: BigIntStats): string {
  return (stat.mode & 0o100n) === 0n ? '100644' : '100755';
}

function statOf(place: string): BigIntStats | null {
  try {
    return lstatSync(place, { bigint: true, throwIfNoEntry: false }) ?? null;
  } catch (error) {
    if (isAbsent(error)) return null;
    throw error;
  }
}

function storedFile(stat: BigIntStats, mode: string, oid: string): StoredFile {
  const isFresh = Date.now() - Number(stat.ctimeMs) < CLOCK_STEP_MS;
  return { entry: { mode, oid, stat: isFresh ? null : stat }, stamp: fileStamp(stat), isFresh };
}

const LARGE_ATTEMPTS = 3;

/** Git reads it in pieces. What changes while it is read is read again; what goes on changing is left for the next commit. */
async function storeLargeFile(repository: Repository, root: string, path: string): Promise<StoredFile | null> {
  for (let attempt = 0; attempt < LARGE_ATTEMPTS; attempt += 1) {
    const before = statOf(join(root, path));
    if (before === null || !before.isFile() || !leadsThroughDirectories(root, path)) return null;
    const oid = await hashLargeFile(repository, root, path).catch((error: unknown) => {
      // A file that is shortened while git has it mapped kills that git.
      if (error instanceof GitError && error.code === 'exit' && !hasStamp(root, path, fileStamp(before))) return null;
      throw error;
    });
    if (oid !== null && hasStamp(root, path, fileStamp(before))) return storedFile(before, modeOf(before), oid);
  }
  return null;
}

async function hashLargeFile(repository: Repository, root: string, path: string): Promise<string> {
  const { stdout } = await repository.git.run({
    // a path that began with a quote would be taken for a quoted one
    args: ['hash-object', '-w', '--no-filters', '--stdin-paths'],
    gitDir: repository.gitDir,
    cwd: root,
    stdin: `./${path}\n`,
  });
  return stdout.toString('latin1').trim();
}
