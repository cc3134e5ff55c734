/** The end of a working tree: nothing goes with it that no commit holds. */
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setAsideWorktree } from '../git/branch-removal.ts';
import { readTree, type TreeEntry } from '../git/objects.ts';
import { rescueStamp } from '../git/refs.ts';
import type { Repository } from '../git/repository.ts';
import { isLinked, isOnBranch, readWorktreeState } from '../git/worktree-state.ts';
import { discardWorktree } from '../git/worktrees.ts';
import type { BrainContext } from '../writer/context.ts';
import { holds } from './move-files.ts';

export interface KeptWork {
  readonly commit: string;
  /** Of the rescue references under which it can be read. */
  readonly id: string;
}

/** Tells when, and is another one each time. */
export function newRescue({ platform }: Pick<BrainContext, 'platform'>): string {
  return `${rescueStamp(new Date(platform.clock.now()))}-${platform.random.bytes(4).toString('hex')}`;
}

/** Sets the directory aside when `kept.commit` does not hold everything in it. */
export async function dropWorktree(repository: Repository, dir: string, kept: KeptWork): Promise<void> {
  if (!existsSync(dir)) return;
  if (await isWorktreeHeld(repository, dir, kept.commit)) await discardWorktree(repository, dir);
  else await setAsideWorktree(repository, dir, kept.id);
}

/** That of a branch which a killed process has deleted: another branch of that name would take its files for uncommitted ones. */
export async function setAsideLeft({ repository, platform }: BrainContext, branch: string, dir: string): Promise<void> {
  if (!(await isLinked(repository, dir))) return;
  if (!isOnBranch(await readWorktreeState(repository, dir), branch)) return; // somebody has something else in hand there
  await setAsideWorktree(repository, dir, newRescue({ platform }));
}

export async function isWorktreeHeld(repository: Repository, dir: string, commit: string): Promise<boolean> {
  return !existsSync(dir) || isHeldBy(dir, '', await readTree(repository, commit));
}

async function isHeldBy(root: string, directory: string, tree: ReadonlyMap<string, TreeEntry>): Promise<boolean> {
  for (const child of await readdir(join(root, directory), { withFileTypes: true })) {
    if (directory === '' && child.name === '.git') continue;
    const path = directory === '' ? child.name : `${directory}/${child.name}`;
    const entry = tree.get(path);
    const isHeld = child.isDirectory()
      ? await isHeldBy(root, path, tree)
      : entry !== undefined && (await holds(root, path, entry));
    if (!isHeld) return false;
  }
  return true;
}
