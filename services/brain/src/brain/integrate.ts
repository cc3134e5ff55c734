/** Brings a fetched commit into a branch, in its queue and under its guard. */
import { allow, type Decision } from '@svc/contract/decision.ts';
import { planPull, type IntegrationPlan } from '../git/integration.ts';
import { type CatalogueChange, writeCatalogue } from '../store/catalogue.ts';
import { writeConflicts } from '../store/sync-store.ts';
import type { BranchWriter } from '../writer/branch-writer.ts';
import { type OpContext, writeSection } from '../writer/context.ts';
import type { WriteSection } from '../store/lease-store.ts';
import { applyPlan, type Journal } from './apply-plan.ts';
import { attribution } from './commit.ts';
import type { OpenBrain } from './open-brain.ts';
import type { SyncConflict, SyncRefusal } from './ops.ts';

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
}

/** Null when the branch or its files changed meanwhile; nothing was changed then. */
export function integrate(
  brain: OpenBrain,
  writer: BranchWriter,
  { context, theirs, source }: IntegrationWish,
): Promise<Decision<Pulled, SyncRefusal> | null> {
  return writer.alone(context.deadlineAt, async () => {
    const { branch } = writer.tree;
    await writer.tree.scan();
    const ours = await brain.headOf(branch);
    if (writer.tree.table.dirtyCount > 0) return null;
    const { author, at } = attribution(brain, context);
    const rescueSuffix = brain.context.platform.random.bytes(4).toString('hex');
    const plan = await planPull(brain.context.repository, { branch, ours, theirs, source, author, at, rescueSuffix });
    return applyGuarded(brain, writer, context, plan);
  });
}

async function applyGuarded(
  brain: OpenBrain,
  writer: BranchWriter,
  context: OpContext,
  plan: IntegrationPlan,
): Promise<Decision<Pulled, SyncRefusal> | null> {
  const conflicts = plan.conflicts.map(({ file, kind, ours, theirs, base }) => ({
    id: brain.context.platform.ids.next('cfl'),
    file,
    kind,
    base,
    ours,
    theirs,
  }));
  let journal: Journal | null = null;
  const decision = await writeSection(brain.context, context.deadlineAt, async (section, irrevocable) => {
    const guarded = await writer.guard(section, context);
    if (!guarded.ok) return guarded;
    if (plan.refs.length > 0) {
      journal = await applyPlan(brain.context, writer.tree, plan, brain.places.journal);
      if (journal === null) return null;
      irrevocable();
      await record(brain, writer, section, plan, context.actor);
      await writeConflicts(section.transaction, brain.context.name, writer.tree.branch, plan.rescue, conflicts);
    }
    return allow({ ...countMoves(plan), conflicts: conflicts.map(({ base: _base, ...shown }) => shown) });
  });
  await (journal as Journal | null)?.close();
  for (const { file } of conflicts) writer.openConflicts.add(file);
  await brain.headOf(writer.tree.branch);
  return decision;
}

function countMoves({ status, before, after, rescue, moves }: IntegrationPlan): Omit<Pulled, 'conflicts'> {
  const added = moves.filter(({ from }) => from === null).length;
  const deleted = moves.filter(({ to }) => to === null).length;
  return { status, before, after, rescue, pulled: { added, deleted, updated: moves.length - added - deleted } };
}

async function record(
  brain: OpenBrain,
  writer: BranchWriter,
  { transaction }: WriteSection,
  plan: IntegrationPlan,
  actor: string,
): Promise<void> {
  const { name, outbox } = brain.context;
  const rows: CatalogueChange[] = plan.moves.map(({ path }) => {
    const entry = writer.tree.table.get(path);
    return entry === undefined ? { removed: path } : { entry, by: actor };
  });
  await writeCatalogue(transaction, name, writer.tree.branch, rows);
  await outbox.write(
    transaction,
    plan.moves.map(({ path, from, to }) => {
      const change = to === null ? 'deleted' : from === null ? 'created' : 'updated';
      return writer.changeEvent(path, change, writer.tree.table.get(path)?.hash ?? null, actor, 'sync');
    }),
  );
}
