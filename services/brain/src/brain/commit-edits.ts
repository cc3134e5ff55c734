/** What a commit takes of a working tree: the bytes as they lie on disk, and of what is gone only what surely is. */
import { setTimeout as delay } from 'node:timers/promises';
import type { TreeChange } from '../files/file-table.ts';
import type { Worktree } from '../files/worktree.ts';
import type { CommitEdit } from '../git/commits.ts';
import type { Repository } from '../git/repository.ts';
import { hasStamp, isGone, storeFiles, type StoreOptions, type StoredFiles } from '../git/worktree-files.ts';

/** An editor that saves by renaming leaves no file for a moment; one that is gone for longer is gone. */
const GONE_MS = 150;
const LINK_MODE = '120000';

export interface GatheredEdits {
  /** By the spelling on disk. */
  readonly edits: readonly CommitEdit[];
  /** The changes that the edits make; what came and went meanwhile is left for the next commit. */
  readonly taken: readonly TreeChange[];
  readonly stored: StoredFiles;
}

/** Stores the changed files and answers the edits. The head they are to be made on was read before. Throws GitError. */
export async function gatherEdits(
  repository: Repository,
  tree: Worktree,
  changes: readonly TreeChange[],
  options: StoreOptions = {},
): Promise<GatheredEdits> {
  const present = changes.filter(({ change }) => change !== 'deleted').map(({ onDisk }) => onDisk);
  const stored = await storeFiles(repository, tree.root, present, options);
  const edits = new Map<string, CommitEdit>();
  for (const path of await surelyGone(tree, changes)) edits.set(path, { path, entry: null });
  for (const { onDisk, mode } of changes) {
    const entry = stored.get(onDisk)?.entry;
    // a link that a person puts in the place of a file is looked at again before it is taken
    const isLink = entry?.mode === LINK_MODE;
    if (entry !== undefined && isLink === (mode === LINK_MODE)) edits.set(onDisk, { path: onDisk, entry });
  }
  return { edits: [...edits.values()], taken: changes.filter(({ onDisk }) => edits.has(onDisk)), stored };
}

async function surelyGone(tree: Worktree, changes: readonly TreeChange[]): Promise<string[]> {
  const deleted = changes.filter(({ change }) => change === 'deleted');
  const goneAt = Math.max(0, ...deleted.map(({ file }) => tree.goneSince(file) ?? 0));
  const waitMs = goneAt + GONE_MS - Date.now();
  if (waitMs > 0) await delay(Math.min(waitMs, GONE_MS));
  return deleted.map(({ onDisk }) => onDisk).filter((path) => isGone(tree.root, path, tree.table.headOf(path)?.mode));
}

/**
 * Whether the disk is still as the edits have it. What is gone must still be gone, and by the index that was read: one
 * that somebody changed meanwhile may say that it is not to be there. The rest only when somebody else changed the index,
 * which may have been a checkout that changed the files too.
 */
export function isStillSo(
  { root, table }: Pick<Worktree, 'root' | 'table'>,
  { edits, stored }: GatheredEdits,
  isIndexUnchanged: boolean,
): boolean {
  const isTrue = ({ path, entry }: CommitEdit): boolean => {
    if (entry === null) return isIndexUnchanged && isGone(root, path, table.headOf(path)?.mode);
    return isIndexUnchanged || hasStamp(root, path, stored.get(path)?.stamp ?? '');
  };
  return edits.every(isTrue);
}
