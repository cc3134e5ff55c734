/** Brings another line of history into a branch: planned and staged beside its queue, applied in it and under its guard. */
import { allow, type Decision } from '@svc/contract/decision.ts';
import type { Once } from '@svc/runtime/idempotency.ts';
import type { NewEvent } from '@svc/runtime/outbox.ts';
import { composeMessage } from '../git/commit-message.ts';
import { type IntegrationPlan, type IntegrationRequest, planPull } from '../git/integration.ts';
import { lockIndex } from '../git/index-lock.ts';
import { branchRef } from '../git/run.ts';
import type { Stage } from '../git/stage.ts';
import type { FileMove } from '../git/tree-merge.ts';
import type { CatalogueChange } from '../store/catalogue.ts';
import type { RowView } from '../ports.ts';
import { writeConflicts } from '../store/sync-store.ts';
import { type ChangeSource, changeEvent, recordSoon } from '../writer/change-records.ts';
import type { BranchWriter } from '../writer/branch-writer.ts';
import { type OpContext, writeSection } from '../writer/context.ts';
import { AFTERWARDS_MS, type MoveOutcome, MoveRecord } from '../writer/move-record.ts';
import { type Applied, beginPlan, type BegunPlan, followPlan, type PlanToApply } from './apply-plan.ts';
import { attribution, indexHeld } from './commit-attempt.ts';
import { stageMoves } from './move-files.ts';
import type { CommitRefusal, OpenBrain } from './open-brain.ts';
import { type Pulled, pulledOf } from './pulled.ts';

interface IntegrationWish {
  readonly context: OpContext;
  readonly theirs: string;
  /** For the message of a merge commit. */
  readonly source: string;
  /** Default: a message that names the source. */
  readonly message?: string | undefined;
  /** The whole branch is integrated; files that may not be read are not told of. */
  readonly rows: RowView;
  /** Made already, for the branch as it is in it; default: a merge. */
  readonly plan?: IntegrationPlan | undefined;
}

interface KeyedIntegration<Value> extends IntegrationWish {
  readonly cause: Cause;
  /** Told with the change, in its transaction. */
  tell(pulled: Pulled): readonly NewEvent[];
  answer(pulled: Pulled): Value;
}

type Cause = Extract<ChangeSource, 'sync' | 'merge'>;

/** Null when the branch or its files changed meanwhile; nothing was changed then. Throws DiskRefusal likewise. */
export async function integrate(
  brain: OpenBrain,
  writer: BranchWriter,
  wish: IntegrationWish,
): Promise<Decision<Pulled, CommitRefusal> | null> {
  const context = { ...wish.context, idempotency: null };
  const answer = await integrateOnce(brain, writer, {
    ...wish,
    context,
    cause: 'sync',
    tell: () => [],
    answer: (pulled) => pulled,
  });
  return answer?.decision ?? null;
}

/** As `integrate`; the outcome of a keyed call is stored with the change. */
export async function integrateOnce<Value>(
  brain: OpenBrain,
  writer: BranchWriter,
  wish: KeyedIntegration<Value>,
): Promise<Once<Value, CommitRefusal> | null> {
  const prepare = async (ours: string): Promise<Prepared> => {
    const plan = wish.plan ?? (await planIntegration(brain, writer.tree.branch, wish, ours));
    return { plan, stage: await stageMoves(brain.context.repository, plan.moves) };
  };
  await using cleanup = new AsyncDisposableStack();
  const early = await prepare(await brain.presentHead(writer.tree.branch));
  cleanup.use(early.stage);
  return await writer.alone(wish.context.deadlineAt, async () => {
    await writer.tree.look();
    const ours = await brain.presentHead(writer.tree.branch);
    if (ours === early.plan.before) return applyGuarded(brain, writer, wish, early);
    if (wish.plan !== undefined) return null;
    const late = await prepare(ours);
    cleanup.use(late.stage);
    return applyGuarded(brain, writer, wish, late);
  });
}

interface Prepared {
  readonly plan: IntegrationPlan;
  readonly stage: Stage;
}

