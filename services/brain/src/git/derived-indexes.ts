/** What git derives from objects to find its way faster. Where that is torn git may read a wrong history; without it, it reads all. */
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Repository } from './repository.ts';

interface DerivedIndex {
  /** The command of git that judges it. */
  readonly name: string;
  /** Below the git directory. */
  readonly files: readonly string[];
}

const DERIVED: readonly DerivedIndex[] = [
  { name: 'commit-graph', files: ['objects/info/commit-graph', 'objects/info/commit-graphs'] },
  { name: 'multi-pack-index', files: ['objects/pack/multi-pack-index'] },
];

const VERIFY_WITHIN_MS = 600_000;
/** Sound; not; not even read. */
const VERDICTS = [0, 1, 128, 255];

/** Those that git does not find sound go; it makes them anew when it packs. Answers the names of those that went. */
export async function removeTornIndexes(repository: Repository): Promise<string[]> {
  const torn: string[] = [];
  for (const { name, files } of DERIVED) {
    const paths = files.map((file) => join(repository.gitDir, file));
    if (!paths.some((path) => existsSync(path)) || (await isSound(repository, name))) continue;
    for (const path of paths) await rm(path, { recursive: true, force: true });
    torn.push(name);
  }
  return torn;
}

async function isSound({ git, gitDir }: Repository, name: string): Promise<boolean> {
  const { exitCode } = await git.run({
    args: [name, 'verify'],
    gitDir,
    timeoutMs: VERIFY_WITHIN_MS,
    answers: VERDICTS,
  });
  return exitCode === 0;
}
