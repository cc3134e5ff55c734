/** Brings another line of history into a branch: planned and staged beside its queue, applied in it and under its guard. */
import { allow, type Decision } from '@svc/contract/decision.ts';
import type { Once } from '@svc/runtime/idempotency.ts';
import type { NewEvent } from '@svc/runtime/outbox.ts';
import { composeMessage } from '../git/commit-message.ts';
import { type IntegrationPlan, planPull } from '../git/integration.ts';
import { lockIndex } from '../git/index-lock.ts';
import type { Stage } from '../git/stage.ts';
import { type CatalogueChange, writeCatalogue } from '../store/catalogue.ts';
import type { HidesFields, RowView } from '../ports.ts';
import { writeConflicts } from '../store/sync-store.ts';
import { type ChangeSource, changeEvent } from '../writer/attempt.ts';
import type { BranchWriter } from '../writer/branch-writer.ts';
import { type OpContext, writeSection } from '../writer/context.ts';
import type { WriteSection } from '../store/lease-store.ts';
import { type Applied, applyPlan } from './apply-plan.ts';
import { attribution } from './commit.ts';
import { indexHeld } from './commit-attempt.ts';
import { stageMoves } from './move-files.ts';
import type { OpenBrain } from './open-brain.ts';
import type { CommitRefusal, SyncConflict } from './ops.ts';

export interface Pulled {
  readonly status: string;
  readonly before: string;
  readonly after: string;
  readonly conflicts: readonly SyncConflict[];
  readonly rescue: string | null;
  readonly pulled: { readonly added: number; readonly updated: number; readonly deleted: number };
}

export interface IntegrationWish {
  readonly context: OpContext;
  readonly theirs: string;
  /** For the message of a merge commit. */
  readonly source: string;
  /** Default: a message that names the source. */
  readonly message?: string | undefined;
  /** The whole branch is integrated; files that may not be read are not told of. */
  readonly rows: RowView;
}

export interface KeyedIntegration<Value> extends IntegrationWish {
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
    const plan = await planIntegration(brain, writer.tree.branch, wish, ours);
    return { plan, stage: await stageMoves(brain.context.repository, plan.moves) };
  };
  await using cleanup = new AsyncDisposableStack();
  const early = await prepare(await brain.headOf(writer.tree.branch));
  cleanup.use(early.stage);
  return await writer.alone(wish.context.deadlineAt, async () => {
    await writer.tree.look();
    const ours = await brain.headOf(writer.tree.branch);
    if (ours === early.plan.before) return applyGuarded(brain, writer, wish, early);
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
  { context, theirs, source, message }: Omit<IntegrationWish, 'rows'>,
  ours: string,
): Promise<IntegrationPlan> {
  const { author, at, agent, fence } = attribution(brain, context);
  const text = message === undefined ? undefined : composeMessage(message, { agent, fence });
  const rescueSuffix = brain.context.platform.random.bytes(4).toString('hex');
  return planPull(brain.context.repository, { branch, ours, theirs, source, text, author, at, rescueSuffix });
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
  if (plan.refs.length === 0) return publish(brain, writer, wish, async () => null, plan);
  const lock = await lockIndex(brain.context.repository, writer.tree.root);
  if (lock.status === 'held') return { decision: indexHeld(lock.ageMs), replayed: false };
  try {
    const conflicts = plan.conflicts.map((conflict) => ({
      ...conflict,
      id: brain.context.platform.ids.next('cfl'),
      file: table.pathOf(conflict.file),
    }));
    const parts = { plan, stage, conflicts, index: lock.index, journalDir: brain.places.journal };
    return await publish(brain, writer, wish, () => applyPlan(brain.context, writer.tree, parts), plan);
  } finally {
    lock.index.release();
  }
}

/** Null when the branch was moved by somebody else. */
async function publish<Value>(
  brain: OpenBrain,
  writer: BranchWriter,
  wish: KeyedIntegration<Value>,
  apply: () => Promise<Applied | null>,
  plan: IntegrationPlan,
): Promise<Once<Value, CommitRefusal> | null> {
  const { context, rows, cause } = wish;
  const { idempotency, outbox, name } = brain.context;
  const applied: Applied[] = [];
  const answer = await writeSection(brain.context, context.deadlineAt, ({ transaction, ...section }, irrevocable) =>
    idempotency.once<Value, CommitRefusal>(transaction, context.idempotency, async () => {
      const guarded = await writer.guard({ transaction, ...section }, context);
      if (!guarded.ok) return guarded;
      const done = await apply();
      if (done === null) {
        if (plan.refs.length > 0) throw new BranchMoved();
        return allow(wish.answer(pulledOf(plan, { placed: [], conflicts: [], rescue: null }, rows)));
      }
      applied.push(done);
      irrevocable();
      const pulled = pulledOf(plan, done, rows);
      await record(brain, writer, transaction, { done, actor: context.actor, hides: rows.hides, cause });
      await writeConflicts(transaction, name, writer.tree.branch, done.rescue, done.conflicts);
      await outbox.write(transaction, wish.tell(pulled));
      return allow(wish.answer(pulled));
    }),
  ).catch((error: unknown) => {
    if (error instanceof BranchMoved) return null;
    throw error;
  });
  for (const { journal, conflicts } of applied) {
    await journal.close();
    for (const { file } of conflicts) writer.openConflicts.add(file);
  }
  await brain.headOf(writer.tree.branch);
  return answer;
}

/** Rolls the section back. */
class BranchMoved extends Error {}

function pulledOf(
  { status, before, after }: IntegrationPlan,
  { placed, conflicts, rescue }: Pick<Applied, 'placed' | 'conflicts' | 'rescue'>,
  rows: RowView,
): Pulled {
  const shown = conflicts.filter(({ file }) => rows.mayRead(file)).map((conflict) => shownConflict(conflict, rows));
  const moves = placed.filter(({ path }) => rows.mayRead(path.normalize('NFC')));
  const added = moves.filter(({ from }) => from === null).length;
  const deleted = moves.filter(({ to }) => to === null).length;
  const pulled = { added, deleted, updated: moves.length - added - deleted };
  return { status, before, after, rescue, conflicts: shown, pulled };
}

/** The id of a blob would tell a guesser what its hidden fields hold. */
export function shownConflict({ id, file, kind, ours, theirs }: SyncConflict, { hides }: RowView): SyncConflict {
  return hides(file) ? { id, file, kind, ours: null, theirs: null } : { id, file, kind, ours, theirs };
}

interface RecordParts {
  readonly done: Applied;
  readonly actor: string;
  readonly hides: HidesFields;
  readonly cause: Cause;
}

async function record(
  brain: OpenBrain,
  writer: BranchWriter,
  transaction: WriteSection['transaction'],
  { done, actor, hides, cause }: RecordParts,
): Promise<void> {
  const { name, outbox } = brain.context;
  const { table } = writer.tree;
  const placed = done.placed.map((move) => ({ ...move, path: table.pathOf(move.path) }));
  const rows: CatalogueChange[] = placed.map(({ path }) => {
    const entry = table.get(path);
    return entry === undefined ? { removed: path } : { entry, by: actor };
  });
  await writeCatalogue(transaction, name, writer.tree.branch, rows);
  await outbox.write(
    transaction,
    placed.map(({ path, from, to }) => {
      const change = to === null ? 'deleted' : from === null ? 'created' : 'updated';
      const hash = hides(path) ? null : (table.get(path)?.hash ?? null);
      return changeEvent(brain.context, writer.tree.branch, { file: path, change, hash, by: actor, source: cause });
    }),
  );
}
