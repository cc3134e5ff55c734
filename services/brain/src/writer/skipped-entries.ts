/** What a person's git never put into a working tree (a sparse checkout, say): its absence there is no deletion. */
import { indexStamp } from '../git/index-lock.ts';
import type { Repository } from '../git/repository.ts';
import { readSkipped } from '../git/worktree-index.ts';
import { isWhole } from '../git/worktree-state.ts';
import type { Worktree } from '../files/worktree.ts';

export class SkippedEntries {
  readonly #repository: Repository;
  readonly #tree: Worktree;
  /** Of the index that was read last; undefined = none was. */
  #stamp: string | null | undefined;

  constructor(repository: Repository, tree: Worktree) {
    this.#repository = repository;
    this.#tree = tree;
  }

  /** Brings the file table up to the index; costs nothing while the tree has all of the last commit. */
  async note(): Promise<void> {
    const { table, root } = this.#tree;
    if (!table.isIncomplete) return;
    if (!(await isWhole(this.#repository, root))) return;
    const stamp = await indexStamp(this.#repository, root);
    if (stamp === this.#stamp) return;
    table.setSkipped(await readSkipped(this.#repository, root));
    this.#stamp = stamp;
  }
}
