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
import { Slices } from '../thread/slices.ts';
import { holds, type KnownFiles, type TreePlace } from './move-files.ts';

export interface KeptWork {
  readonly commit: string;
  /** Of the rescue references under which it can be read. */
  readonly id: string;
  readonly known: KnownFiles;
}

/** Tells when, and is another one each time. */
export function newRescue({ platform }: Pick<BrainContext, 'platform'>): string {
  return `${rescueStamp(new Date(platform.clock.now()))}-${platform.random.bytes(4).toString('hex')}`;
}

/** Sets the directory aside when `kept.commit` does not hold everything in it. */
export async function dropWorktree(repository: Repository, dir: string, kept: KeptWork): Promise<void> {
  if (!existsSync(dir)) return;
  if (await isWorktreeHeld(repository, dir, kept)) await discardWorktree(repository, dir);
  else await setAsideWorktree(repository, dir, kept.id);
}

/** That of a branch which a killed process has deleted: another branch of that name would take its files for uncommitted ones. */
export async function setAsideLeft({ repository, platform }: BrainContext, branch: string, dir: string): Promise<void> {
  if (!(await isLinked(repository, dir))) return;
  if (!isOnBranch(await readWorktreeState(repository, dir), branch)) return; // somebody has something else in hand there
  await setAsideWorktree(repository, dir, newRescue({ platform }));
}

export async function isWorktreeHeld(
  repository: Repository,
  dir: string,
  { commit, known }: Pick<KeptWork, 'commit' | 'known'>,
): Promise<boolean> {
  if (!existsSync(dir)) return true;
  return isHeldBy({ root: dir, known }, '', { tree: await readTree(repository, commit), slices: new Slices() });
}

interface Holder {
  readonly tree: ReadonlyMap<string, TreeEntry>;
  readonly slices: Slices;
}

async function isHeldBy(place: TreePlace, directory: string, holder: Holder): Promise<boolean> {
  const { tree, slices } = holder;
  for (const child of await readdir(join(place.root, directory), { withFileTypes: true })) {
    if (directory === '' && child.name === '.git') continue;
    const path = directory === '' ? child.name : `${directory}/${child.name}`;
    const entry = tree.get(path);
    const isHeld = child.isDirectory()
      ? await isHeldBy(place, path, holder)
      : entry !== undefined && (await holds(place, path, entry));
    if (!isHeld) return false;
    if (slices.isOver) await slices.pause();
  }
  return true;
}
