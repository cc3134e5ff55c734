/** What a working tree says about itself, read from its files without starting git. */
import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { isAbsent, readTextIfPresent } from '../files/fsync.ts';
import { type Repository, RepositoryProblem } from './repository.ts';

const UNFINISHED = {
  MERGE_HEAD: 'merge',
  CHERRY_PICK_HEAD: 'cherry-pick',
  REVERT_HEAD: 'revert',
  'rebase-merge': 'rebase',
  'rebase-apply': 'rebase',
  BISECT_LOG: 'bisect',
} as const;

type UnfinishedWork = (typeof UNFINISHED)[keyof typeof UNFINISHED];

interface WorktreeState {
  /** The branch HEAD names; null when HEAD is detached. */
  readonly branch: string | null;
  /** A person's unfinished operation, or null. */
  readonly unfinished: UnfinishedWork | null;
}

/** The git directory of a working tree. Throws RepositoryProblem when `worktree` does not belong to the repository. */
export async function worktreeGitDir(repository: Repository, worktree: string): Promise<string> {
  if (worktree === repository.dir) return repository.gitDir;
  const pointer = readTextIfPresent(join(worktree, '.git')) ?? '';
  const gitDir = resolve(worktree, pointer.replace(/^gitdir: /, '').trimEnd());
  if (!pointer.startsWith('gitdir: ') || dirname(gitDir) !== join(resolve(repository.gitDir), 'worktrees')) {
    throw new RepositoryProblem('absent', `${basename(worktree)} is not a working tree of this repository`);
  }
  return gitDir;
}

/** Throws RepositoryProblem when the directory is no working tree of the repository (deleted by hand, half made). */
export async function readWorktreeState(repository: Repository, worktree: string): Promise<WorktreeState> {
  const gitDir = await worktreeGitDir(repository, worktree);
  const head = readTextIfPresent(join(gitDir, 'HEAD'));
  if (head === null) throw new RepositoryProblem('absent', `${basename(worktree)} has no HEAD`);
  const branch = /^ref: refs\/heads\/(.+)\n?$/.exec(head)?.[1] ?? null;
  for (const [file, unfinished] of Object.entries(UNFINISHED)) {
    if (existsSync(join(gitDir, file))) return { branch, unfinished };
  }
  return { branch, unfinished: null };
}

/** True when the tree is on `branch` and a person left no operation half done there. */
export function isOnBranch(state: WorktreeState, branch: string): boolean {
  return state.branch === branch && state.unfinished === null;
}

/** Whether the directory and the repository still know of each other. */
export async function isLinked(repository: Repository, worktree: string): Promise<boolean> {
  try {
    return existsSync(join(await worktreeGitDir(repository, worktree), 'HEAD'));
  } catch (error) {
    if (error instanceof RepositoryProblem) return false;
    throw error;
  }
}

/** A linked working tree is whole once its index exists: that file is written last. */
export async function isWhole(repository: Repository, worktree: string): Promise<boolean> {
  try {
    return (await stat(join(await worktreeGitDir(repository, worktree), 'index'))).isFile();
  } catch (error) {
    if (isAbsent(error) || error instanceof RepositoryProblem) return false;
    throw error;
  }
}
