/** Scheduled housekeeping, run in the branch queues and never inside a call. */
import { withJournal } from './journal.ts';
import type { Repository } from './repository.ts';

const TASKS: readonly (readonly string[])[] = [
  ['pack-refs', '--all', '--prune'],
  ['repack', '-a', '-d', '-l', '-q', '--cruft', '--cruft-expiration=2.weeks.ago'],
  ['prune', '--expire=2.weeks.ago'],
  ['worktree', 'prune'],
];

/** Packs objects and references; drops unreachable objects older than two weeks. Throws GitError. */
export async function maintainRepository(repository: Repository): Promise<void> {
  for (const args of TASKS) {
    await withJournal(repository, [], () =>
      repository.git.run({
        args,
        gitDir: repository.gitDir,
        // packs replace durable loose objects, so their indexes must be durable too
        config: ['core.fsync=all'],
        timeoutMs: 30 * 60_000,
      }),
    );
  }
}