export function planIntegration(
  brain: OpenBrain,
  branch: string,
  wish: Omit<IntegrationWish, 'rows' | 'plan'>,
  ours: string,
): Promise<IntegrationPlan> {
  return planPull(brain.context.repository, integrationRequest(brain, branch, wish, ours));
}

export function integrationRequest(
  brain: OpenBrain,
  branch: string,
  { context, theirs, source, message }: Omit<IntegrationWish, 'rows' | 'plan'>,
  ours: string,
): IntegrationRequest {
  const { author, at, agent, fence } = attribution(brain, context);
  const text = message === undefined ? undefined : composeMessage(message, { agent, fence });
  const { random, clock, log } = brain.context.platform;
  const rescueSuffix = random.bytes(4).toString('hex');
  const limits = { log, withinMs: context.deadlineAt - clock.now() };
  return { branch, ours, theirs, source, text, author, at, rescueSuffix, limits };
}

async function applyGuarded<Value>(
  brain: OpenBrain,
  writer: BranchWriter,
  wish: KeyedIntegration<Value>,
  { plan, stage }: Prepared,
): Promise<Once<Value, CommitRefusal> | null> {
  // What nobody has committed yet is committed first, so that it is merged.
  const { table } = writer.tree;
  const uncommitted = new Set(table.changes().map(({ onDisk }) => onDisk));
  if (plan.moves.some(({ path }) => uncommitted.has(path))) return null;
  if (plan.refs.length === 0) return publishNothing(brain, writer, wish, plan);
  const lock = await lockIndex(brain.context.repository, writer.tree.root);
  if (lock.status === 'held') return { decision: indexHeld(lock.ageMs), replayed: false };
  try {
    const conflicts = plan.conflicts.map((conflict) => ({
      ...conflict,
      id: brain.context.platform.ids.next('cfl'),
      file: table.pathOf(conflict.file),
    }));
    const parts = { plan, stage, conflicts, index: lock.index };
    return await applyInPieces(brain, writer, wish, parts);
  } finally {
    lock.index.release();
  }
}

/** There is nothing to bring in. */
function publishNothing<Value>(
  { context: brain }: OpenBrain,
  writer: BranchWriter,
  { context, rows, answer }: KeyedIntegration<Value>,
  plan: IntegrationPlan,
): Promise<Once<Value, CommitRefusal>> {
  return writeSection(brain, context.deadlineAt, (section) =>
    brain.idempotency.once<Value, CommitRefusal>(section.transaction, context.idempotency, async () => {
      const guarded = await writer.guard(section, context);
      return guarded.ok ? allow(answer(pulledOf(plan, { placed: [], conflicts: [], rescue: null }, rows))) : guarded;
    }),
  );
}

/**
 * The lease is judged and the branch moved in one section; the files follow without one, because everybody else's would
 * wait for it; what came of it is stored in a second one, and the changes are told in several.
 */
async function applyInPieces<Value>(
  brain: OpenBrain,
  writer: BranchWriter,
  wish: KeyedIntegration<Value>,
  parts: PlanToApply,
): Promise<Once<Value, CommitRefusal> | null> {
  const record = new MoveRecord<Value>(brain.context, wish.context);
  const begun = await begin(brain, writer, wish, parts, record).catch(closing(record));
  if (begun === null) return null;
  if (!begun.ok) return { decision: begun, replayed: false };
  const { value: plan } = begun;
  const done = await followPlan(brain.context, writer, plan).catch(closing(record));
  const answer = await publish(brain, writer, wish, { plan, done, record });
  await plan.journal.close();
  writer.openConflicts.add(done.conflicts);
  await brain.headOf(writer.tree.branch);
  await tellMoves(brain, writer, wish, done.placed);
  return answer;
}

/** Nothing has moved, or it has moved back. */
function closing(record: Pick<MoveRecord<unknown>, 'close'>): (error: unknown) => Promise<never> {
  return async (error) => {
    await record.close();
    throw error;
  };
}

