/** Where the history of a repository ends although its commits name parents, as in a clone of the latest commits alone. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readTextIfPresent } from '../files/fsync.ts';
import type { Repository } from './repository.ts';

const FILE = 'shallow';

/** Undefined = nowhere. */
export function readShallow({ gitDir }: Repository): string[] | undefined {
  const commits = (readTextIfPresent(join(gitDir, FILE)) ?? '').split('\n').filter((line) => line !== '');
  return commits.length === 0 ? undefined : commits;
}

/** Before objects come into a repository that is nobody's yet. */
export async function writeShallow({ gitDir }: Repository, commits: readonly string[]): Promise<void> {
  await writeFile(join(gitDir, FILE), `${commits.join('\n')}\n`);
}
