/** A working tree's own index follows our commits, else a person's `git status` would show them undone. */
import { copyFile, link, rename, rm, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isAbsent, isPresent } from '../files/fsync.ts';
import { scratchPath } from './journal.ts';
import { resetIndex } from './objects.ts';
import type { Repository } from './repository.ts';
import { worktreeGitDir } from './worktree-state.ts';

export const STALE_LOCK_MS = 10 * 60_000;
const LOCK_ATTEMPTS = 10;
const LOCK_RETRY_MS = 30;

/** Starts a private index from the working tree's own, for its notes of how the files lie on disk. */
export async function copyIndex(repository: Repository, worktree: string, indexFile: string): Promise<void> {
  const own = join(await worktreeGitDir(repository, worktree), 'index');
  await copyFile(own, indexFile).catch((error: unknown) => {
    if (!isAbsent(error)) throw error;
  });
}

/** Entries of the index that were never put into the working tree, as git spells them. */
export async function readSkipped(repository: Repository, worktree: string): Promise<Set<string>> {
  const { stdout } = await repository.git.run({
    args: ['ls-files', '-t', '-z', '--cached'],
    gitDir: await worktreeGitDir(repository, worktree),
    workTree: worktree,
    maxOutputBytes: 96 * 1024 * 1024,
  });
  const lines = stdout.toString('utf8').split('\0');
  return new Set(lines.filter((line) => line.startsWith('S ')).map((line) => line.slice(2)));
}

/** Notes in the index how the files lie on disk now; `absent` paths (foreign entries) count as present. */
export async function refreshIndex(
  repository: Repository,
  worktree: string,
  indexFile: string,
  absent: readonly string[],
): Promise<void> {
  const call = { gitDir: await worktreeGitDir(repository, worktree), workTree: worktree, indexFile };
  if (absent.length > 0) {
    const stdin = absent.map((path) => `${path}\0`).join('');
    await repository.git.run({ ...call, args: ['update-index', '-z', '--skip-worktree', '--stdin'], stdin });
  }
  // exit 1: some files differ from the index, which is what dirty means
  await repository.git.run({ ...call, args: ['update-index', '-q', '--refresh'], answers: [0, 1] });
}

/**
 * Puts a private index in the place of the working tree's own, under `index.lock`. False when a person's git holds that
 * lock: the commit stands all the same, and the next one brings the index along.
 */
export async function installIndex(repository: Repository, worktree: string, indexFile: string): Promise<boolean> {
  const own = join(await worktreeGitDir(repository, worktree), 'index');
  if (!(await takeLock(`${own}.lock`, indexFile))) return false;
  await rename(`${own}.lock`, own);
  await rm(indexFile, { force: true });
  return true;
}

/** The lock is a hard link to our private index: after a kill, the shared inode tells whose lock it was. */
async function takeLock(lock: string, indexFile: string): Promise<boolean> {
  for (let attempt = 0; attempt < LOCK_ATTEMPTS; attempt += 1) {
    try {
      await link(indexFile, lock);
      return true;
    } catch (error) {
      if (!isPresent(error)) throw error;
    }
    const held = await stat(lock).catch(() => null);
    if (held !== null && Date.now() - held.mtimeMs > STALE_LOCK_MS) await unlink(lock).catch(() => undefined);
    else await delay(LOCK_RETRY_MS);
  }
  return false;
}

/** Makes the working tree's index hold the tree of `commit` (after a ref was moved without a commit of ours). */
export async function adoptCommit(
  repository: Repository,
  worktree: string,
  commit: string,
  absent: readonly string[] = [],
): Promise<boolean> {
  const indexFile = await scratchPath(repository, 'index');
  try {
    await copyIndex(repository, worktree, indexFile);
    await resetIndex(repository, indexFile, commit);
    await refreshIndex(repository, worktree, indexFile, absent);
    return await installIndex(repository, worktree, indexFile);
  } finally {
    await rm(indexFile, { force: true });
  }
}
