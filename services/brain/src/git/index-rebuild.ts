/** For indexes that only git itself can edit: split, sparse, compressed, or damaged ones. */
import { writeFile } from 'node:fs/promises';
import { type IndexEdit, isWholeIndex } from './index-file.ts';
import { editIndex, type IndexPlace, resetIndex } from './objects.ts';
import { encodePath } from './path-bytes.ts';
import type { Repository } from './repository.ts';
import { worktreeGitDir } from './worktree-state.ts';

interface RebuildWish {
  /** Bytes of the index as it is; null = there is none. */
  readonly current: Buffer | null;
  readonly edits: readonly IndexEdit[];
  /** The commit to start from when `current` is damaged. */
  readonly base: string;
  /** Where the new index is written. */
  readonly indexFile: string;
}

/** Throws GitError. */
export async function rebuildIndex(repository: Repository, worktree: string, wish: RebuildWish): Promise<void> {
  const { current, edits, base, indexFile } = wish;
  const isWhole = current !== null && isWholeIndex(current);
  const index = { gitDir: await worktreeGitDir(repository, worktree), indexFile };
  if (isWhole) await writeFile(indexFile, current);
  if (!isWhole || !(await isReadable(repository, index))) await resetIndex(repository, index, base);
  await editIndex(repository, index, edits);
  const place = { ...index, workTree: worktree };
  const absent = edits.filter(({ entry }) => entry?.isAbsent === true).map(({ path }) => `${path}\0`);
  if (absent.length > 0) {
    const stdin = encodePath(absent.join(''));
    await repository.git.run({ ...place, args: ['update-index', '-z', '--skip-worktree', '--stdin'], stdin });
  }
  // exit 1: some files differ from the index
  await repository.git.run({ ...place, args: ['update-index', '-q', '--refresh'], answers: [0, 1] });
}

async function isReadable({ git }: Repository, index: IndexPlace): Promise<boolean> {
  const found = await git.run({ args: ['update-index', '-q'], ...index, answers: [0, 1, 128] });
  return found.exitCode === 0;
}
