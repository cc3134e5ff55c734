/** Changes files so that an acknowledged one survives a power cut: temp file, fsync, rename, fsync of the directory. */
import { existsSync, linkSync, lstatSync, renameSync, unlinkSync } from 'node:fs';
import { rm, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DiskRefusal } from '@svc/runtime/disk-errors.ts';
import { fileStamp } from './file-stamp.ts';
import { fsyncPath, isAbsent, isPresent, readIfPresent } from './fsync.ts';
import { leadsAstray } from './obstacle.ts';
import type { NewContent, StagedContents } from './staged-contents.ts';

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

const OWNER_MAY_RUN = 0o100;

/** What a change left behind, so that it can be taken back. */
interface Done {
  readonly path: string;
  /** What was there; null = nothing. */
  readonly before: Omit<NewContent, 'path'> | null;
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
 * Applies distinct changes below the root of `contents`, which may have begun: all or (on an error) none.
 * `whenPlaced` is called when all are in place, before that is sure to outlast a power cut.
 * Throws DiskRefusal or ChangedUnderneath when nothing changed, any other error when even putting back failed.
 */
export async function applyChanges(
  contents: StagedContents,
  changes: readonly FileChange[],
  whenPlaced?: () => void,
): Promise<AppliedChanges> {
  const { root } = contents;
  const touched = new Set<string>();
  const previous: Done[] = [];
  try {
    // Removals first: a file may take the place of a directory, or a directory that of a file.
    for (const change of changes) if (change.content === null) await removeFile(root, change, previous, touched);
    const writes = changes.flatMap(({ content, ...change }) => (content === null ? [] : [{ ...change, content }]));
    for (const write of writes) assertExpected(root, write); // before a directory is made where it does not belong
    const temps = await contents.stage(writes, touched);
    for (const [index, write] of writes.entries()) {
      const temp = temps[index] ?? '';
      placeFile(root, write, temp, previous, touched);
      contents.placed(temp);
    }
    const synced = syncDirectories(touched);
    try {
      whenPlaced?.();
    } finally {
      await synced;
    }
    await contents.discard(); // what had begun and is not wanted
  } catch (error) {
    await contents.discard();
    await putBack(contents, previous);
    if (error instanceof ChangedUnderneath) throw error;
    // A directory that somebody moves meanwhile takes along what was staged in it.
    if (isAbsent(error) && existsSync(root)) throw new ChangedUnderneath();
    throw new DiskRefusal('the disk refused a write', { cause: error });
  }
  return { undo: () => putBack(contents, previous) };
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
  assertExpected(root, { path, expects });
  const before = presentAt(target);
  const isLinked = expects === null && linkNew(temp, target);
  if (isLinked) unlinkSync(temp);
  else renameSync(temp, target);
  previous.push({ path, before, placed: stampAt(target) });
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

interface Expected {
  readonly path: string;
  /** As that of a change. */
  readonly expects?: string | null | undefined;
}

/** A file keeps its stamp when a person moves its directory away and leaves a link to it, which leads out of the tree. */
function assertExpected(root: string, { path, expects }: Expected): void {
  if (expects === undefined) return;
  const isThere = stampAt(join(root, path)) === expects && !leadsAstray(root, path);
  if (!isThere) throw new ChangedUnderneath();
}

function presentAt(target: string): Done['before'] {
  const content = readIfPresent(target);
  const mode = lstatSync(target, { throwIfNoEntry: false })?.mode ?? 0;
  return content === null ? null : { content, isExecutable: (mode & OWNER_MAY_RUN) !== 0 };
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
  assertExpected(root, { path, expects });
  const before = presentAt(join(root, path));
  if (before === null) return;
  unlinkSync(join(root, path)); // at once, so that nobody gets in between
  previous.push({ path, before, placed: null });
  await removeEmptyParents(root, path, touched);
}

/** Of `among`, where only those may go. */
async function removeEmptyParents(
  root: string,
  path: string,
  touched: Set<string>,
  among?: ReadonlySet<string>,
): Promise<void> {
  const mayGo = (directory: string): boolean => among === undefined || among.has(join(root, directory));
  let directory = dirname(path);
  while (directory !== '.' && mayGo(directory) && (await removeIfEmpty(join(root, directory)))) {
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

async function syncDirectories(directories: Iterable<string>): Promise<void> {
  await Promise.all([...directories].map(fsyncPath));
}

async function putBack(contents: StagedContents, previous: readonly Done[]): Promise<void> {
  const { root } = contents;
  const touched = new Set<string>();
  const made = new Set(contents.made); // what was there before stays, however empty
  for (const { path, before, placed } of previous.toReversed()) {
    const target = join(root, path);
    if (stampAt(target) !== placed) continue;
    if (before === null) {
      await rm(target, { force: true });
      await removeEmptyParents(root, path, touched, made);
    } else await putBackOne(contents, { path, ...before }, touched);
  }
  for (const directory of [...made].toReversed()) {
    if ((await removeIfEmpty(directory)) && touched.delete(directory)) touched.add(dirname(directory));
  }
  await syncDirectories(touched);
}

async function putBackOne(contents: StagedContents, content: NewContent, touched: Set<string>): Promise<void> {
  const target = join(contents.root, content.path);
  try {
    const [temp = ''] = await contents.stage([content], touched);
    renameSync(temp, target);
    contents.placed(temp);
  } catch (error) {
    await contents.discard();
    throw error;
  }
  touched.add(dirname(target));
}
