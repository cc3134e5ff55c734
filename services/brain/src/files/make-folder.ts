import { mkdirSync } from 'node:fs';
import { isPresent } from './fsync.ts';

/**
 * Makes a directory below one that is there; one that is there already stays. Not the recursive call: that says ENOENT
 * where the disk says why not, and makes anew, as an empty shell, what a person removed above.
 */
export function makeFolder(path: string): void {
  try {
    mkdirSync(path);
  } catch (error) {
    if (!isPresent(error)) throw error;
  }
}
