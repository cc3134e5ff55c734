/** Deleting and renaming branches. Nothing is lost: what a branch held can be read under its rescue references. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { CallError } from '@svc/contract/codes.ts';
import { deny, type Decision } from '@svc/contract/decision.ts';
import type { Once } from '@svc/runtime/idempotency.ts';
import { poolClient } from '@svc/runtime/transaction.ts';
import { guardWrite } from '../domain/lease.ts';
import { isInUseElsewhere } from '../git/worktree-links.ts';
import { branchRescue, countUnmerged, deletionMoves, moveWorktree } from '../git/branch-removal.ts';
import { prepareCommit } from '../git/commits.ts';
import { isNameTaken, moveRefs, readHead, type RefMove } from '../git/refs.ts';
import { branchRef } from '../git/run.ts';
import { worktreeName } from '../git/worktrees.ts';
import type { BranchWriter } from '../writer/branch-writer.ts';
import { type OpContext, writeSection } from '../writer/context.ts';
import { moveOnce } from '../writer/move-once.ts';
import type { MoveOutcome } from '../writer/move-record.ts';
import { openRename } from '../brain/branch-renames.ts';
import { attribution } from '../brain/commit-attempt.ts';
import { gatherEdits } from '../brain/commit-edits.ts';
import { hiddenSpellings } from '../brain/island-past.ts';
import { dropWorktree, isWorktreeHeld, type KeptWork, newRescue } from '../brain/drop-worktree.ts';
import { knownIn, NOTHING_KNOWN } from '../brain/move-files.ts';
import { COMMIT_REFUSALS, type CommitRefusal, type OpenBrain } from '../brain/open-brain.ts';
import { defineOperation, onBranch, once, type Served } from './operation.ts';

type Refusal = CommitRefusal | 'E_BRANCH_PROTECTED' | 'E_BRANCH_EXISTS';
type Answer<Value> = Once<Value, Refusal>;

const MAIN = 'main';

const BranchDeleted = z.strictObject({
  commit: z.string(),
  /** Reads as `rescue/<this>/branch`, and `work` when there were uncommitted files. */
  rescue: z.string(),
  uncommitted: z.number(),
  /** Commits that no other branch has. */
  unmerged: z.number(),
  /** Files that no commit takes are left in a directory that is set aside. */
  setAside: z.boolean(),
});
type BranchDeleted = z.output<typeof BranchDeleted>;

export const deleteBranch = defineOperation({
  name: 'deleteBranch',
  effect: 'write',
  needs: 'change',
  question: z.strictObject(onBranch),
  answer: once(BranchDeleted, [...COMMIT_REFUSALS, 'E_BRANCH_PROTECTED']),
  async run({ brain, context, rows }, { branch }) {
    const rescue = newRescue(brain.context);
    const answer = await withBranch<BranchDeleted>(brain, { context, branch }, async (writer, head) => {
      const saved = await saveWork(brain, context, writer, head);
      const known = writer === null ? NOTHING_KNOWN : knownIn(writer.tree.table);
      const kept = { commit: saved?.commit ?? head, id: rescue, known };
      const { repository } = brain.context;
      const without = await hiddenSpellings(brain.context.islands, rows);
      const unmerged = await countUnmerged(repository, { branch, head, without });
      const setAside = !(await isWorktreeHeld(repository, treeOf(brain, branch), kept));
      const moves = deletionMoves(branch, rescue, head, saved?.commit ?? null);
      const uncommitted = saved?.files.filter((file) => rows.mayRead(file)).length ?? 0;
      const outcome = await keyed<BranchDeleted>(brain, { context, writer }, moves, {
        moved: { ref: branchRescue(rescue), commit: head },
        value: { commit: head, rescue, uncommitted, unmerged, setAside },
        events: [{ name: 'branch:deleted', payload: { ...told(brain, context, branch), rescue } }],
        rows: { forget: branch },
      });
      if (outcome.decision.ok && !outcome.replayed) await endTree(brain, { branch, writer, kept });
      return outcome;
    });
    return answer as Once<BranchDeleted, CommitRefusal | 'E_BRANCH_PROTECTED'>;
  },
});

