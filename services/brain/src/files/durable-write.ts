/** Changes files so that an acknowledged one survives a power cut: temp file, fsync, rename, fsync of the directory. */
import {
  closeSync,
  existsSync,
  fsync,
  linkSync,
  lstatSync,
  openSync,
  renameSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { mkdir, readdir, rename, rm, rmdir, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { DiskRefusal } from '@svc/runtime/disk-errors.ts';
import { fileStamp } from './file-stamp.ts';
import { fsyncPath, isAbsent, isPresent, readIfPresent } from './fsync.ts';
import { makeFolder } from './make-folder.ts';

export { DiskRefusal } from '@svc/runtime/disk-errors.ts';

/** Paths are checked ones as the disk spells them, relative to the root. */
export interface FileChange {
  readonly path: string;
  /** Null = the file goes. */
  readonly content: Uint8Array | null;
  /** Stamp of what it takes the place of, null = of nothing; absent = of whatever is there. */
  readonly expects?: string | null;
  readonly isExecutable?: boolean;
}

/** Leftovers of a killed process; boot removes them. */
export const TEMP_PREFIX = '.svc-';

/** What a change left behind, so that it can be taken back. */
interface Done {
  readonly path: string;
  /** What was there before; null = nothing. */
  readonly content: Uint8Array | null;
  /** Stamp of what the change put there; null = nothing. */
  readonly placed: string | null;
}

export interface AppliedChanges {
  /**
   * Puts the old bytes back, durably, where nobody has put anything else since: an owner that slept may have lost the
   * brain to another process meanwhile. Throws when that fails, and the state is then unsure.
   */
  undo(): Promise<void>;
}

/** Somebody else changed a file since it was judged; everything is as it was before the call. */
export class ChangedUnderneath extends Error {}

/**
 * Applies distinct changes below `root`, all or (on an error) none. `tempName` gives a fresh file name each time.
 * Throws DiskRefusal or ChangedUnderneath when nothing changed, any other error when even putting back failed.
 */
export async function applyChanges(
  root: string,
  changes: readonly FileChange[],
  tempName: () => string,
): Promise<AppliedChanges> {
  const touched = new Set<string>();
  const staged: string[] = [];
  const previous: Done[] = [];
  try {
    // Removals first: a file may take the place of a directory, or a directory that of a file.
    for (const change of changes) if (change.content === null) await removeFile(root, change, previous, touched);
    const writes = changes.flatMap(({ content, ...change }) => (content === null ? [] : [{ ...change, content }]));
    const temps = await stageContents(root, writes, tempName, touched, staged);
    for (const [index, write] of writes.entries()) placeFile(root, write, temps[index] ?? '', previous, touched);
    await syncDirectories(touched);
  } catch (error) {
    await discard(root, staged);
    await putBack(root, previous, tempName);
    if (error instanceof ChangedUnderneath) throw error;
    // A directory that somebody moves meanwhile takes along what was staged in it.
    if (isAbsent(error) && existsSync(root)) throw new ChangedUnderneath();
    throw new DiskRefusal('the disk refused a write', { cause: error });
  }
  return { undo: () => putBack(root, previous, tempName) };
}

/**
 * Writes every new content beside its target; answers the temp path of each. Plain calls, because each trip through the
 * thread pool costs more than the call; only the waiting for the disk goes there, for all files at once.
 */
async function stageContents(
  root: string,
  writes: readonly PlacedFile[],
  tempName: () => string,
  touched: Set<string>,
  staged: string[],
): Promise<string[]> {
  for (const directory of new Set(writes.map(({ path }) => dirname(path)))) makeDirectory(root, directory, touched);
  const files: number[] = [];
  try {
    for (const { path, content, isExecutable = false } of writes) {
      const temp = join(root, dirname(path), `${TEMP_PREFIX}${tempName()}.tmp`);
      const file = openSync(temp, 'wx', isExecutable ? 0o755 : 0o644);
      files.push(file);
      staged.push(temp);
      writeWhole(file, content);
    }
    const flushed = await Promise.allSettled(files.map((file) => flushFile(file)));
    for (const outcome of flushed) if (outcome.status === 'rejected') throw outcome.reason;
    return [...staged];
  } finally {
    for (const file of files) closeSync(file);
  }
}

const flushFile = promisify(fsync);

function writeWhole(file: number, content: Uint8Array): void {
  for (let written = 0; written < content.byteLength; ) written += writeSync(file, content, written);
}

type PlacedFile = Omit<FileChange, 'content'> & { readonly content: Uint8Array };

function placeFile(
  root: string,
  { path, expects }: PlacedFile,
  temp: string,
  previous: Done[],
  touched: Set<string>,
): void {
  const target = join(root, path);
  assertExpected(target, expects);
  const content = readIfPresent(target);
  const isLinked = expects === null && linkNew(temp, target);
  if (isLinked) unlinkSync(temp);
  else renameSync(temp, target);
  previous.push({ path, content, placed: stampAt(target) });
  touched.add(dirname(target));
}

/** Fails where a rename would replace what somebody else has put there at this moment; false = no links here. */
function linkNew(temp: string, target: string): boolean {
  try {
    linkSync(temp, target);
    return true;
  } catch (error) {
    if (isPresent(error)) throw new ChangedUnderneath();
    return false;
  }
}

function assertExpected(target: string, expects: string | null | undefined): void {
  if (expects !== undefined && stampAt(target) !== expects) throw new ChangedUnderneath();
}

function stampAt(target: string): string | null {
  const stat = lstatSync(target, { bigint: true, throwIfNoEntry: false });
  return stat === undefined ? null : fileStamp(stat);
}

/** Directories that become empty go too: git keeps none. */
async function removeFile(
  root: string,
  { path, expects }: FileChange,
  previous: Done[],
  touched: Set<string>,
): Promise<void> {
  assertExpected(join(root, path), expects);
  const content = readIfPresent(join(root, path));
  if (content === null) return;
  unlinkSync(join(root, path)); // at once, so that nobody gets in between
  previous.push({ path, content, placed: null });
  await removeEmptyParents(root, path, touched);
}

async function removeEmptyParents(root: string, path: string, touched: Set<string>): Promise<void> {
  let directory = dirname(path);
  while (directory !== '.' && (await removeIfEmpty(join(root, directory)))) {
    touched.delete(join(root, directory));
    directory = dirname(directory);
  }
  touched.add(join(root, directory));
}

export async function removeIfEmpty(directory: string): Promise<boolean> {
  return rmdir(directory).then(
    () => true,
    () => false, // something is in it
  );
}

/** New directories are durable only when their parent is synced too. */
function makeDirectory(root: string, directory: string, touched: Set<string>): void {
  if (existsSync(join(root, directory))) return;
  let path = root;
  for (const segment of directory.split('/')) {
    touched.add(path);
    path = join(path, segment);
    makeFolder(path);
  }
}

async function syncDirectories(directories: Iterable<string>): Promise<void> {
  await Promise.all([...directories].map(fsyncPath));
}

async function putBack(root: string, previous: readonly Done[], tempName: () => string): Promise<void> {
  const touched = new Set<string>();
  for (const { path, content, placed } of previous.toReversed()) {
    const target = join(root, path);
    if (stampAt(target) !== placed) continue;
    if (content === null) {
      await rm(target, { force: true });
      await removeEmptyParents(root, path, touched);
      continue;
    }
    await mkdir(dirname(target), { recursive: true });
    touched.add(dirname(target));
    const temp = join(dirname(target), `${TEMP_PREFIX}${tempName()}.tmp`);
    try {
      await writeFile(temp, content, { flag: 'wx', flush: true, mode: 0o644 });
      await rename(temp, target);
    } catch (error) {
      await discard(root, [temp]);
      throw error;
    }
  }
  await syncDirectories(touched);
}

async function discard(root: string, temps: readonly string[]): Promise<void> {
  const present = temps.filter((temp) => existsSync(temp));
  await Promise.all(present.map((temp) => rm(temp, { force: true })));
  const lost = new Set(temps.filter((temp) => !present.includes(temp)).map((temp) => basename(temp)));
  if (lost.size > 0) await discardBelow(root, lost);
}

/** Their names are unique; the way to them is another one now. */
async function discardBelow(directory: string, names: ReadonlySet<string>): Promise<void> {
  const children = await readdir(directory, { withFileTypes: true }).catch(() => []); // gone too
  for (const child of children) {
    const path = join(directory, child.name);
    if (names.has(child.name)) await rm(path, { force: true });
    else if (child.isDirectory() && child.name !== '.git') await discardBelow(path, names);
  }
}

/** Why nothing may be written at `path`: a link, or something that is no directory, on the way or at the end. */
export function obstacleAt(root: string, path: string): string | null {
  const segments = path.split('/');
  for (let depth = 1; depth <= segments.length; depth += 1) {
    const stat = lstatSync(join(root, ...segments.slice(0, depth)), { throwIfNoEntry: false });
    if (stat === undefined) return null;
    const last = depth === segments.length;
    if (last ? !stat.isFile() : !stat.isDirectory())
      return last ? 'is not a plain file' : 'leads through something that is no directory';
  }
  return null;
}
