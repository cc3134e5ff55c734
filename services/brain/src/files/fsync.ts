/** Fsync by path, and what people may remove or put there at any time. */
import { closeSync, constants, fsync, fstatSync, lstatSync, openSync, readFileSync, type Stats } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { Slices } from '../thread/slices.ts';

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
  const slices = new Slices();
  for (const entry of await readdir(dir, { withFileTypes: true, recursive: true })) {
    if (entry.isFile() || entry.isDirectory()) paths.push(join(entry.parentPath, entry.name));
    if (slices.isOver) await slices.pause();
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

/** What is there, and this process may not look at or change. */
export function isForbidden(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'EACCES' || error.code === 'EPERM');
}

export function isPresent(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EEXIST';
}

/** A directory that is not empty stands where another one was to be put. */
export function isOccupied(error: unknown): boolean {
  return isPresent(error) || (error instanceof Error && 'code' in error && error.code === 'ENOTEMPTY');
}

/** A name, or a path as a whole, is longer than the system takes: something may lie there all the same. */
export function isTooLong(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENAMETOOLONG';
}

/** Itself, not what a link leads to; false of what no path can name. */
export function isThere(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    return ignoreAbsent(error) ?? false;
  }
}

/** Itself, not what a link leads to. */
export function isDirectory(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  } catch (error) {
    return ignoreAbsent(error) ?? false;
  }
}

/** Itself, not what a link leads to; `closed` = the directory that it would be in may not be entered. */
export function lookAt(path: string): Stats | 'closed' | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch (error) {
    if (isForbidden(error)) return 'closed';
    throw error;
  }
}

/** Of a directory. False also where there is none by now. */
export function mayBeListed(directory: string): boolean {
  try {
    closeSync(openSync(directory, constants.O_RDONLY | constants.O_DIRECTORY));
    return true;
  } catch (error) {
    if (isForbidden(error) || isAbsent(error)) return false;
    throw error;
  }
}

/** A directory, or something without an end, lies where a file is expected. */
export class NoPlainFile extends Error {
  readonly path: string;
  readonly isDirectory: boolean;

  constructor(path: string, isDirectory: boolean) {
    super(`${path} is ${isDirectory ? 'a directory' : 'no plain file'}`);
    this.name = 'NoPlainFile';
    this.path = path;
    this.isDirectory = isDirectory;
  }
}

/** Null = nothing is there. Throws NoPlainFile: reading a pipe that somebody put there may never return. */
export function readIfPresent(path: string): Buffer | null {
  try {
    const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const stat = fstatSync(file);
      if (!stat.isFile()) throw new NoPlainFile(path, stat.isDirectory());
      return readFileSync(file);
    } finally {
      closeSync(file);
    }
  } catch (error) {
    return ignoreAbsent(error) ?? null;
  }
}

/** A few plain reads cost less than as many trips through the thread pool. Throws NoPlainFile. */
export function readTextIfPresent(path: string): string | null {
  return readIfPresent(path)?.toString('utf8') ?? null;
}

/** None where there is no such directory; throws where it may not be listed, because what is in it may be there. */
export async function namesIn(directory: string): Promise<string[]> {
  return readdir(directory).catch((error: unknown) => ignoreAbsent(error) ?? []);
}

/** For what a person may remove at any time. */
export function ignoreAbsent(error: unknown): undefined {
  if (isAbsent(error)) return undefined;
  throw error;
}
