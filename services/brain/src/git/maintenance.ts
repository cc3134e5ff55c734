/**
 * Housekeeping of a repository, beside its writers: git's own packing leaves alone what is written meanwhile, and takes
 * away nothing that was touched within two weeks.
 */
import { join } from 'node:path';
import { namesIn } from '../files/fsync.ts';
import { withJournal } from './journal.ts';
import { type Repository, RepositoryProblem } from './repository.ts';
import { layoutProblem } from './repository-layout.ts';

/** Objects that lie in files of their own, and packs. */
interface ObjectCount {
  readonly loose: number;
  readonly packs: number;
}

/** From here on a repository is packed. */
const PACKING_DUE: ObjectCount = { loose: 2_000, packs: 24 };

const TIME_LIMIT_MS = 30 * 60_000;

/** What one may do at a time, so that the machine has room for others; packs must be durable down to their indexes. */
const MODEST = ['core.fsync=all', 'pack.threads=1', 'pack.windowMemory=64m', 'pack.deltaCacheSize=32m'];

const PACK_NEW: readonly string[] = ['repack', '-d', '-l', '-q'];
const PACK_ALL: readonly string[] = ['repack', '-a', '-d', '-l', '-q', '--cruft', '--cruft-expiration=2.weeks.ago'];
const DAILY: readonly (readonly string[])[] = [
  ['pack-refs', '--all', '--prune'],
  PACK_ALL,
  ['prune', '--expire=2.weeks.ago'],
  ['worktree', 'prune'],
];

/** Packs objects and references; drops unreachable objects older than two weeks. Throws GitError, RepositoryProblem. */
export async function maintainRepository(repository: Repository): Promise<void> {
  for (const args of DAILY) await runModestly(repository, args);
}

/**
 * Packs what lies loose when `due` is reached, everything anew when there are many packs; answers whether it did. What
 * nobody names stays loose and is not counted again until as much came to it. Throws GitError,
 * RepositoryProblem.
 */
export async function packWhenDue(repository: Repository, due: ObjectCount = PACKING_DUE): Promise<boolean> {
  const before = await countObjects(repository);
  const isLooseDue = before.loose - (keptLoose.get(repository) ?? 0) > due.loose;
  const isAllDue = before.packs > due.packs;
  if (!isLooseDue && !isAllDue) return false;
  await runModestly(repository, isAllDue ? PACK_ALL : PACK_NEW);
  keptLoose.set(repository, (await countObjects(repository)).loose);
  return true;
}

/** Loose objects that the last packing left, because nothing names them. */
const keptLoose = new WeakMap<Repository, number>();

export async function countObjects(repository: Repository): Promise<ObjectCount> {
  const objectsDir = join(repository.gitDir, 'objects');
  let loose = 0;
  for (const dir of await namesIn(objectsDir)) {
    if (/^[0-9a-f]{2}$/.test(dir)) loose += (await namesIn(join(objectsDir, dir))).length;
  }
  const packs = (await namesIn(join(objectsDir, 'pack'))).filter((name) => name.endsWith('.pack')).length;
  return { loose, packs };
}

async function runModestly(repository: Repository, args: readonly string[]): Promise<void> {
  // since the repository was opened, somebody may have linked in what others keep, or put a pipe there
  const odd = await layoutProblem(repository.gitDir);
  if (odd !== null) throw new RepositoryProblem('damaged', odd);
  await withJournal(repository, [], () =>
    repository.git.run({ args, gitDir: repository.gitDir, config: MODEST, timeoutMs: TIME_LIMIT_MS }),
  );
}
