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
  type Home,
  isMoving,
  lockNames,
  noteDeleted,
  readArriving,
  readDeleted,
  readHome,
  renameRows,
  replaceRows,
  writeMove,
} from '../store/home-store.ts';
import { enterWriteSection } from '../store/lease-store.ts';
import { forgetBrain, renameBrain } from '../store/session-brains.ts';
import { type BrainContext, NotOwner, type OpContext } from '../writer/context.ts';
import type { BrainFolders } from './brain-folders.ts';
import { type BrainMoves, forgetAbsent } from './brain-moves.ts';

export interface RetireWish {
  readonly context: OpContext;
  /** Its name from then on; null = it is deleted. */
  readonly to: string | null;
  /** What takes the place of one that is deleted. */
  readonly replacement?: Replacement;
}

/** A brain that was restored from a backup. */
const Summary = z.strictObject({ commit: z.string(), files: z.number(), rows: z.number() });

export interface Replacement {
  /** Its folder, below `backups`. */
  readonly staged: string;
  /** The name of the backup. */
  readonly path: string;
  readonly summary: z.output<typeof Summary>;
  /** Once the old brain is closed: takes along what is to stay readable of it, and answers under which id. */
  rescue(): Promise<string | null>;
  insertRows(transaction: SqlClient, owner: { readonly id: string; readonly name: string }): Promise<void>;
}

/**
 * `folder`: where a deleted brain is kept, below `backups/deleted`; null for one that was renamed. `restored`: what took
 * its place; null = nothing.
 */
export const Retired = z.strictObject({
  folder: z.string().nullable(),
  restored: Summary.extend({ brain: z.string(), rescue: z.string().nullable() }).nullable(),
});
export type Retired = Readonly<z.output<typeof Retired>>;

/** Where no other name is asked for. */
export const REPLACE_REFUSALS = ['E_LOCKED', 'E_FENCED', 'E_BUSY', 'E_STATE_WRITE', 'E_QUOTA'] as const;
export const RETIRE_REFUSALS = [...REPLACE_REFUSALS, 'E_DUPLICATE'] as const;
export type RetireRefusal = (typeof RETIRE_REFUSALS)[number];

/** Closes the brain first, once nobody is at work in it. */
export type Retire = (wish: RetireWish) => Promise<Once<Retired, RetireRefusal>>;

const REPLACING_MS = 100_000;

/** Deleted brains that are kept of one home; an operator clears them away. */
const KEPT_OF_ONE_HOME = 32;

interface RetireGround {
  readonly dataDir: string;
  readonly defaultBrain: string;
  readonly moves: BrainMoves;
  readonly folders: Pick<BrainFolders, 'namesWith'>;
}

interface ClosedWish extends RetireWish {
  /** Of the replacement. */
  readonly rescue: string | null;
}

/** The brain is closed. Throws NotOwner. */
export async function retireBrain(
  brain: BrainContext,
  ground: RetireGround,
  wish: ClosedWish,
): Promise<Once<Retired, RetireRefusal>> {
  const { name, audit, idempotency, outbox, platform } = brain;
  const { pool } = platform.database;
  if (!(await ground.moves.canMove(brain.name, wish.to === null, platform.ids.next('w'))))
    return { decision: deny('E_STATE_WRITE'), replayed: false };
  await forgetAbsent(poolClient(pool), ground.dataDir);
  const outcome = await withPgTransaction(
    pool,
    (transaction) =>
      idempotency.once(transaction, wish.context.idempotency, async () => {
        await lockNames(transaction);
        return decide(brain, transaction, ground, wish);
      }),
    // Many rows may come with a replacement.
    wish.replacement === undefined ? {} : { timeoutMs: REPLACING_MS },
  );
  outbox.kick();
  audit.kick();
  if (outcome.decision.ok) await ground.moves.follow(name);
  return outcome;
}

