/** Errors about what lies where git keeps files and directories of its own, and is something else. */
import { NoPlainFile } from '../files/fsync.ts';

const IN_THE_WAY: ReadonlySet<string> = new Set(['EISDIR', 'ENOTDIR', 'EEXIST', 'ENXIO', 'ELOOP']);

/** What is wrong there, named from `.git` on; null when the error is about something else. */
export function oddFileOfGit(error: unknown): string | null {
  const place = placeInGit(error);
  if (place === null) return null;
  if (error instanceof NoPlainFile) return `${place} is ${error.isDirectory ? 'a directory' : 'no plain file'}`;
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return IN_THE_WAY.has(code) ? `${place} is not what git keeps there (${code})` : null;
}

/** The part of a git directory that the error of a call of ours is about; null = none. */
export function placeInGit(error: unknown): string | null {
  if (!(error instanceof Error) || !('path' in error)) return null;
  const [, place] = /(?:^|[/\\])(\.git[/\\].*)$/s.exec(String(error.path)) ?? [];
  return place?.replaceAll('\\', '/') ?? null;
}
