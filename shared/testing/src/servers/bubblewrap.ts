/** The sandbox of programs: one that is there, or that Debian has. */
import { findExecutable, installPackages, skipped } from './processes.ts';

/** Its path; null, after one loud line, where it cannot be had. */
export function findBubblewrap(): string | null {
  const found = findExecutable('bwrap');
  if (found !== null) return found;
  installPackages(['bubblewrap']);
  return findExecutable('bwrap') ?? skipped('sandbox of programs', 'bubblewrap is not installed');
}
