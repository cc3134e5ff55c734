/** Whether a brain ever held an island: boundaries of islands hold in every brain, and hide nothing where there never was one. */
import { readRefs } from '../git/refs.ts';
import type { Repository } from '../git/repository.ts';
import { objectId } from '../git/run.ts';
import type { RowView } from '../ports.ts';

export const ISLANDS = 'islands/';

/** Places in which the subject may not read what was committed. */
export async function unreadableEver(islands: Pick<IslandPast, 'hasHeld'>, rows: RowView): Promise<string[]> {
  const places = rows.unreadable();
  const isIsland = (path: string): boolean => path.startsWith(ISLANDS);
  if (!places.some(isIsland) || (await islands.hasHeld())) return places;
  return places.filter((path) => !isIsland(path));
}

/** The same as git spells them: names that are not normal are known by their normal form, and lie in commits as they were on a disk. */
export async function hiddenSpellings(islands: Pick<IslandPast, 'hasHeld'>, rows: RowView): Promise<string[]> {
  return (await unreadableEver(islands, rows)).flatMap(spellings);
}

export function spellings(path: string): string[] {
  return [...new Set([path, path.normalize('NFD')])];
}

export class IslandPast {
  readonly #repository: Repository;
  /** Commits whose whole past holds none. */
  #without = new Set<string>();
  #held = false;

  constructor(repository: Repository) {
    this.#repository = repository;
  }

  /** In any commit that anything names; what was never committed shows in no id. */
  async hasHeld(): Promise<boolean> {
    if (this.#held) return true;
    const tips = new Set((await readRefs(this.#repository, 'refs/')).values());
    const unknown = [...tips].filter((tip) => !this.#without.has(tip));
    if (unknown.length === 0) return false;
    this.#held = await this.#isInPastOf(unknown);
    this.#without = tips;
    return this.#held;
  }

  async #isInPastOf(tips: readonly string[]): Promise<boolean> {
    const known = [...this.#without].map((tip) => `^${objectId(tip)}`);
    const { stdout } = await this.#repository.git.run({
      args: ['rev-list', '--max-count=1', '--stdin'],
      gitDir: this.#repository.gitDir,
      stdin: [...tips.map(objectId), ...known, '--', ISLANDS, ''].join('\n'),
    });
    return stdout.byteLength > 0;
  }
}
