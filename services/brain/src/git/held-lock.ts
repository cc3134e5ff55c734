/** Lock files of git that somebody else has: another git at work, or one that was killed and left it. */
import { GitError } from './run.ts';

const HELD = /Unable to create '(?:.*\/)?(\.git\/.*?\.lock)': File exists/;

/** For which lock git waited in vain, from `.git` on; null = it failed for another reason. Nothing changed then. */
export function heldLockOf(error: unknown): string | null {
  return error instanceof GitError ? (HELD.exec(error.stderr)?.[1] ?? null) : null;
}