async function decide(
  brain: BrainContext,
  transaction: SqlClient,
  ground: RetireGround,
  wish: ClosedWish,
): Promise<Decision<Retired, RetireRefusal>> {
  const { name, owner } = brain;
  const { context, to, replacement } = wish;
  const section = await enterWriteSection(transaction, name, owner);
  if (section === null) throw new NotOwner(name);
  const guarded = guardWrite(section.lease, context, section.now);
  if (!guarded.ok) return guarded;
  const home = await readHome(transaction, name);
  if (home === null) throw new Error(`brain ${name} has no home`);
  const decided =
    to === null
      ? await giveUp(brain, transaction, ground, { wish, home })
      : await giveName(name, to, transaction, ground);
  if (!decided.ok) return decided;
  const { folder } = decided.value;
  await writeMove(transaction, { brain: name, to, folder, staged: replacement?.staged ?? null, by: context.actor });
  await tell(brain, transaction, wish, home.workspace);
  const restored = replacement === undefined ? null : { ...replacement.summary, brain: name, rescue: wish.rescue };
  return allow({ folder, restored });
}

type Kept = Pick<Retired, 'folder'>;

async function giveName(
  name: string,
  to: string,
  transaction: SqlClient,
  { folders }: RetireGround,
): Promise<Decision<Kept, 'E_DUPLICATE'>> {
  const names = await folders.namesWith(await readArriving(transaction));
  const isTaken = names.some((other) => other !== name && foldCase(other) === foldCase(to));
  if (isTaken || to === name || (await isMoving(transaction, to))) return deny('E_DUPLICATE', { name: to });
  await renameRows(transaction, name, to);
  await renameBrain(transaction, name, to);
  return allow({ folder: null });
}

/** What was noted about a brain that is replaced stays with it, and so does the brain: the new one has an id of its own. */
async function giveUp(
  { name, platform }: BrainContext,
  transaction: SqlClient,
  { defaultBrain }: RetireGround,
  { wish: { context, replacement }, home }: { readonly wish: ClosedWish; readonly home: Home },
): Promise<Decision<Kept, 'E_QUOTA'>> {
  const kept = (await readDeleted(transaction)).filter(({ workspace }) => workspace === home.workspace);
  if (kept.length >= KEPT_OF_ONE_HOME) return deny('E_QUOTA', { kept: kept.length });
  const folder = folderOf(name, new Date(platform.clock.now()));
  await noteDeleted(transaction, { folder, brain: name, by: context.actor, ...home });
  if (replacement === undefined) {
    await dropRows(transaction, name);
    await forgetBrain(transaction, name, defaultBrain);
  } else {
    const id = platform.ids.next('brn');
    await replaceRows(transaction, name, id);
    await replacement.insertRows(transaction, { id, name });
  }
  return allow({ folder });
}

async function tell(
  { name, outbox, platform }: BrainContext,
  transaction: SqlClient,
  { context, to, replacement }: RetireWish,
  workspace: string,
): Promise<void> {
  const by = context.actor;
  const path = replacement?.path;
  const event: NewEvent =
    path !== undefined
      ? { name: 'brain:restored', payload: { brain: name, path, by, resources: [`brain:${name}`] } }
      : to === null
        ? { name: 'brain:deleted', payload: { brain: name, by, resources: [`brain:${name}`] } }
        : { name: 'brain:renamed', payload: { brain: name, to, by, resources: [`brain:${name}`, `brain:${to}`] } };
  await outbox.write(transaction, [event]);
  const data = { by, brain: name, ...(to === null ? {} : { to }), ...(path === undefined ? {} : { path }) };
  const subject = auditedSubject(context.subject);
  await writeAudit(transaction, 'brain', platform.ids, [{ event: event.name, workspace, subject, data }]);
}

/** `20260102T030405678Z-<brain>`: in the order in which they were deleted. */
function folderOf(brain: string, at: Date): string {
  return `${at.toISOString().replace(/[-:.]/g, '')}-${brain}`;
}
