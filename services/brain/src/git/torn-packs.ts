/** What git leaves of a pack that did not arrive whole: as large as what came, and kept by git for weeks. */
import { readdir, readlink, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isAbsent, isForbidden } from '../files/fsync.ts';
import type { Repository } from './repository.ts';

const TEMPORARY = /^tmp_(?:pack|idx|rev|mtimes)_/;

/** Runs a fetch; when it fails, what it left is removed, and nothing that another git is writing. */
export async function withoutTornPacks<Result>(repository: Repository, fetch: () => Promise<Result>): Promise<Result> {
  const directory = join(repository.gitDir, 'objects', 'pack');
  const before = new Set(await temporariesIn(directory));
  try {
    return await fetch();
  } catch (error) {
    for (const name of await temporariesIn(directory)) {
      const path = join(directory, name);
      if (!before.has(name) && !(await isOpen(path))) await rm(path, { force: true });
    }
    throw error;
  }
}

async function temporariesIn(directory: string): Promise<string[]> {
  return (await namesIn(directory)).filter((name) => TEMPORARY.test(name));
}

/** Where the system does not tell (not Linux), nothing counts as open. */
async function isOpen(path: string): Promise<boolean> {
  for (const process of await namesIn('/proc')) {
    if (!/^\d+$/.test(process)) continue;
    const handles = join('/proc', process, 'fd');
    for (const handle of await namesIn(handles)) {
      if ((await readlink(join(handles, handle)).catch(() => null)) === path) return true;
    }
  }
  return false;
}

/** Processes end, and those of other people do not show what they hold. */
async function namesIn(directory: string): Promise<string[]> {
  try {
    return await readdir(directory);
  } catch (error) {
    if (isAbsent(error) || isForbidden(error)) return [];
    throw error;
  }
}
