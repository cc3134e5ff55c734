/** What health has to say about open working trees: what a person has in hand there, and what the service leaves alone. */
import { branchLockOf, indexLockOf } from '../git/index-lock.ts';
import { isOnBranch, readWorktreeState } from '../git/worktree-state.ts';
import type { Repository } from '../git/repository.ts';
import type { BranchWriter } from '../writer/branch-writer.ts';
import type { BrainProblem } from '../writer/context.ts';

/** A git at work holds the lock for less. */
const LOCK_IS_WORTH_TELLING_MS = 2_000;

export async function treeProblems(
  repository: Repository,
  trees: Iterable<readonly [string, BranchWriter]>,
): Promise<BrainProblem[]> {
  const problems: BrainProblem[] = [];
  for (const [branch, { tree }] of trees) {
    problems.push(
      ...(await diversion(repository, branch, tree.root)),
      ...(await heldLocks(repository, branch, tree.root)),
    );
    if (tree.isOverfull) {
      const text = `the working tree of ${branch} has more entries than are taken in; the rest is neither served nor committed`;
      problems.push({ code: 'E_QUOTA', text });
    }
    if (tree.index.leftOut > 0) {
      const text = `the search index of ${branch} has no room for all files (SVC_SEARCH_MEMORY_MIB): some are not searched`;
      problems.push({ code: 'E_QUOTA', text });
    }
  }
  return problems;
}

async function diversion(repository: Repository, branch: string, root: string): Promise<BrainProblem[]> {
  const state = await readWorktreeState(repository, root).catch(() => null);
  if (state === null || isOnBranch(state, branch)) return [];
  const found =
    state.unfinished === null ? `is on ${state.branch ?? 'no branch'}` : `has a ${state.unfinished} in progress`;
  const text = `the working tree of ${branch} ${found}; nothing is written there`;
  return [{ code: 'E_BRAIN_DIVERTED', text }];
}

async function heldLocks(repository: Repository, branch: string, root: string): Promise<BrainProblem[]> {
  const index = await indexLockOf(repository, root).catch(() => null);
  const locks = { 'index.lock': index, [`refs/heads/${branch}.lock`]: branchLockOf(repository, branch) };
  return Object.entries(locks).flatMap(([name, lock]) => {
    if (lock === null || lock.ageMs < LOCK_IS_WORTH_TELLING_MS) return [];
    const seconds = Math.round(lock.ageMs / 1000);
    const text = `another git holds ${name} of ${branch} for ${seconds} s; commits there wait until it is gone`;
    return [{ code: 'E_BUSY', text }];
  });
}
