/**
 * Applies a plan of integration to a branch and its working tree. A journal file names both commits; moving the branch
 * decides; the files follow, at once or, after a crash, when the brain opens again. What of a person's is in the way
 * stays, and is a conflict.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { poolClient, withPgTransaction } from '@svc/runtime/transaction.ts';
import { describeOnDisk, readLarge, statEntry } from '../files/file-entry.ts';
import { type Journal, leftJournals, openJournal } from '../files/journal-file.ts';
import type { Worktree } from '../files/worktree.ts';
import type { Conflict } from '../domain/merge/tree.ts';
import { findMergeBase, type IntegrationPlan, rescueMoves } from '../git/integration.ts';
import { readTree } from '../git/objects.ts';
import { moveRefs, readHead, readRef, type RefMove } from '../git/refs.ts';
import { GitError } from '../git/run.ts';
import type { Stage } from '../git/stage.ts';
import type { FileMove } from '../git/tree-merge.ts';
import type { LockedIndex } from '../git/index-lock.ts';
import { adoptCommit, editsToward } from '../git/worktree-index.ts';
import { type NewConflict, writeConflicts } from '../store/sync-store.ts';
import type { BranchWriter } from '../writer/branch-writer.ts';
import type { BrainContext } from '../writer/context.ts';
import { type MovedFiles, knownIn, moveFiles, stageMoves, NOTHING_KNOWN } from './move-files.ts';

interface JournalRecord {
  readonly brain: string;
  readonly branch: string;
  readonly before: string;
  readonly after: string;
  /** The other line of history, for the rescue references. */
  readonly theirs: string;
  readonly rescue: string;
  readonly moves: readonly FileMove[];
  readonly foreign: readonly string[];
  readonly conflicts: readonly NewConflict[];
}

export interface PlanToApply {
  readonly plan: IntegrationPlan;
  readonly stage: Stage;
  readonly conflicts: readonly NewConflict[];
  /** Of the working tree, held by the caller: nobody sees the new head with the old index. */
  readonly index: LockedIndex;
}

/** The branch is where it goes; its files are not yet. */
export interface BegunPlan extends PlanToApply {
  readonly record: JournalRecord;
  readonly journal: Journal;
}

export interface Applied extends MovedFiles {
  /** Of the plan, and of what was in the way. */
  readonly conflicts: readonly NewConflict[];
  readonly rescue: string | null;
}

/** Null when the branch is elsewhere by now, and nothing changed. */
export async function beginPlan(brain: BrainContext, tree: Worktree, wish: PlanToApply): Promise<BegunPlan | null> {
  const { plan, conflicts, index } = wish;
  const { before, after, theirs, rescueId, moves, foreign } = plan;
  const { branch } = tree;
  const record = { brain: brain.name, branch, before, after, theirs, rescue: rescueId, moves, foreign, conflicts };
  const edits = await editsToward(brain.repository, tree.root, { before, commit: after, absent: foreign });
  const journal = await openJournal(brain.journalDir, `${brain.name}.${brain.platform.ids.next('jrn')}`, record);
  if (await moveBranch(brain, plan, edits, index)) return { ...wish, record, journal };
  await journal.close();
  return null;
}

const FILES_PER_PIECE = 256;

/**
 * Piece by piece, so that writes of other files and reads need not wait for all of it. Throws DiskRefusal when the disk
 * refused: the branch, the index and every file that nobody changed since are as before then.
 */
export async function followPlan(brain: BrainContext, writer: BranchWriter, begun: BegunPlan): Promise<Applied> {
  const { tree } = writer;
  const { record, stage } = begun;
  // Removals first: a file may take the place of a directory, or a directory that of a file.
  const moves = [...record.moves].sort((a, b) => Number(a.to !== null) - Number(b.to !== null));
  const known = knownIn(tree.table);
  const now = (): number => brain.platform.clock.now();
  const pieces: Piece[] = [];
  try {
    for (let start = 0; start < moves.length; start += FILES_PER_PIECE) {
      const piece = moves.slice(start, start + FILES_PER_PIECE);
      const paths = piece.map(({ path }) => tree.table.pathOf(path));
      await writer.whileChanging(paths, async () => {
        const moved = await moveFiles({ root: tree.root, known }, stage, piece);
        pieces.push(moved);
        await takeIn(tree, moved.placed, now());
      });
      await writer.letWritesPass();
      const done = start + piece.length;
      if (done % FILES_PER_NOTE === 0 && done < moves.length)
        await tellProgress(brain, tree.branch, done, moves.length);
    }
  } catch (error) {
    for (const piece of pieces.toReversed()) {
      await piece.undo();
      await takeIn(tree, piece.placed, now());
    }
    await moveRefs(brain.repository, begun.plan.refs.flatMap(backwards), new Date(now()));
    begun.index.restore();
    await begun.journal.close();
    throw error;
  }
  const settled = await settle(brain, record, pieces);
  // What was put back after all is looked at again.
  await takeIn(tree, settled.kept, now());
  return settled;
}

/** So many files are worth telling of. */
const FILES_PER_NOTE = 8 * FILES_PER_PIECE;

/** Losing it loses nothing. How much there is would tell something of what some may not read. */
async function tellProgress(
  { name, outbox, platform, rules }: BrainContext,
  branch: string,
  done: number,
  total: number,
): Promise<void> {
  const payload = { brain: name, branch, what: 'merge' as const, done, total, resources: [`brain:${name}`] };
  try {
    if (!(await rules.eventRules(name)).isUnruled) return;
    await withPgTransaction(platform.database.pool, (transaction) =>
      outbox.write(transaction, [{ name: 'brain:progress', payload }]),
    );
    outbox.kick();
  } catch (error) {
    platform.log.warn({ err: error, brain: name }, 'the progress of a merge could not be told');
  }
}

