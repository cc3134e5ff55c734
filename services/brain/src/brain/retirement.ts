/** A brain that goes: to another name, or to the deleted ones. What the database says of it changes in one step. */
import { z } from 'zod';
import type { SqlClient } from '@svc/runtime/database.ts';
import { auditedSubject, writeAudit } from '@svc/runtime/audit.ts';
import { allow, deny, type Decision } from '@svc/contract/decision.ts';
import { foldCase } from '@svc/contract/names.ts';
import type { Once } from '@svc/runtime/idempotency.ts';
import type { NewEvent } from '@svc/runtime/outbox.ts';
import { poolClient, withPgTransaction } from '@svc/runtime/transaction.ts';
import { guardWrite } from '../domain/lease.ts';
import {
  dropRows,
  isMoving,
  lockNames,
  noteDeleted,
  readDeleted,
  readHome,
  renameRows,
  writeMove,
} from '../store/home-store.ts';
import { enterWriteSection } from '../store/lease-store.ts';
import { forgetBrain, renameBrain } from '../store/session-brains.ts';
import { type BrainContext, NotOwner, type OpContext } from '../writer/context.ts';
import { type BrainMoves, forgetAbsent } from './brain-moves.ts';

export interface RetireWish {
  readonly context: OpContext;
  /** Its name from then on; null = it is deleted. */
  readonly to: string | null;
}

/** `folder`: where a deleted brain is kept, below `backups/deleted`; null for one that was renamed. */
export const Retired = z.strictObject({ folder: z.string().nullable() });
export type Retired = Readonly<z.output<typeof Retired>>;

export const RETIRE_REFUSALS = ['E_LOCKED', 'E_FENCED', 'E_BUSY', 'E_STATE_WRITE', 'E_QUOTA', 'E_DUPLICATE'] as const;
export type RetireRefusal = (typeof RETIRE_REFUSALS)[number];

/** Closes the brain first, once nobody is at work in it. */
export type Retire = (wish: RetireWish) => Promise<Once<Retired, RetireRefusal>>;

/** Deleted brains that are kept of one home; an operator clears them away. */
const KEPT_OF_ONE_HOME = 32;

export interface RetireGround {
  readonly dataDir: string;
  readonly defaultBrain: string;
  readonly moves: BrainMoves;
  /** Of every brain in the data directory. */
  names(): Promise<string[]>;
}

/** The brain is closed. Throws NotOwner. */
export async function retireBrain(
  brain: BrainContext,
  ground: RetireGround,
  wish: RetireWish,
): Promise<Once<Retired, RetireRefusal>> {
  const { name, idempotency, outbox, platform } = brain;
  const { pool } = platform.database;
  if (!(await ground.moves.canMove(wish.to === null, platform.ids.next('w'))))
    return { decision: deny('E_STATE_WRITE'), replayed: false };
  await forgetAbsent(poolClient(pool), ground.dataDir);
  const outcome = await withPgTransaction(pool, (transaction) =>
    idempotency.once(transaction, wish.context.idempotency, async () => {
      await lockNames(transaction);
      return decide(brain, transaction, ground, wish);
    }),
  );
  outbox.kick();
  if (outcome.decision.ok) await ground.moves.finish(name);
  return outcome;
}

async function decide(
  brain: BrainContext,
  transaction: SqlClient,
  { names, defaultBrain }: RetireGround,
  { context, to }: RetireWish,
): Promise<Decision<Retired, RetireRefusal>> {
  const { name, owner, platform } = brain;
  const section = await enterWriteSection(transaction, name, owner);
  if (section === null) throw new NotOwner(name);
  const guarded = guardWrite(section.lease, context, section.now);
  if (!guarded.ok) return guarded;
  const home = await readHome(transaction, name);
  if (home === null) throw new Error(`brain ${name} has no home`);
  const folder = to === null ? folderOf(name, new Date(platform.clock.now())) : null;
  if (to !== null) {
    const isTaken = (await names()).some((other) => other !== name && foldCase(other) === foldCase(to));
    if (isTaken || to === name || (await isMoving(transaction, to))) return deny('E_DUPLICATE', { name: to });
    await renameRows(transaction, name, to);
    await renameBrain(transaction, name, to);
  } else {
    const kept = (await readDeleted(transaction)).filter(({ workspace }) => workspace === home.workspace);
    if (kept.length >= KEPT_OF_ONE_HOME) return deny('E_QUOTA', { kept: kept.length });
    await dropRows(transaction, name);
    await noteDeleted(transaction, { folder: folder ?? '', brain: name, by: context.actor, ...home });
    await forgetBrain(transaction, name, defaultBrain);
  }
  await writeMove(transaction, { brain: name, to, folder, by: context.actor });
  await tell(brain, transaction, { context, to }, home.workspace);
  return allow({ folder });
}

async function tell(
  { name, outbox, platform }: BrainContext,
  transaction: SqlClient,
  { context, to }: RetireWish,
  workspace: string,
): Promise<void> {
  const by = context.actor;
  const event: NewEvent =
    to === null
      ? { name: 'brain:deleted', payload: { brain: name, by, resources: [`brain:${name}`] } }
      : { name: 'brain:renamed', payload: { brain: name, to, by, resources: [`brain:${name}`, `brain:${to}`] } };
  await outbox.write(transaction, [event]);
  const data = { by, brain: name, ...(to === null ? {} : { to }) };
  const subject = auditedSubject(context.subject);
  await writeAudit(transaction, 'brain', platform.ids, [{ event: event.name, workspace, subject, data }]);
}

/** `20260102T030405678Z-<brain>`: in the order in which they were deleted. */
function folderOf(brain: string, at: Date): string {
  return `${at.toISOString().replace(/[-:.]/g, '')}-${brain}`;
}
