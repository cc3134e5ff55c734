/**
 * A working tree's index, held under git's own `index.lock`. While it is held no `git add`, `git commit` or
 * `git checkout` of a person begins to change anything there, and what it holds is in place before the branch moves:
 * whoever sees the new head sees the new index, and a killed process leaves at worst what `git add` would have left.
 */
import {
  existsSync,
  linkSync,
  renameSync,
  rmSync,
  statSync,
  type Stats,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileStamp } from '../files/file-stamp.ts';
import { ignoreAbsent, isForbidden, isPresent, readIfPresent } from '../files/fsync.ts';
import { editIndexFile, type IndexEdit } from './index-file.ts';
import { scratchPath } from './journal.ts';
import type { Repository } from './repository.ts';
import { branchRef } from './run.ts';
import { rebuildIndex } from './index-rebuild.ts';
import { worktreeGitDir } from './worktree-state.ts';

export const STALE_LOCK_MS = 10 * 60_000;
/** How long somebody else's lock is waited for. */
export const LOCK_PATIENCE_MS = 1_500;
const RETRY_MS = 20;
/** More than the clocks of a machine and of its file server differ. */
const AHEAD_MS = 5000;

/** Somebody else's lock, a person's git as a rule. */
interface ForeignLock {
  readonly ageMs: number;
}

export type LockAttempt =
  | { readonly status: 'locked'; readonly index: LockedIndex }
  | ({ readonly status: 'held' } & ForeignLock);

/**
 * Takes the lock, waiting a moment for another holder; one older than ten minutes belongs to nobody any more. The caller
 * releases it. Throws RepositoryProblem when the directory is no working tree of the repository.
 */
export async function lockIndex(repository: Repository, worktree: string): Promise<LockAttempt> {
  const path = join(await worktreeGitDir(repository, worktree), 'index');
  const token = await scratchPath(repository, 'lock');
  writeFileSync(token, '');
  const endsAt = Date.now() + LOCK_PATIENCE_MS;
  try {
    while (!isLinked(token, `${path}.lock`)) {
      const ageMs = ageOfLock(`${path}.lock`);
      if (ageMs !== null && ageMs > STALE_LOCK_MS) rmSync(`${path}.lock`, { force: true });
      else if (Date.now() >= endsAt) {
        rmSync(token, { force: true });
        return { status: 'held', ageMs: ageMs ?? 0 };
      } else await delay(RETRY_MS);
    }
  } catch (error) {
    rmSync(token, { force: true });
    throw error;
  }
  return { status: 'locked', index: new LockedIndex(repository, worktree, path, token) };
}

/** The lock is a hard link to a file of ours: after a kill, the shared inode tells whose lock it was. */
function isLinked(token: string, lock: string): boolean {
  try {
    linkSync(token, lock);
    return true;
  } catch (error) {
    if (isPresent(error)) return false;
    throw error;
  }
}

/** Somebody else's lock on the index of a working tree, for health; null = there is none. */
export async function indexLockOf(repository: Repository, worktree: string): Promise<ForeignLock | null> {
  return foreignLock(join(await worktreeGitDir(repository, worktree), 'index.lock'));
}

/** The same of a branch. */
export function branchLockOf({ gitDir }: Repository, branch: string): ForeignLock | null {
  return foreignLock(join(gitDir, `${branchRef(branch)}.lock`));
}

function foreignLock(path: string): ForeignLock | null {
  const lock = statOf(path);
  // ours has a second name
  return lock === null || lock.nlink > 1 ? null : { ageMs: Math.max(0, Date.now() - lock.mtimeMs) };
}

/**
 * Null = there is none. How old one is that was dated before the clock was set back, nobody knows: it is dated anew, or it would
 * be somebody's until the clock is there again.
 */
export function ageOfLock(path: string): number | null {
  const stat = statOf(path);
  if (stat === null) return null;
  const ageMs = Date.now() - stat.mtimeMs;
  if (ageMs < -AHEAD_MS) dateNow(path);
  return Math.max(0, ageMs);
}

function dateNow(path: string): void {
  const now = new Date();
  try {
    utimesSync(path, now, now);
  } catch (error) {
    // That of another user keeps its date.
    if (!isForbidden(error)) ignoreAbsent(error);
  }
}

function statOf(path: string): Stats | null {
  return statSync(path, { throwIfNoEntry: false }) ?? null;
}

/** Equal stamps, equal index. Null = there is no index. */
export async function indexStamp(repository: Repository, worktree: string): Promise<string | null> {
  const path = join(await worktreeGitDir(repository, worktree), 'index');
  const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stat === undefined ? null : fileStamp(stat);
}

export class LockedIndex implements Disposable {
  readonly #repository: Repository;
  readonly #worktree: string;
  readonly #path: string;
  readonly #token: string;
  /** Where the index before our first edit is kept; null = nothing was edited yet. */
  #before: { readonly path: string | null } | null = null;

  constructor(repository: Repository, worktree: string, path: string, token: string) {
    this.#repository = repository;
    this.#worktree = worktree;
    this.#path = path;
    this.#token = token;
  }

  /** Makes the edits; all else that is staged stays. `base`: the commit to start from when the index cannot be read. */
  async edit(edits: readonly IndexEdit[], base: string): Promise<void> {
    const current = readIfPresent(this.#path);
    const edited = editIndexFile(current, edits);
    const next = await scratchPath(this.#repository, 'index');
    try {
      if (edited !== null) writeFileSync(next, edited);
      else await rebuildIndex(this.#repository, this.#worktree, { current, edits, base, indexFile: next });
      if (this.#before === null) this.#before = { path: await this.#keepBefore() };
      renameSync(next, this.#path);
    } finally {
      rmSync(next, { force: true });
    }
  }

  async #keepBefore(): Promise<string | null> {
    if (!existsSync(this.#path)) return null;
    const kept = await scratchPath(this.#repository, 'before');
    linkSync(this.#path, kept);
    return kept;
  }

  /** As it was before the first edit. */
  restore(): void {
    if (this.#before === null) return;
    const { path } = this.#before;
    this.#before = null;
    if (path === null) rmSync(this.#path, { force: true });
    else renameSync(path, this.#path);
  }

  /** Does nothing when it is released already. */
  release(): void {
    const lock = `${this.#path}.lock`;
    // a person may have removed our lock, and the one there now would be another's
    if (statOf(lock)?.ino === statOf(this.#token)?.ino) unlinkPresent(lock);
    rmSync(this.#token, { force: true });
    if (this.#before?.path != null) rmSync(this.#before.path, { force: true });
  }

  [Symbol.dispose](): void {
    this.release();
  }
}

function unlinkPresent(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    ignoreAbsent(error);
  }
}
