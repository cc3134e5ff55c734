/** Merging another branch, or any commit, into a branch of the same brain. */
import { allow, deny } from '@svc/contract/decision.ts';
import type { Once } from '@svc/runtime/idempotency.ts';
import type { NewEvent } from '@svc/runtime/outbox.ts';
import { poolClient } from '@svc/runtime/transaction.ts';
import { findMergeBase } from '../git/integration.ts';
import { resolveReading } from '../git/refs.ts';
import { isObjectId } from '../git/run.ts';
import { isCheckedOut } from '../git/worktrees.ts';
import type { EventRules, RowView } from '../ports.ts';
import { eventRulesOf, toldCommit } from './brain-events.ts';
import type { BranchWriter } from '../writer/branch-writer.ts';
import { commitBranch } from './commit.ts';
import { integrateOnce, type Pulled, planIntegration, shownConflict } from './integrate.ts';
import type { BranchMerge } from './branch-results.ts';
import type { OpenBrain } from './open-brain.ts';
import type { BrainOps, CommitRefusal } from './ops.ts';
import { dirtyCount } from './summary.ts';

type MergeOp = Parameters<BrainOps['mergeBranch']>[0];
type Answer = Once<BranchMerge, CommitRefusal | 'E_REF_ABSENT'>;

/** Each after a commit of what somebody wrote in between. */
const INTEGRATIONS = 5;

export async function mergeBranch(brain: OpenBrain, op: MergeOp, rows: RowView): Promise<Answer> {
  const { idempotency, platform, repository } = brain.context;
  const { idempotency: scope } = op.context;
  const stored = await idempotency.find<BranchMerge, CommitRefusal>(poolClient(platform.database.pool), scope);
  if (stored !== null) return { decision: stored, replayed: true };
  const found = await brain.writer(op.branch);
  if (!found.ok) return { decision: found, replayed: false };
  const theirs = await resolveReading(repository, op.from, await brain.namesFor(rows));
  if (theirs === null) return { decision: deny('E_REF_ABSENT', { from: op.from }), replayed: false };
  const merge = { brain, writer: found.value, op, rows, theirs };
  return op.dryRun ? { decision: allow(await forecast(merge)), replayed: false } : carryOut(merge);
}

interface Merge {
  readonly brain: OpenBrain;
  readonly writer: BranchWriter;
  readonly op: MergeOp;
  readonly rows: RowView;
  readonly theirs: string;
}

/** Of the commits as they are; nothing but unreachable objects is written. */
async function forecast({ brain, writer, op, rows, theirs }: Merge): Promise<BranchMerge> {
  const ours = await brain.headOf(op.branch);
  const wish = { context: op.context, theirs, source: op.from };
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
async function leftBehind(brain: OpenBrain, { from, branch }: MergeOp, rows: RowView): Promise<number> {
  const source = from === branch ? undefined : (await brain.openTrees()).get(from);
  return source === undefined ? 0 : dirtyCount(source, rows);
}

async function carryOut({ brain, writer, op, rows, theirs }: Merge): Promise<Answer> {
  const { context, branch, from, message } = op;
  const told = await eventRulesOf(brain.context);
  let committed = 0;
  for (let round = 0; round < INTEGRATIONS; round += 1) {
    const ours = await brain.headOf(branch);
    if ((await findMergeBase(brain.context.repository, ours, theirs)) !== theirs) {
      const { decision } = await commitBranch(brain, writer, {
        context: { ...context, idempotency: null },
        message: `uncommitted before merging ${from}`,
        only: null,
        rows,
      });
      if (!decision.ok) return { decision, replayed: false };
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
      tell: (pulled) => mergedEvents(brain, told, op, pulled),
      answer: (pulled) => ({ ...mergeOf(pulled), committed, uncommitted: 0, uncommittedLeft }),
    });
    if (answer !== null) return answer;
  }
  return { decision: deny('E_BUSY', { retryAfterMs: 1000 }), replayed: false };
}

function mergeOf({ pulled, ...rest }: Pulled): Pick<BranchMerge, (keyof Pulled & keyof BranchMerge) | 'files'> {
  return { ...rest, files: pulled };
}

function mergedEvents(
  { context: brain }: OpenBrain,
  told: EventRules,
  { branch, from, context }: MergeOp,
  { after, status }: Pulled,
): NewEvent[] {
  const resources = [`brain:${brain.name}`];
  const payload = {
    brain: brain.name,
    branch,
    from: isObjectId(from) ? toldCommit(brain, told, from) : from,
    commit: toldCommit(brain, told, after),
    status,
    by: context.actor,
    resources,
  };
  return [{ name: 'branch:merged', payload }];
}