type Piece = Awaited<ReturnType<typeof moveFiles>>;

/** The index first. False when the branch is elsewhere; then, and when it throws, nothing changed. */
async function moveBranch(
  { repository, platform }: BrainContext,
  { refs, before }: IntegrationPlan,
  edits: Awaited<ReturnType<typeof editsToward>>,
  index: LockedIndex,
): Promise<boolean> {
  let isMoved = false;
  try {
    await index.edit(edits, before);
    isMoved = await moveRefs(repository, refs, new Date(platform.clock.now()));
  } finally {
    if (!isMoved) index.restore();
  }
  return isMoved;
}

function backwards({ ref, to, from }: RefMove): RefMove[] {
  return to === null || from === null ? [] : [{ ref, to: from, from: to }];
}

/** The branch and its files stand, whatever becomes of the index: the next commit brings it along. */
async function followIndex(
  { repository, platform, name }: BrainContext,
  root: string,
  { before, after, foreign }: Pick<JournalRecord, 'before' | 'after' | 'foreign'>,
): Promise<void> {
  try {
    await adoptCommit(repository, root, after, foreign, before);
  } catch (error) {
    if (!(error instanceof GitError)) throw error;
    platform.log.error({ err: error, brain: name }, 'the index could not follow its branch');
  }
}

/** What was in the way becomes conflicts, both tips under a rescue reference. */
async function settle(brain: BrainContext, record: JournalRecord, pieces: readonly Piece[]): Promise<Applied> {
  const late = new Set<string>();
  for (const piece of pieces) for (const path of await piece.settle()) late.add(path);
  const all = pieces.flatMap(({ placed }) => placed);
  const kept = [...pieces.flatMap((piece) => piece.kept), ...all.filter(({ path }) => late.has(path))];
  if (kept.length > 0) await rescueTips(brain, record);
  const added = kept.map((move) => ({ id: brain.platform.ids.next('cfl'), ...inTheWay(move) }));
  const conflicts = [...record.conflicts, ...added];
  const placed = all.filter(({ path }) => !late.has(path));
  return { placed, kept, conflicts, rescue: conflicts.length === 0 ? null : record.rescue };
}

function inTheWay({ path, from, to }: FileMove): Conflict {
  const ours = from?.oid ?? null;
  return { file: path.normalize('NFC'), kind: 'in-the-way', base: ours, ours, theirs: to?.oid ?? null };
}

async function rescueTips(
  { repository, platform }: BrainContext,
  { before, theirs, rescue }: Pick<JournalRecord, 'before' | 'theirs' | 'rescue'>,
): Promise<void> {
  const missing = [];
  for (const move of rescueMoves(rescue, before, theirs)) {
    if ((await readRef(repository, move.ref)) === null) missing.push(move);
  }
  if (missing.length > 0) await moveRefs(repository, missing, new Date(platform.clock.now()));
}

const FILES_PER_TURN = 32;

/** What is in place is taken in as our own doing: it is no news. */
async function takeIn(tree: Worktree, placed: readonly FileMove[], now: number): Promise<void> {
  for (const [index, { path: onDisk }] of placed.entries()) {
    const path = tree.table.pathOf(onDisk);
    const stat = statEntry(tree.root, onDisk);
    const described = stat === null ? null : describeOnDisk({ root: tree.root, path, onDisk }, stat, now);
    const isUnread = described?.entry.kind === 'large' && described.entry.hash === '';
    const entry = isUnread ? await readLarge(tree.root, described.entry) : (described?.entry ?? null);
    tree.accept(path, entry === null || described === null ? null : { ...described, entry });
    if (index % FILES_PER_TURN === 0) await nextTurn();
  }
}

/**
 * Finishes what a killed process left: the working tree follows where its branch went. Before anything looks at the
 * files. `rootOf` answers the working tree of a branch, null when there is none any more.
 */
export async function finishApply(
  brain: BrainContext,
  rootOf: (branch: string) => Promise<string | null>,
): Promise<void> {
  for (const { record: left, journal } of await leftJournals(brain.journalDir, `${brain.name}.jrn_`)) {
    const record = left as JournalRecord;
    if (record.brain !== brain.name) continue; // a brain whose name goes on where ours ends
    const root = await rootOf(record.branch);
    const moves = root === null ? null : await movesStillDue(brain, record);
    if (root !== null && (await readHead(brain.repository, record.branch)) === record.before) {
      // killed between index and branch
      await followIndex(brain, root, { ...record, before: record.after, after: record.before });
    }
    if (root !== null && moves !== null) {
      await using stage = await stageMoves(brain.repository, moves.due);
      const moved = await moveFiles({ root, known: NOTHING_KNOWN }, stage, moves.due);
      if (moves.isAtTip && record.after !== record.before) await followIndex(brain, root, record);
      const { conflicts, rescue } = await settle(brain, record, [moved]);
      await writeConflicts(poolClient(brain.platform.database.pool), brain.name, record.branch, rescue, conflicts);
    }
    await journal.close();
  }
}

/**
 * Null when the branch never got there. Where somebody has committed since, what that commit left as it was is due; the
 * index is that of whoever made it.
 */
async function movesStillDue(
  { repository }: BrainContext,
  { branch, after, moves }: JournalRecord,
): Promise<{ readonly due: readonly FileMove[]; readonly isAtTip: boolean } | null> {
  const head = await readHead(repository, branch);
  if (head === after) return { due: moves, isAtTip: true };
  if (head === null || (await findMergeBase(repository, head, after)) !== after) return null;
  const tree = await readTree(repository, head);
  return { due: moves.filter(({ path, to }) => tree.get(path)?.oid === to?.oid), isAtTip: false };
}