/** Null when the branch is elsewhere by now; nothing has changed then, as with a refusal. */
async function begin<Value>(
  brain: OpenBrain,
  writer: BranchWriter,
  wish: KeyedIntegration<Value>,
  parts: PlanToApply,
  record: MoveRecord<Value>,
): Promise<Decision<BegunPlan, CommitRefusal> | null> {
  const { context } = wish;
  let begun: BegunPlan | null = null;
  const decided = await writeSection(brain.context, context.deadlineAt, async (section) => {
    if (begun !== null) return allow(null);
    const guarded = await writer.guard(section, context);
    if (!guarded.ok) return guarded;
    await record.intend(expected(writer, wish, parts));
    begun = await beginPlan(brain.context, writer.tree, parts);
    return allow(null);
  }).catch((error: unknown) => {
    // The branch has moved: its files follow, whatever became of a section that changes nothing.
    if (begun === null) throw error;
    return allow(null);
  });
  if (begun !== null) return allow(begun);
  await record.close();
  return decided.ok ? null : decided;
}

/** What there is to store when nothing of a person's is in the way. */
function expected<Value>(
  { tree: { branch } }: BranchWriter,
  { rows, tell, answer }: KeyedIntegration<Value>,
  { plan, conflicts }: PlanToApply,
): MoveOutcome<Value> {
  const rescue = conflicts.length === 0 ? null : plan.rescueId;
  const pulled = pulledOf(plan, { placed: plan.moves, conflicts, rescue }, rows);
  // All move or none; where the branch stays, both tips are rescued.
  const [first] = plan.refs;
  const moved = { ref: first?.ref ?? branchRef(branch), commit: first?.to ?? plan.after };
  return { moved, value: answer(pulled), events: tell(pulled) };
}

interface Followed<Value> {
  readonly plan: BegunPlan;
  readonly done: Applied;
  readonly record: MoveRecord<Value>;
}

async function publish<Value>(
  { context: brain }: OpenBrain,
  writer: BranchWriter,
  { context, rows, tell, answer }: KeyedIntegration<Value>,
  { plan: { plan }, done, record }: Followed<Value>,
): Promise<Once<Value, CommitRefusal>> {
  const deadlineAt = Math.max(context.deadlineAt, brain.platform.clock.now() + AFTERWARDS_MS);
  const once = await writeSection(brain, deadlineAt, ({ transaction }, irrevocable) => {
    irrevocable(true);
    return brain.idempotency.once<Value, CommitRefusal>(transaction, record.scope, async () => {
      const pulled = pulledOf(plan, done, rows);
      await writeConflicts(transaction, brain.name, writer.tree.branch, done.rescue, done.conflicts);
      await brain.outbox.write(transaction, tell(pulled));
      return allow(answer(pulled));
    });
  }).catch((error: unknown) => {
    record.leave();
    throw error;
  });
  await record.close();
  return once;
}

const MOVES_PER_SECTION = 500;

/** What was not told when the process ends is noticed when the brain opens again. */
async function tellMoves(
  { context: brain }: OpenBrain,
  writer: BranchWriter,
  { context, rows, cause }: Pick<KeyedIntegration<unknown>, 'context' | 'rows' | 'cause'>,
  placed: readonly FileMove[],
): Promise<void> {
  const { branch, table } = writer.tree;
  for (let start = 0; start < placed.length; start += MOVES_PER_SECTION) {
    const deadlineAt = Math.max(context.deadlineAt, brain.platform.clock.now() + AFTERWARDS_MS);
    await writeSection(brain, deadlineAt, async (section) => {
      const told = placed.slice(start, start + MOVES_PER_SECTION).flatMap((move) => {
        const path = table.pathOf(move.path);
        const entry = table.get(path);
        // Somebody has written it since, and told of that.
        return (entry?.blob ?? null) === (move.to?.oid ?? null) ? [{ ...move, path, entry }] : [];
      });
      const changed: CatalogueChange[] = told.map(({ path, entry }) =>
        entry === undefined ? { removed: path } : { entry, by: context.actor },
      );
      const events = told.map(({ path, from, to, entry }) => {
        const change = to === null ? 'deleted' : from === null ? 'created' : 'updated';
        const hash = rows.hides(path) ? null : (entry?.hash ?? null);
        return changeEvent(brain, branch, { file: path, change, hash, by: context.actor, source: cause });
      });
      recordSoon(brain, section, { branch, rows: changed, events });
    });
    await writer.letWritesPass();
  }
}
