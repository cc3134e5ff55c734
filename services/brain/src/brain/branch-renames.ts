/** The record of a branch that gets another name while its working tree follows. */
import { withPgTransaction } from '@svc/runtime/transaction.ts';
import { type Journal, leftJournals, openJournal } from '../files/journal-file.ts';
import { moveWorktree } from '../git/branch-removal.ts';
import { readHead } from '../git/refs.ts';
import { renameBranchRows } from '../store/branch-rows.ts';
import type { BrainContext } from '../writer/context.ts';

interface RenameRecord {
  readonly brain: string;
  readonly from: string;
  readonly to: string;
}

interface Places {
  readonly journal: string;
  readonly worktrees: string;
}

export function openRename(
  { name, platform }: BrainContext,
  places: Places,
  { from, to }: Omit<RenameRecord, 'brain'>,
): Promise<Journal> {
  const record: RenameRecord = { brain: name, from, to };
  return openJournal(places.journal, `${name}.${platform.ids.next('ren')}`, record);
}

/** Finishes what a killed process left, before any working tree is opened. */
export async function finishRenames({ repository, name, platform }: BrainContext, places: Places): Promise<void> {
  for (const { record: left, journal } of await leftJournals(places.journal, `${name}.ren_`)) {
    const { brain, from, to } = left as RenameRecord;
    if (brain !== name) continue; // a brain whose name goes on where ours ends
    const isRenamed = (await readHead(repository, to)) !== null && (await readHead(repository, from)) === null;
    if (isRenamed) {
      await moveWorktree(repository, places.worktrees, { from, to });
      await withPgTransaction(platform.database.pool, (transaction) => renameBranchRows(transaction, name, from, to));
    }
    await journal.close();
  }
}
