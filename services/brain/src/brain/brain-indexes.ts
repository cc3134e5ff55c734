/** The search indexes of one brain: their snapshots are a cache under `cache/` that may be deleted at any time. */
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { AnalysisCache } from '../search/analysis-cache.ts';
import { BranchIndex, type TextSource } from '../search/branch-index.ts';
import type { SnapshotPlace } from '../search/index-saver.ts';
import type { BrainContext } from '../writer/context.ts';

const EXTENSION = '.search';

type IndexContext = Pick<BrainContext, 'name' | 'rules' | 'indexes' | 'platform'>;

export class BrainIndexes {
  readonly #context: IndexContext;
  readonly #directory: string;
  readonly #cache = new AnalysisCache();

  constructor(context: IndexContext, directory: string) {
    this.#context = context;
    this.#directory = directory;
  }

  ofBranch(branch: string, source: TextSource): BranchIndex {
    const { name, rules } = this.#context;
    const file = join(this.#directory, snapshotName(branch));
    return this.#index(source, { file, hiding: () => rules.hiding(name) });
  }

  ofCommit(source: TextSource): BranchIndex {
    return this.#index(source, null);
  }

  #index(source: TextSource, snapshot: SnapshotPlace | null): BranchIndex {
    const { indexes, platform, name } = this.#context;
    return new BranchIndex({
      source,
      cache: this.#cache,
      memory: indexes,
      snapshot,
      onProblem: (error) => platform.log.warn({ err: error, brain: name }, 'a search index could not do all its work'),
    });
  }

  /** Removes the snapshot of a branch that is gone. */
  async drop(branch: string): Promise<void> {
    await rm(join(this.#directory, snapshotName(branch)), { force: true });
  }

  /** Removes the snapshots of all other branches. Never fails: they are only in the way. */
  async keepOnly(branches: Iterable<string>): Promise<void> {
    const kept = new Set(Array.from(branches, snapshotName));
    for (const name of await readdir(this.#directory).catch(() => [])) {
      if (!kept.has(name)) await rm(join(this.#directory, name), { force: true, recursive: true }).catch(() => {});
    }
  }
}

/** Distinct names for distinct branches, which may hold slashes. */
function snapshotName(branch: string): string {
  return `${encodeURIComponent(branch)}${EXTENSION}`;
}
