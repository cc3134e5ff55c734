/** Directories without files, of which git and the file table know nothing: they are on disk alone. */
import { closeSync, type Dirent, fsyncSync, openSync, readdirSync, rmdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { foldCase, isFilePath } from '@svc/contract/names.ts';
import { isAbsent, isForbidden, lookAt } from './fsync.ts';
import { makeFolder } from './make-folder.ts';

/** What has more in it than that is not looked at for being empty. */
const MAX_LOOKED_AT = 1000;

/** `directory`: as the disk spells it, relative to the root. Whether it holds directories at most, and those nothing else. */
export function isEmptyFolder(root: string, directory: string): boolean {
  return emptyFolders(root, directory) !== null;
}

/** The directories in it that are empty, by name. */
export function emptyFoldersIn(root: string, directory: string): string[] {
  return (entriesOf(root, directory) ?? []).flatMap((entry) => {
    const path = directory === '' ? entry.name : `${directory}/${entry.name}`;
    return entry.isDirectory() && isFilePath(path) && isEmptyFolder(root, path) ? [path] : [];
  });
}

/** The directory in the same place that some file systems would not tell apart from this one; null = none. */
export function likeFolder(root: string, directory: string): string | null {
  const segments = directory.split('/');
  for (const [depth, segment] of segments.entries()) {
    const parent = segments.slice(0, depth).join('/');
    const folded = foldCase(segment);
    const like = entriesOf(root, parent)?.find(({ name }) => name !== segment && foldCase(name) === folded);
    if (like !== undefined) return parent === '' ? like.name : `${parent}/${like.name}`;
  }
  return null;
}

/** Makes a directory durably, with those above it. False where it is already; null where something else is in the way. */
export function makeFolders(root: string, directory: string): boolean | null {
  let made = false;
  let path = '';
  for (const segment of directory.split('/')) {
    const parent = path;
    path = path === '' ? segment : `${path}/${segment}`;
    const stat = lookAt(join(root, path));
    if (stat !== undefined && (stat === 'closed' || !stat.isDirectory())) return null;
    if (stat !== undefined) continue;
    makeFolder(join(root, path));
    flush(join(root, parent));
    made = true;
  }
  return made;
}

/** Takes away a directory that is empty, with those in it. False when something has come into it. */
export function removeEmptyFolder(root: string, directory: string): boolean {
  const folders = emptyFolders(root, directory);
  if (folders === null) return false;
  for (const folder of folders.toReversed()) {
    try {
      rmdirSync(join(root, folder));
    } catch (error) {
      if (isAbsent(error)) continue;
      if (error instanceof Error && 'code' in error && error.code === 'ENOTEMPTY') return false;
      throw error;
    }
  }
  flush(dirname(join(root, directory)));
  return true;
}

/** The directory and all below it, from the top down; null when anything but directories is there, or nothing. */
function emptyFolders(root: string, directory: string): string[] | null {
  if (!isFolder(root, directory)) return null;
  const folders = [directory];
  for (const folder of folders) {
    const entries = entriesOf(root, folder);
    if (entries === null) return null;
    for (const entry of entries) {
      if (!entry.isDirectory() || folders.length > MAX_LOOKED_AT) return null;
      folders.push(`${folder}/${entry.name}`);
    }
  }
  return folders;
}

/** Reached without any link, or one that may not be entered. */
function isFolder(root: string, directory: string): boolean {
  let path = root;
  for (const segment of directory.split('/')) {
    path = join(path, segment);
    const stat = lookAt(path);
    if (stat === undefined || stat === 'closed' || !stat.isDirectory()) return false;
  }
  return true;
}

/** Null = it may not be listed. */
function entriesOf(root: string, directory: string): Dirent[] | null {
  if (!isFolder(root, directory)) return [];
  try {
    return readdirSync(join(root, directory), { withFileTypes: true });
  } catch (error) {
    if (isAbsent(error)) return [];
    if (isForbidden(error)) return null;
    throw error;
  }
}

function flush(directory: string): void {
  const opened = openSync(directory, 'r');
  try {
    fsyncSync(opened);
  } finally {
    closeSync(opened);
  }
}
