/** Whether a brain ever held an island: boundaries of islands hold in every brain, and hide nothing where there never was one. */
import { readHeads } from '../git/refs.ts';
import type { Repository } from '../git/repository.ts';
import { objectId } from '../git/run.ts';
import type { BranchWriter } from '../writer/branch-writer.ts';

const ISLANDS = 'islands/';

export class IslandPast {
  readonly #repository: Repository;
  /** Heads whose whole past holds none. */
  #without = new Set<string>();
  #held = false;

  constructor(repository: Repository) {
    this.#repository = repository;
  }

  async hasHeld(writers: Iterable<BranchWriter>): Promise<boolean> {
    for (const { tree } of writers) {
      if (this.#held) break;
      this.#held = tree.table.sortedPaths().some((path) => path.startsWith(ISLANDS));
    }
    if (this.#held) return true;
    const heads = new Set((await readHeads(this.#repository)).values());
    const unknown = [...heads].filter((head) => !this.#without.has(head));
    if (unknown.length === 0) return false;
    this.#held = await this.#isInPastOf(unknown);
    this.#without = heads;
    return this.#held;
  }

  async #isInPastOf(heads: readonly string[]): Promise<boolean> {
    const known = [...this.#without].map((head) => `^${objectId(head)}`);
    const { stdout } = await this.#repository.git.run({
      args: ['rev-list', '--max-count=1', '--stdin'],
      gitDir: this.#repository.gitDir,
      stdin: [...heads.map(objectId), ...known, '--', ISLANDS, ''].join('\n'),
    });
    return stdout.byteLength > 0;
  }
}
