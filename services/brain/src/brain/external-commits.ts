/** A commit that a person made by hand is told like one of ours. */
import { withPgTransaction } from '@svc/runtime/transaction.ts';
import { readNewest } from '../git/commits.ts';
import { isOwnMove } from '../git/own-moves.ts';
import type { BrainContext } from '../writer/context.ts';
import { eventRulesOf, savedEvent } from './brain-events.ts';

interface HeadMove {
  readonly branch: string;
  readonly before: string;
  readonly after: string;
  /** Those that differ. */
  readonly files: readonly string[];
}

/** Tells of the newest commit that came to the branch by a move that is not ours; going back to an old one is none. */
export async function tellHandCommit(brain: BrainContext, { branch, before, after, files }: HeadMove): Promise<void> {
  const { repository, outbox, platform } = brain;
  if (isOwnMove(repository, after)) return;
  const newest = await readNewest(repository, { from: after, without: before });
  if (newest === null) return;
  const by = newest.author.name === '' ? 'unknown' : newest.author.name;
  const saved = savedEvent(brain, await eventRulesOf(brain), { branch, commit: after, by, files });
  await withPgTransaction(platform.database.pool, (transaction) => outbox.write(transaction, [saved]));
  outbox.kick();
}
