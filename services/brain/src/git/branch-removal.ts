/** What deleting and renaming branches asks of git, and of the working trees on disk. */
import { existsSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fsyncPath } from '../files/fsync.ts';
import { readHeads, type RefMove } from './refs.ts';
import type { Repository } from './repository.ts';
import { branchRef } from './run.ts';
import { countNew } from './history.ts';
import { lockLink, unlockLink } from './worktree-links.ts';
import { isLinked, worktreeGitDir } from './worktree-state.ts';
import { pruneWorktrees, worktreeName } from './worktrees.ts';

/** Under which the head of a deleted branch can be read. */
export function branchRescue(rescue: string): string {
  return `refs/rescue/${rescue}/branch`;
}

/** The references under which a deleted branch can be read. `work`: what was uncommitted, or null. */
export function deletionMoves(branch: string, rescue: string, head: string, work: string | null): RefMove[] {
  return [
    { ref: branchRef(branch), to: null, from: head },
    { ref: branchRescue(rescue), to: head, from: null },
    ...(work === null ? [] : [{ ref: `refs/rescue/${rescue}/work`, to: work, from: null }]),
  ];
}

/** How many commits of `head` no branch but `branch` has; those that only touch `without` do not count. */
export async function countUnmerged(
  repository: Repository,
  { branch, head, without }: { readonly branch: string; readonly head: string; readonly without: readonly string[] },
): Promise<number> {
  const known = [...(await readHeads(repository))].flatMap(([name, commit]) => (name === branch ? [] : [commit]));
  return countNew(repository, head, { known, without });
}

/** Takes a working tree that holds what no commit does out of use; the files stay, beside the others. */
export async function setAsideWorktree(repository: Repository, dir: string, id: string): Promise<void> {
  await rename(dir, join(dirname(dir), `.deleted-${basename(dir)}-${id}`));
  await fsyncPath(dirname(dir));
  await pruneWorktrees(repository);
}

/** Takes the working tree of a renamed branch, if there is one, along with it. Harmless when it was done before, or begun. */
export async function moveWorktree(
  repository: Repository,
  worktreesDir: string,
  { from, to }: { readonly from: string; readonly to: string },
): Promise<void> {
  const source = join(worktreesDir, worktreeName(from));
  const target = join(worktreesDir, worktreeName(to));
  // Somebody made one for the new name already: what the old one holds is kept beside it.
  if (existsSync(source) && existsSync(target)) await setAsideWorktree(repository, source, to.replaceAll('/', '+'));
  else if (existsSync(source)) {
    const gitDir = await worktreeGitDir(repository, source);
    await repository.git.run({ args: ['symbolic-ref', 'HEAD', branchRef(to)], gitDir });
    await lockLink(gitDir);
    await rename(source, target);
    await fsyncPath(worktreesDir);
  }
  if (await isLinked(repository, target)) await unlockLink(await worktreeGitDir(repository, target), target);
}
