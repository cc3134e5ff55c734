/** The record of a branch that gets another name while its working tree follows. */
import { type Journal, leftJournals, openJournal } from '../files/journal-file.ts';
import { moveWorktree } from '../git/branch-removal.ts';
import { hasBranch, readHead } from '../git/refs.ts';
import { branchRef } from '../git/run.ts';
import { isWhole, readWorktreeState } from '../git/worktree-state.ts';
import { listWorktrees } from '../git/worktrees.ts';
import type { BrainContext } from '../writer/context.ts';
import { moveOnce } from '../writer/move-once.ts';
import { AFTERWARDS_MS } from '../writer/move-record.ts';

interface RenameRecord {
  readonly brain: string;
  readonly from: string;
  readonly to: string;
}

interface Places {
  readonly worktrees: string;
}

export function openRename(
  { name, platform, journalDir }: BrainContext,
  { from, to }: Omit<RenameRecord, 'brain'>,
): Promise<Journal> {
  const record: RenameRecord = { brain: name, from, to };
  return openJournal(journalDir, `${name}.${platform.ids.next('ren')}`, record);
}

/** A working tree of ours whose branch a person gave another name: git leaves it where it is, under the old one. */
export async function leftByHand(
  { repository }: Pick<BrainContext, 'repository'>,
  { worktrees }: Places,
): Promise<Omit<RenameRecord, 'brain'> | null> {
  const trees = await listWorktrees(worktrees);
  for (const [from, dir] of trees) {
    if ((await hasBranch(repository, from)) || !(await isWhole(repository, dir))) continue;
    const state = await readWorktreeState(repository, dir);
    const to = state.unfinished === null ? state.branch : null;
    if (to !== null && !trees.has(to) && (await hasBranch(repository, to))) return { from, to };
  }
  return null;
}

/** The working tree follows, with all that is known of the branch. Nobody is at work on it any more. */
export async function followByHand(
  brain: BrainContext,
  places: Places,
  { from, to }: Omit<RenameRecord, 'brain'>,
): Promise<void> {
  const { repository, platform } = brain;
  const journal = await openRename(brain, { from, to });
  const nobody = { idempotency: null, session: '', deadlineAt: platform.clock.now() + AFTERWARDS_MS };
  await moveOnce<null, never>(brain, nobody, async (_section, intend) => {
    const moved = { ref: branchRef(to), commit: (await readHead(repository, to)) ?? '' };
    await intend({ moved, value: null, events: [], rows: { rename: from, to } });
    await moveWorktree(repository, places.worktrees, { from, to });
    return null;
  });
  await journal.close();
}

interface LeftRename extends Omit<RenameRecord, 'brain'> {
  readonly journal: Journal;
}

/** Branches that have another name while their working trees and the rest wait for `finishRename`; others are forgotten. */
export async function leftRenames({ repository, name, journalDir }: BrainContext): Promise<LeftRename[]> {
  const renamed: LeftRename[] = [];
  for (const { record: left, journal } of await leftJournals(journalDir, `${name}.ren_`)) {
    const { brain, from, to } = left as RenameRecord;
    if (brain !== name) continue; // a brain whose name goes on where ours ends
    if ((await hasBranch(repository, to)) && !(await hasBranch(repository, from))) renamed.push({ from, to, journal });
    else await journal.close();
  }
  return renamed;
}

/** The working tree follows, in which nobody is at work any more; the rows have followed already. */
export async function finishRename(
  { repository }: BrainContext,
  { worktrees }: Places,
  { from, to, journal }: LeftRename,
): Promise<void> {
  await moveWorktree(repository, worktrees, { from, to });
  await journal.close();
}
