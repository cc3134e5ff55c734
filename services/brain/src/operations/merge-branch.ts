/** Merging another branch, or any commit, into a branch of the same brain. */
import { z } from 'zod';
import { allow, deny } from '@svc/contract/decision.ts';
import type { Once } from '@svc/runtime/idempotency.ts';
import type { NewEvent } from '@svc/runtime/outbox.ts';
import { poolClient } from '@svc/runtime/transaction.ts';
import { findMergeBase } from '../git/integration.ts';
import { resolveReading } from '../git/refs.ts';
import { isObjectId } from '../git/run.ts';
import { isCheckedOut } from '../git/worktrees.ts';
import type { EventRules, RowView } from '../ports.ts';
import { eventRulesOf, toldCommit } from '../brain/brain-events.ts';
import type { BranchWriter } from '../writer/branch-writer.ts';
import { commitBranch } from './commit.ts';
import { integrateOnce, planIntegration } from '../brain/integrate.ts';
import { FileCounts, type Pulled, ShownConflict, shownConflict } from '../brain/pulled.ts';
import { COMMIT_REFUSALS, type CommitRefusal, type OpenBrain } from '../brain/open-brain.ts';
import { dirtyCount } from './branches.ts';
import { defineOperation, list, onBranch, once, type Served, unkeyed } from './operation.ts';

const BranchMerge = z.strictObject({
  status: z.string(),
  before: z.string(),
  /** Null of a forecast. */
  after: z.string().nullable(),
  files: FileCounts,
  /** Their ids are null in a forecast. */
  conflicts: list(ShownConflict.extend({ id: z.string().nullable() })),
  rescue: z.string().nullable(),
  /** Files that were uncommitted before. */
  committed: z.number(),
  /** Of a forecast: files that would be committed first. */
  uncommitted: z.number(),
  /** Files that stay uncommitted on the branch that was merged. */
  uncommittedLeft: z.number(),
});
type BranchMerge = z.output<typeof BranchMerge>;
type Answer = Once<BranchMerge, CommitRefusal | 'E_REF_ABSENT'>;

/** Each after a commit of what somebody wrote in between. */
const INTEGRATIONS = 5;

const MergeQuestion = z.strictObject({
  ...onBranch,
  from: z.string(),
  message: z.string().nullable(),
  dryRun: z.boolean(),
});
type MergeQuestion = z.output<typeof MergeQuestion>;

export const mergeBranch = defineOperation({
  name: 'mergeBranch',
  effect: 'write',
  needs: 'change',
  question: MergeQuestion,
  answer: once(BranchMerge, [...COMMIT_REFUSALS, 'E_REF_ABSENT']),
  async run({ brain, context, rows }, op) {
    const { idempotency, platform, repository } = brain.context;
    const { idempotency: scope } = context;
    const stored = await idempotency.find<BranchMerge, CommitRefusal>(poolClient(platform.database.pool), scope);
    if (stored !== null) return { decision: stored, replayed: true };
    const found = await brain.writer(op.branch);
    if (!found.ok) return unkeyed(found);
    const theirs = await resolveReading(repository, op.from, await brain.namesFor(rows));
    if (theirs === null) return unkeyed(deny('E_REF_ABSENT', { from: op.from }));
    const merge = { brain, context, writer: found.value, op, rows, theirs };
    return op.dryRun ? unkeyed(allow(await forecast(merge))) : carryOut(merge);
  },
});

interface Merge extends Pick<Served, 'brain' | 'context' | 'rows'> {
  readonly writer: BranchWriter;
  readonly op: MergeQuestion;
  readonly theirs: string;
}

/** Of the commits as they are; nothing but unreachable objects is written. */
async function forecast({ brain, context, writer, op, rows, theirs }: Merge): Promise<BranchMerge> {
  const ours = await brain.presentHead(op.branch);
  const wish = { context, theirs, source: op.from };
  const { status, conflicts, moves } = await planIntegration(brain, op.branch, wish, ours);
  const shown = moves.filter(({ path, isForeign }) => !isForeign && rows.mayRead(path));
  const added = shown.filter(({ path, to, from }) => from === null && to !== null && isCheckedOut(path, to)).length;
  const deleted = shown.filter(({ to }) => to === null).length;
  return {
    status,
    before: ours,
    after: null,
    files: { added, deleted, updated: shown.length - added - deleted },
    conflicts: conflicts
      .filter(({ file }) => rows.mayRead(file))
      .map((conflict) => ({ ...shownConflict({ id: '', ...conflict }, rows), id: null })),
    rescue: null,
    committed: 0,
    uncommitted: dirtyCount(writer, rows),
    uncommittedLeft: await leftBehind(brain, op, rows),
  };
}

/** What is uncommitted on the branch that is merged stays there. */
async function leftBehind(brain: OpenBrain, { from, branch }: MergeQuestion, rows: RowView): Promise<number> {
  const source = from === branch ? undefined : (await brain.trees.all()).get(from);
  return source === undefined ? 0 : dirtyCount(source, rows);
}

async function carryOut({ brain, context, writer, op, rows, theirs }: Merge): Promise<Answer> {
  const { branch, from, message } = op;
  const told = await eventRulesOf(brain.context);
  let committed = 0;
  for (let round = 0; round < INTEGRATIONS; round += 1) {
    const ours = await brain.presentHead(branch);
    if ((await findMergeBase(brain.context.repository, ours, theirs)) !== theirs) {
      const { decision } = await commitBranch(brain, writer, {
        context: { ...context, idempotency: null },
        message: `uncommitted before merging ${from}`,
        only: null,
        rows,
      });
      if (!decision.ok) return unkeyed(decision);
      committed += decision.value.count;
    }
    const uncommittedLeft = await leftBehind(brain, op, rows);
    const answer = await integrateOnce(brain, writer, {
      context,
      theirs,
      source: from,
      message: message ?? undefined,
      rows,
      cause: 'merge',
      tell: (pulled) => mergedEvents(brain, told, { branch, from, by: context.actor }, pulled),
      answer: (pulled) => ({ ...mergeOf(pulled), committed, uncommitted: 0, uncommittedLeft }),
    });
    if (answer !== null) return answer;
  }
  return unkeyed(deny('E_BUSY', { retryAfterMs: 1000 }));
}

function mergeOf({ pulled, ...rest }: Pulled): Pick<BranchMerge, (keyof Pulled & keyof BranchMerge) | 'files'> {
  return { ...rest, files: pulled };
}

function mergedEvents(
  { context: brain }: OpenBrain,
  told: EventRules,
  { branch, from, by }: { readonly branch: string; readonly from: string; readonly by: string },
  { after, status }: Pulled,
): NewEvent[] {
  const resources = [`brain:${brain.name}`];
  const payload = {
    brain: brain.name,
    branch,
    from: isObjectId(from) ? toldCommit(brain, told, from) : from,
    commit: toldCommit(brain, told, after),
    status,
    by,
    resources,
  };
  return [{ name: 'branch:merged', payload }];
}
