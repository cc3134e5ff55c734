/** Walks a working tree: every entry that is not git's own, not a directory, and not ignored unless it is tracked. */
import type { Dirent } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { TEMP_PREFIX } from './staged-contents.ts';
import { isNotLookedInto, isUnspeakable } from './file-entry.ts';
import { isAbsent, isForbidden, isThere, isTooLong } from './fsync.ts';

interface WalkedTree {
  readonly root: string;
  /** Neither shown nor looked into. */
  isSkipped(onDisk: string, isDirectory: boolean): boolean;
  /** Called before a directory is read; '' = the root. */
  entering(directory: string): void;
}

/** Spellings on disk, relative to the root. `directory` '' = everything. */
export async function* walkTree(tree: WalkedTree, directory: string): AsyncGenerator<string> {
  tree.entering(directory);
  for (const child of (await readDirectory(join(tree.root, directory))) ?? []) {
    const onDisk = directory === '' ? child.name : `${directory}/${child.name}`;
    if (isOurs(child.name, directory)) continue;
    const isDirectory = child.isDirectory();
    if (tree.isSkipped(onDisk, isDirectory)) continue;
    if (!isDirectory || isNotLookedInto(tree.root, onDisk) || !isReachable(tree.root, onDisk)) yield onDisk;
    else yield* walkTree(tree, onDisk);
  }
}

/** False when anything lies there, or may, ignored or not, that `isKnown` does not know; directories alone do not count. */
export async function holdsNothingElse(
  root: string,
  isKnown: (onDisk: string) => boolean,
  directory = '',
): Promise<boolean> {
  const children = await readDirectory(join(root, directory));
  if (children === null) return false;
  for (const child of children) {
    const onDisk = directory === '' ? child.name : `${directory}/${child.name}`;
    if (onDisk === '.git') continue;
    const isFine = child.isDirectory() ? await holdsNothingElse(root, isKnown, onDisk) : isKnown(onDisk);
    if (!isFine) return false;
  }
  return true;
}

/** Git's own directory, and files of ours that are not yet in place. */
function isOurs(name: string, directory: string): boolean {
  return (directory === '' && name === '.git') || name.startsWith(TEMP_PREFIX);
}

/** What has a name that is not UTF-8 cannot be asked for by the name that is shown. */
function isReachable(root: string, onDisk: string): boolean {
  return !isUnspeakable(onDisk) || isThere(join(root, onDisk));
}

/** Null = it is deeper than a path may be long, or closed to us, and nobody can tell what is in it. */
async function readDirectory(path: string): Promise<Dirent[] | null> {
  try {
    return await readdir(path, { withFileTypes: true });
  } catch (error) {
    if (isTooLong(error) || isForbidden(error)) return null;
    if (isAbsent(error)) return [];
    throw error;
  }
}
