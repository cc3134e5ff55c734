/** What in a git directory has git, or us, wait for ever, or work on what is not this repository. */
import { type Dirent, readlinkSync, realpathSync, statSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { dirname, join, resolve, sep } from 'node:path';
import { ignoreAbsent, isForbidden } from '../files/fsync.ts';
import { Slices } from '../thread/slices.ts';

/** Git and we write, clear up and quote there. People link other things, such as hooks, to a place that they share. */
const OWN = /^(?:objects|refs|logs|worktrees)(?:\/|$)|^(?:info|packed-refs|shallow)$/;

/** The first that is found, named from `.git` on; null = nothing. */
export async function layoutProblem(gitDir: string): Promise<string | null> {
  const home = realpathSync.native(gitDir);
  const directories = [''];
  const slices = new Slices();
  for (const directory of directories) {
    const children = await childrenOf(home, directory);
    if (children === null) return `.git/${directory} may not be read by the service`;
    for (const child of children) {
      const path = directory === '' ? child.name : `${directory}/${child.name}`;
      if (child.isDirectory()) directories.push(path);
      const problem = problemOf(home, path, child);
      if (problem !== null) return `.git/${path} ${problem}`;
    }
    if (slices.isOver) await slices.pause();
  }
  return null;
}

/** Null where git itself could do nothing. */
async function childrenOf(home: string, directory: string): Promise<Dirent[] | null> {
  try {
    return await readdir(join(home, directory), { withFileTypes: true });
  } catch (error) {
    if (!isForbidden(error)) return ignoreAbsent(error) ?? [];
    return directory === '' || (OWN.test(directory) && !directory.startsWith('objects/')) ? null : [];
  }
}

function problemOf(home: string, path: string, child: Dirent): string | null {
  if (isEndless(child)) return 'is no plain file';
  if (!child.isSymbolicLink()) return null;
  const place = join(home, path);
  if (OWN.test(path) && !targetOf(place).startsWith(home + sep)) return 'leads out of the repository';
  return isEndless(foundBehind(place)) ? 'is no plain file' : null;
}

/** Reading it may never return. A socket is refused at once, and one of git's own lies there where a person has it watch files. */
function isEndless(found: Pick<Dirent, 'isFIFO' | 'isCharacterDevice' | 'isBlockDevice'> | null): boolean {
  return found !== null && (found.isFIFO() || found.isCharacterDevice() || found.isBlockDevice());
}

function foundBehind(link: string) {
  try {
    return statSync(link);
  } catch {
    return null; // it leads nowhere, or where we may not look
  }
}

function targetOf(link: string): string {
  try {
    return realpathSync.native(link);
  } catch {
    return resolve(dirname(link), readlinkSync(link)); // what is not there may yet be made there
  }
}