interface Ended {
  readonly branch: string;
  /** In whose queue that is; null = the branch had no working tree. */
  readonly writer: BranchWriter | null;
  readonly kept: KeptWork;
}

/** The branch is gone already; a directory that cannot be removed is no working tree any more and harms nobody. */
async function endTree(brain: OpenBrain, { branch, writer, kept }: Ended): Promise<void> {
  const { repository, platform, name } = brain.context;
  try {
    await letGo(brain, branch, writer);
    await dropWorktree(repository, treeOf(brain, branch), kept);
  } catch (error) {
    platform.log.error({ err: error, brain: name, branch }, 'a working tree could not be removed');
  }
}

/** Where it has no working tree it may be in the list of those all the same: its queue is not waited for in a turn. */
async function letGo(brain: OpenBrain, branch: string, writer: BranchWriter | null): Promise<void> {
  const { log } = brain.context.platform;
  const released = brain.trees.release(branch, writer);
  if (writer !== null) await released;
  else released.catch((error: unknown) => log.error({ err: error, branch }, 'a working tree could not be let go'));
}

function treeOf({ places }: OpenBrain, branch: string): string {
  return join(places.worktrees, worktreeName(branch));
}

function now({ context }: OpenBrain): Date {
  return new Date(context.platform.clock.now());
}

function told({ context: { name } }: OpenBrain, { actor }: OpContext, branch: string) {
  return { brain: name, branch, by: actor, resources: [`brain:${name}`] };
}

/** In the queue of the branch when it has a working tree, which is opened for it, and in the turn of the working trees. */
async function withBranch<Value>(
  brain: OpenBrain,
  { context, branch }: { readonly context: OpContext; readonly branch: string },
  work: (writer: BranchWriter | null, head: string) => Promise<Answer<Value>>,
): Promise<Answer<Value>> {
  const refused = (decision: Decision<Value, Refusal>): Answer<Value> => ({ decision, replayed: false });
  const { idempotency, platform, repository, treeTurn } = brain.context;
  const stored = await idempotency.find<Value, Refusal>(poolClient(platform.database.pool), context.idempotency);
  if (stored !== null) return { decision: stored, replayed: true };
  if (branch === MAIN) return refused(deny('E_BRANCH_PROTECTED', { branch }));
  await brain.followHandRenames();
  const own = treeOf(brain, branch);
  const inTurn = (writer: BranchWriter | null): Promise<Answer<Value> | null> =>
    treeTurn(async () => {
      const head = await readHead(repository, branch);
      if (head === null) return absent(brain, context, branch);
      if (isInUseElsewhere(repository, branch, own)) return refused(deny('E_BRAIN_DIVERTED', { branch }));
      return writer === null && existsSync(own) ? null : work(writer, head);
    });
  const answer = existsSync(own) ? null : await inTurn(null);
  if (answer !== null) return answer;
  const found = await brain.writer(branch);
  if (!found.ok) return refused(found);
  const writer = found.value;
  return writer.alone(context.deadlineAt, async () => {
    await writer.tree.look();
    await writer.tellNoticed('external', context.deadlineAt);
    await brain.headOf(branch);
    return (await inTurn(writer)) ?? absent(brain, context, branch);
  });
}

/** Kept under the key of the call, as every outcome is. */
function absent<Value>(brain: OpenBrain, context: OpContext, branch: string): Promise<Answer<Value>> {
  return writeSection(brain.context, context.deadlineAt, ({ transaction, lease, now: at }) =>
    brain.context.idempotency.once<Value, Refusal>(transaction, context.idempotency, async () => {
      const guarded = guardWrite(lease, context, at);
      return guarded.ok ? deny('E_BRANCH_ABSENT', { branch }) : guarded;
    }),
  );
}

interface SavedWork {
  readonly commit: string;
  readonly files: readonly string[];
}

