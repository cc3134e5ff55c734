/**
 * Branches that point to no commit: their object is not there, or cannot be read, or is something else. A person's git
 * leaves them so, or a power cut in the midst of one. What is asked of such a branch says so; all others go on.
 */
import type { Repository } from './repository.ts';
import { objectId } from './run.ts';

export class BrokenBranch extends Error {
  constructor(branch: string) {
    super(`the branch ${branch} points to no commit that is there`);
    this.name = 'BrokenBranch';
  }
}

/** Commits that were seen there, or made. */
const known = new WeakMap<Repository, Set<string>>();
const KEPT_IDS = 10_000;

export function noteCommit(repository: Repository, oid: string): void {
  const ids = known.get(repository) ?? new Set();
  if (ids.size >= KEPT_IDS) ids.clear();
  known.set(repository, ids.add(oid));
}

/** False = whether it is there has to be looked up. */
export function isKnownCommit(repository: Repository, oid: string): boolean {
  return known.get(repository)?.has(oid) === true;
}

/** Objects of the repository may have gone. */
export function forgetCommits(repository: Repository): void {
  known.delete(repository);
}

/** Those of the objects that are commits of the repository. Costs a process only for what is not known. Throws GitError. */
export async function commitsAmong(repository: Repository, oids: Iterable<string>): Promise<Set<string>> {
  const found = new Set(oids);
  const unknown = [...found].filter((oid) => !isKnownCommit(repository, oid));
  if (unknown.length === 0) return found;
  const { stdout } = await repository.git.run({
    args: ['cat-file', '--batch-check=%(objecttype)'],
    gitDir: repository.gitDir,
    stdin: unknown.map((oid) => `${objectId(oid)}\n`).join(''),
  });
  const types = stdout.toString('latin1').split('\n');
  for (const [index, oid] of unknown.entries()) {
    if (types[index] === 'commit') noteCommit(repository, oid);
    else found.delete(oid);
  }
  return found;
}
