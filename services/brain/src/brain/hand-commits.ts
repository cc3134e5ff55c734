/** A commit that a person made by hand is told like one of ours. */
import { withPgTransaction } from '@svc/runtime/transaction.ts';
import { readLog } from '../git/commits.ts';
import { isOwnMove } from '../git/own-moves.ts';
import type { BrainContext } from '../writer/context.ts';

export interface HeadMove {
  readonly branch: string;
  readonly before: string;
  readonly after: string;
  /** How many files differ. */
  readonly files: number;
}

/** Tells of the newest commit that came to the branch by a move that is not ours; going back to an old one is none. */
export async function tellHandCommit(brain: BrainContext, { branch, before, after, files }: HeadMove): Promise<void> {
  const { repository, outbox, platform, name } = brain;
  if (isOwnMove(repository, after)) return;
  const [newest] = await readLog(repository, { from: after, without: before, limit: 1 });
  if (newest === undefined) return;
  const by = newest.author.name === '' ? 'unknown' : newest.author.name;
  const payload = { brain: name, branch, commit: after, files, by, resources: [`brain:${name}`] };
  await withPgTransaction(platform.database.pool, (transaction) =>
    outbox.write(transaction, [{ name: 'brain:save', payload }]),
  );
  outbox.kick();
}