/** What is uncommitted, in a commit that no branch names; null when nothing is. */
async function saveWork(
  brain: OpenBrain,
  context: OpContext,
  writer: BranchWriter | null,
  head: string,
): Promise<SavedWork | null> {
  const { repository } = brain.context;
  const files = writer?.tree.table.changes() ?? [];
  if (writer === null || files.length === 0) return null;
  const { branch } = writer.tree;
  const { edits, taken } = await gatherEdits(repository, writer.tree, files);
  const message = `uncommitted when ${branch} was deleted`;
  const wish = { branch, expectedHead: head, edits, message, ...attribution(brain, context) };
  const { commit, left } = await prepareCommit(repository, wish);
  const isLeft = new Set(left);
  return { commit, files: taken.flatMap(({ file, onDisk }) => (isLeft.has(onDisk) ? [] : [file])) };
}

function keyed<Value>(
  brain: OpenBrain,
  { context, writer }: { readonly context: OpContext; readonly writer: BranchWriter | null },
  moves: readonly RefMove[],
  outcome: MoveOutcome<Value>,
): Promise<Answer<Value>> {
  return moveOnce<Value, Refusal>(brain.context, context, async (section, intend) => {
    const guarded =
      writer === null ? guardWrite(section.lease, context, section.now) : await writer.guard(section, context);
    if (!guarded.ok) return guarded;
    await intend(outcome);
    return (await moveRefs(brain.context.repository, moves, now(brain))) ? null : deny('E_BUSY', { retryAfterMs: 0 });
  });
}

const Renamed = z.strictObject({ commit: z.string() });
type Renamed = z.output<typeof Renamed>;

const RenameQuestion = z.strictObject({ ...onBranch, to: z.string() });
type RenameQuestion = z.output<typeof RenameQuestion>;

/** The working tree goes along, with what is uncommitted in it; whoever asks for the new name meanwhile waits. */
export const renameBranch = defineOperation({
  name: 'renameBranch',
  effect: 'write',
  needs: 'change',
  question: RenameQuestion,
  answer: once(Renamed, [...COMMIT_REFUSALS, 'E_BRANCH_PROTECTED', 'E_BRANCH_EXISTS']),
  async run(served, question) {
    const { brain, context } = served;
    const { branch, to } = question;
    const { repository } = brain.context;
    return withBranch<Renamed>(brain, { context, branch }, async (writer, head) => {
      if (to === branch || (await isNameTaken(repository, to, branch))) {
        return { decision: deny('E_BRANCH_EXISTS', { name: to }), replayed: false };
      }
      const journal = await openRename(brain.context, { from: branch, to });
      const moved = Promise.withResolvers<boolean>();
      if (writer !== null) brain.trees.expect(to, moved.promise);
      try {
        const outcome = await renameRefs(served, question, writer, head).catch(async (error: unknown) => {
          // What has moved is finished by the next change, or when the brain opens again.
          if ((await readHead(repository, branch)) !== null) await journal.close();
          throw error;
        });
        const isDone = outcome.decision.ok && !outcome.replayed;
        if (isDone) await followBranch(brain, { from: branch, to, writer });
        await journal.close();
        moved.resolve(isDone);
        return outcome;
      } finally {
        moved.resolve(false); // of no effect when it is settled
      }
    });
  },
});

function renameRefs(
  { brain, context }: Served,
  { branch, to }: RenameQuestion,
  writer: BranchWriter | null,
  head: string,
): Promise<Answer<Renamed>> {
  const moves = [
    { ref: branchRef(branch), to: null, from: head },
    { ref: branchRef(to), to: head, from: null },
  ];
  return keyed<Renamed>(brain, { context, writer }, moves, {
    moved: { ref: branchRef(to), commit: head },
    value: { commit: head },
    events: [{ name: 'branch:renamed', payload: { ...told(brain, context, branch), to } }],
    rows: { rename: branch, to },
  });
}

/** Where that fails the journal stays, and the next opening of the brain does it. */
async function followBranch(
  brain: OpenBrain,
  { from, to, writer }: { readonly from: string; readonly to: string; readonly writer: BranchWriter | null },
): Promise<void> {
  const { repository, platform, name } = brain.context;
  try {
    await letGo(brain, from, writer);
    await moveWorktree(repository, brain.places.worktrees, { from, to });
  } catch (error) {
    platform.log.error({ err: error, brain: name, from, to }, 'a working tree could not follow its branch');
    throw new CallError('E_OUTCOME_UNKNOWN');
  }
}
