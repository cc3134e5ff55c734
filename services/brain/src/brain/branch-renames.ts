/** The record of a branch that gets another name while its working tree follows. */
import { withPgTransaction } from '@svc/runtime/transaction.ts';
import { type Journal, leftJournals, openJournal } from '../files/journal-file.ts';
import { moveWorktree } from '../git/branch-removal.ts';
import { readHead } from '../git/refs.ts';
import { isWhole, readWorktreeState } from '../git/worktree-state.ts';
import { listWorktrees } from '../git/worktrees.ts';
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

/**
 * A working tree of ours whose branch a person gave another name: git leaves it where it is, under the old one. Null when
 * there is none but those of the branches `except`.
 */
export async function leftByHand(
  { repository }: Pick<BrainContext, 'repository'>,
  { worktrees }: Pick<Places, 'worktrees'>,
  except: ReadonlySet<string>,
): Promise<Omit<RenameRecord, 'brain'> | null> {
  const trees = await listWorktrees(worktrees);
  for (const [from, dir] of trees) {
    if (except.has(from) || (await readHead(repository, from)) !== null || !(await isWhole(repository, dir))) continue;
    const state = await readWorktreeState(repository, dir);
    const to = state.unfinished === null ? state.branch : null;
    if (to !== null && !trees.has(to) && (await readHead(repository, to)) !== null) return { from, to };
  }
  return null;
}

/** The working tree follows, with all that is known of the branch. Nobody is at work on it any more. */
export async function followByHand(
  brain: BrainContext,
  places: Places,
  { from, to }: Omit<RenameRecord, 'brain'>,
): Promise<void> {
  const { repository, platform, name } = brain;
  const journal = await openRename(brain, places, { from, to });
  await moveWorktree(repository, places.worktrees, { from, to });
  await withPgTransaction(platform.database.pool, (transaction) => renameBranchRows(transaction, name, from, to));
  await journal.close();
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
