/** Fsync by path, and what people may remove or put there at any time. */
import { closeSync, fsync, lstatSync, openSync, readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

const flush = promisify(fsync);

/** Only the waiting for the disk goes through the thread pool. */
export async function fsyncPath(path: string): Promise<void> {
  const file = openSync(path, 'r');
  try {
    await flush(file);
  } finally {
    closeSync(file);
  }
}

/** Those that wait at once share a write of the disk's journal. */
const FSYNCS_AT_ONCE = 64;

/** Fsyncs every file and directory below `dir`, and `dir`. */
export async function fsyncTree(dir: string): Promise<void> {
  const paths = await pathsToSync(dir);
  const next = paths.values();
  const worker = async (): Promise<void> => {
    for (const path of next) await fsyncPath(path);
  };
  await Promise.all(Array.from({ length: FSYNCS_AT_ONCE }, worker));
}

async function pathsToSync(dir: string): Promise<string[]> {
  const paths: string[] = [];
  for (const entry of await readdir(dir, { withFileTypes: true, recursive: true })) {
    if (entry.isFile() || entry.isDirectory()) paths.push(join(entry.parentPath, entry.name));
  }
  return [...paths, dir];
}

/** Fsyncs the directories from the one that holds `path` up to and including `top`. */
export async function fsyncParents(path: string, top: string): Promise<void> {
  for (let dir = dirname(path); dir.startsWith(top); dir = dirname(dir)) {
    await fsyncPath(dir).catch(ignoreAbsent);
    if (dir === top) return;
  }
}

/** Also of a name that no file system can hold. */
export function isAbsent(error: unknown): boolean {
  return error instanceof Error && 'code' in error && ABSENT.has(String(error.code));
}

const ABSENT: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR', 'ENAMETOOLONG']);

export function isPresent(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EEXIST';
}

/** A directory that is not empty stands where another one was to be put. */
export function isOccupied(error: unknown): boolean {
  return isPresent(error) || (error instanceof Error && 'code' in error && error.code === 'ENOTEMPTY');
}

/** Itself, not what a link leads to. */
export function isDirectory(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  } catch (error) {
    return ignoreAbsent(error) ?? false;
  }
}

export function readIfPresent(path: string): Buffer | null {
  try {
    return readFileSync(path);
  } catch (error) {
    return ignoreAbsent(error) ?? null;
  }
}

/** A few plain reads cost less than as many trips through the thread pool. */
export function readTextIfPresent(path: string): string | null {
  return readIfPresent(path)?.toString('utf8') ?? null;
}

/** For what a person may remove at any time. */
export function ignoreAbsent(error: unknown): undefined {
  if (isAbsent(error)) return undefined;
  throw error;
}
