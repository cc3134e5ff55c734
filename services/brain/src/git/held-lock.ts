/** Lock files of git that somebody else has: another git at work, or one that was killed and left it. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { GitError } from './run.ts';

const HELD = /Unable to create '(?:.*\/)?(\.git\/.*?\.lock)': File exists/;

/**
 * For which lock git waited in vain, from `.git` on; null = it failed for another reason, such as a directory in the place
 * of the lock, for which nobody has to wait. Nothing changed then. `folder` is that of the brain.
 */
export function heldLockOf(error: unknown, folder: string): string | null {
  const lock = error instanceof GitError ? (HELD.exec(error.stderr)?.[1] ?? null) : null;
  if (lock === null) return null;
  return statSync(join(folder, lock), { throwIfNoEntry: false })?.isDirectory() === true ? null : lock;
}
