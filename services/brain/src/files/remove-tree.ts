/** Removes a directory with all that is in it, however many files those are: `rm` asks for all of them at once. */
import { rmdirSync, unlinkSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Slices } from '../thread/slices.ts';
import { isAbsent } from './fsync.ts';

/** Nothing there is as well. Throws what the disk says. */
export async function removeTree(directory: string): Promise<void> {
  await empty(directory, new Slices());
  // What came meanwhile, or could not be removed: this says why.
  await rm(directory, { recursive: true, force: true });
}

async function empty(directory: string, slices: Slices): Promise<void> {
  for (const child of await childrenOf(directory)) {
    const path = join(directory, child.name);
    if (child.isDirectory()) await empty(path, slices);
    tried(() => (child.isDirectory() ? rmdirSync(path) : unlinkSync(path)));
    if (slices.isOver) await slices.pause();
  }
}

async function childrenOf(directory: string) {
  try {
    return await readdir(directory, { withFileTypes: true });
  } catch (error) {
    if (isAbsent(error)) return [];
    throw error;
  }
}

function tried(remove: () => void): void {
  try {
    remove();
  } catch {
    // is left for the last step
  }
}
