/** For indexes that only git itself can edit: split, sparse, compressed, or damaged ones. */
import { writeFile } from 'node:fs/promises';
import { type IndexEdit, isWholeIndex } from './index-file.ts';
import { editIndex, resetIndex } from './objects.ts';
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
  if (isWhole) await writeFile(indexFile, current);
  if (!isWhole || !(await isReadable(repository, indexFile))) await resetIndex(repository, indexFile, base);
  await editIndex(repository, indexFile, edits);
  const place = { gitDir: await worktreeGitDir(repository, worktree), workTree: worktree, indexFile };
  const absent = edits.filter(({ entry }) => entry?.isAbsent === true).map(({ path }) => `${path}\0`);
  if (absent.length > 0) {
    const stdin = encodePath(absent.join(''));
    await repository.git.run({ ...place, args: ['update-index', '-z', '--skip-worktree', '--stdin'], stdin });
  }
  // exit 1: some files differ from the index
  await repository.git.run({ ...place, args: ['update-index', '-q', '--refresh'], answers: [0, 1] });
}

async function isReadable({ git, gitDir }: Repository, indexFile: string): Promise<boolean> {
  const found = await git.run({ args: ['update-index', '-q'], gitDir, indexFile, answers: [0, 1, 128] });
  return found.exitCode === 0;
}
