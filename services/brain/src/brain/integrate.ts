/** Brings a fetched commit into a branch, in its queue and under its guard. */
import { allow, type Decision } from '@svc/contract/decision.ts';
import { planPull, type IntegrationPlan } from '../git/integration.ts';
import type { Journal } from '../files/journal-file.ts';
import { type CatalogueChange, writeCatalogue } from '../store/catalogue.ts';
import type { HidesFields, RowView } from '../ports.ts';
import { writeConflicts } from '../store/sync-store.ts';
import { changeEvent } from '../writer/attempt.ts';
import type { BranchWriter } from '../writer/branch-writer.ts';
import { type OpContext, writeSection } from '../writer/context.ts';
import type { WriteSection } from '../store/lease-store.ts';
import { applyPlan } from './apply-plan.ts';
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
  /** The whole branch is integrated; files that may not be read are not told of. */
  readonly rows: RowView;
}

/** Null when the branch or its files changed meanwhile; nothing was changed then. */
export function integrate(
  brain: OpenBrain,
  writer: BranchWriter,
  { context, theirs, source, rows }: IntegrationWish,
): Promise<Decision<Pulled, SyncRefusal> | null> {
  return writer.alone(context.deadlineAt, async () => {
    const { branch } = writer.tree;
    await writer.tree.look();
    const ours = await brain.headOf(branch);
    if (writer.tree.table.dirtyCount > 0) return null;
    const { author, at } = attribution(brain, context);
    const rescueSuffix = brain.context.platform.random.bytes(4).toString('hex');
    const plan = await planPull(brain.context.repository, { branch, ours, theirs, source, author, at, rescueSuffix });
    return applyGuarded(brain, writer, { context, plan, rows });
  });
}

async function applyGuarded(
  brain: OpenBrain,
  writer: BranchWriter,
  { context, plan, rows }: Pick<IntegrationWish, 'context' | 'rows'> & { readonly plan: IntegrationPlan },
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
      await record(brain, writer, section, { plan, actor: context.actor, hides: rows.hides });
      await writeConflicts(section.transaction, brain.context.name, writer.tree.branch, plan.rescue, conflicts);
    }
    const readable = conflicts.filter(({ file }) => rows.mayRead(file));
    return allow({ ...countMoves(plan, rows), conflicts: readable.map((conflict) => shownConflict(conflict, rows)) });
  });
  await (journal as Journal | null)?.close();
  for (const { file } of conflicts) writer.openConflicts.add(file);
  await brain.headOf(writer.tree.branch);
  return decision;
}

/** The id of a blob would tell a guesser what its hidden fields hold. */
function shownConflict({ id, file, kind, ours, theirs }: SyncConflict, { hides }: RowView): SyncConflict {
  return hides(file) ? { id, file, kind, ours: null, theirs: null } : { id, file, kind, ours, theirs };
}

function countMoves(
  { status, before, after, rescue, moves: all }: IntegrationPlan,
  { mayRead }: RowView,
): Omit<Pulled, 'conflicts'> {
  const moves = all.filter(({ path }) => mayRead(path));
  const added = moves.filter(({ from }) => from === null).length;
  const deleted = moves.filter(({ to }) => to === null).length;
  return { status, before, after, rescue, pulled: { added, deleted, updated: moves.length - added - deleted } };
}

async function record(
  brain: OpenBrain,
  writer: BranchWriter,
  { transaction }: WriteSection,
  { plan, actor, hides }: { readonly plan: IntegrationPlan; readonly actor: string; readonly hides: HidesFields },
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
      const hash = hides(path) ? null : (writer.tree.table.get(path)?.hash ?? null);
      return changeEvent(brain.context, writer.tree.branch, { file: path, change, hash, by: actor, source: 'sync' });
    }),
  );
}
