/** What a commit takes of a working tree: the bytes as they lie on disk, and of what is gone only what surely is. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Worktree } from '../files/worktree.ts';
import type { CommitEdit } from '../git/commits.ts';
import type { Repository } from '../git/repository.ts';
import { hasStamp, isGone, storeFiles, type StoreOptions, type StoredFiles } from '../git/worktree-files.ts';
import type { DirtyFile } from './ops.ts';

/** An editor that saves by renaming leaves no file for a moment; one that is gone for longer is gone. */
const GONE_MS = 150;

export interface GatheredEdits {
  readonly edits: readonly CommitEdit[];
  /** The changes that the edits make; what came and went meanwhile is left for the next commit. */
  readonly taken: readonly DirtyFile[];
  readonly stored: StoredFiles;
}

/** Stores the changed files and answers the edits. The head they are to be made on was read before. Throws GitError. */
export async function gatherEdits(
  repository: Repository,
  tree: Worktree,
  changes: readonly DirtyFile[],
  options: StoreOptions = {},
): Promise<GatheredEdits> {
  const present = changes.filter(({ change }) => change !== 'deleted').map(({ file }) => file);
  const stored = await storeFiles(repository, tree.root, present, options);
  const gone = await surelyGone(
    tree,
    changes.filter(({ change }) => change === 'deleted'),
  );
  const edits = new Map<string, CommitEdit>();
  for (const path of gone) edits.set(path, { path, entry: null });
  for (const [path, file] of stored) if (file !== null) edits.set(path, { path, entry: file.entry });
  return { edits: [...edits.values()], taken: changes.filter(({ file }) => edits.has(file)), stored };
}

async function surelyGone(tree: Worktree, deleted: readonly DirtyFile[]): Promise<string[]> {
  const paths = deleted.map(({ file }) => file);
  const waitMs = Math.max(0, ...paths.map((path) => GONE_MS - (Date.now() - (tree.goneSince(path) ?? 0))));
  if (waitMs > 0) await delay(waitMs);
  return paths.filter((path) => isGone(tree.root, path));
}

/**
 * Whether the disk is still as the edits have it. What is gone must still be gone; the rest only when somebody else
 * changed the index meanwhile, which may have been a checkout that changed the files too.
 */
export function isStillSo(root: string, { edits, stored }: GatheredEdits, isIndexUnchanged: boolean): boolean {
  const isTrue = ({ path, entry }: CommitEdit): boolean => {
    if (entry === null) return isGone(root, path);
    return isIndexUnchanged || hasStamp(root, path, stored.get(path)?.stamp ?? '');
  };
  return edits.every(isTrue);
}
