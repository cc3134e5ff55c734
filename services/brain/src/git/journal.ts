/**
 * Says on disk which reference locks a running git child of ours may hold, so that after a kill the boot repair can
 * tell our dead locks from a person's live ones.
 */
import { randomUUID } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder } from '../files/make-folder.ts';
import type { Repository } from './repository.ts';
import { GitError } from './run.ts';

export const JOURNAL_PREFIX = 'running-';

/** Runs `action` while a record names the locks that a move of `refs` takes; a name that ends in `/` means all below. */
export async function withJournal<Result>(
  repository: Repository,
  refs: readonly string[],
  action: () => Promise<Result>,
): Promise<Result> {
  const record = join(repository.scratchDir, `${JOURNAL_PREFIX}${randomUUID()}`);
  const locks = [...refs.map((ref) => (ref.endsWith('/') ? ref : `${ref}.lock`)), 'HEAD.lock', 'packed-refs.lock'];
  makeFolder(repository.scratchDir);
  try {
    await writeFile(record, locks.join('\n'));
  } catch (error) {
    await rm(record, { force: true }); // a full disk leaves an empty one
    throw error;
  }
  try {
    const result = await action();
    await rm(record, { force: true });
    return result;
  } catch (error) {
    // a git that ended by itself has removed its locks; one that was killed has not
    if (error instanceof GitError && error.code === 'exit') await rm(record, { force: true });
    throw error;
  }
}

/** A fresh path in the repository's scratch directory. */
export async function scratchPath(repository: Repository, kind: string): Promise<string> {
  makeFolder(repository.scratchDir);
  return join(repository.scratchDir, `${kind}-${randomUUID()}`);
}
