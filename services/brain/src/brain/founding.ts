/** A brain that is made: empty, or from a backup that was checked whole. Names are given one after the other. */
import { rm } from 'node:fs/promises';
import { CallError } from '@svc/contract/codes.ts';
import { allow, deny, type Decision } from '@svc/contract/decision.ts';
import { foldCase } from '@svc/contract/names.ts';
import { DEFAULT_WORKSPACE } from '@svc/contract/subject.ts';
import { auditedSubject, writeAudit } from '@svc/runtime/audit.ts';
import type { AuditRelay } from '@svc/runtime/audit-relay.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import type { Idempotency, Once } from '@svc/runtime/idempotency.ts';
import type { NewEvent, Outbox } from '@svc/runtime/outbox.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { poolClient, withPgTransaction } from '@svc/runtime/transaction.ts';
import { createRepository } from '../git/repository.ts';
import type { Git } from '../git/run.ts';
import type { ClaimBoundary } from '../rules/copy-boundaries.ts';
import {
  countHomes,
  isMoving,
  lockNames,
  readArriving,
  replaceRows,
  writeHome,
  writeMove,
} from '../store/home-store.ts';
import type { OpContext } from '../writer/context.ts';
import type { BrainFolders } from './brain-folders.ts';
import type { BrainMoves } from './brain-moves.ts';
import type { Replacement, Retired } from './retirement.ts';

const MAX_BRAINS = 256;
/** Many rows may come with a backup. */
const ROWS_MS = 100_000;

/** Who makes a brain, and where it is at home then. */
export interface Maker {
  readonly by: string;
  readonly workspace: string;
  /** Under which it counts; null = only the limit of the node holds. */
  readonly family: string | null;
}

/** Which limit is reached, in words; `limit` brains. */
export interface BrainQuota {
  readonly message: string;
  readonly limit: number;
}

/** What a new brain is made from. */
export interface Founded extends Omit<Replacement, 'rescue'> {
  readonly context: OpContext;
  /** It gets the boundary of its home whether that has declared one or not. */
  readonly isBounded: boolean;
}

export interface FoundingGround {
  readonly platform: Platform;
  readonly git: Git;
  readonly idempotency: Idempotency;
  readonly outbox: Outbox;
  readonly audit: Pick<AuditRelay, 'kick'>;
  readonly claimBoundary: ClaimBoundary;
  readonly folders: BrainFolders;
  readonly moves: BrainMoves;
}

type Free = 'free' | 'exists' | BrainQuota;

/** Throws VAF_INPUT_INVALID for a name that folds to another's, E_BUSY. */
export async function foundEmpty(
  ground: FoundingGround,
  name: string,
  maker: Maker,
): Promise<'created' | 'exists' | BrainQuota> {
  const { folders, git, outbox, platform } = ground;
  const before = await lookAhead(ground, name, maker);
  if (before !== 'free') return before;
  if (maker.workspace !== DEFAULT_WORKSPACE) await ground.claimBoundary(name, maker, 'declared');
  const made = await withPgTransaction(platform.database.pool, async (transaction) => {
    const found = await takeName(ground, transaction, name, maker);
    if (found !== 'free') return found;
    const at = new Date(platform.clock.now());
    const repository = await createRepository(git, { dir: folders.of(name), at });
    repository[Symbol.dispose]();
    try {
      await writeHome(transaction, name, { id: platform.ids.next('brn'), ...maker });
      await outbox.write(transaction, [created(name, maker)]);
    } catch (error) {
      // The name is ours until the transaction ends: nobody has opened what the database does not know.
      await rm(folders.of(name), { recursive: true, force: true });
      throw error;
    }
    return 'created';
  });
  outbox.kick();
  return made;
}

/**
 * The directories follow what the database says, as they do for a brain that is replaced: a process that is killed leaves
 * no brain, or this one. Null = a brain of that name is there by now.
 */
export async function foundFrom(
  ground: FoundingGround,
  name: string,
  maker: Maker,
  founded: Founded,
): Promise<Once<Retired, 'E_QUOTA' | 'E_STATE_WRITE'> | null> {
  const { audit, idempotency, moves, outbox, platform } = ground;
  const before = await lookAhead(ground, name, maker);
  if (before === 'exists') return null;
  if (before !== 'free') return { decision: full(before), replayed: false };
  // from beside the backups
  if (!(await moves.canMove(name, true, platform.ids.next('w'))))
    return { decision: deny('E_STATE_WRITE'), replayed: false };
  await claimFor(ground, name, maker, founded);
  let isThere = false;
  const outcome = await withPgTransaction(
    platform.database.pool,
    (transaction) =>
      idempotency.once<Retired, 'E_QUOTA' | 'E_STATE_WRITE'>(transaction, founded.context.idempotency, async () => {
        const found = await takeName(ground, transaction, name, maker);
        isThere = found === 'exists';
        if (found === 'exists') throw new NameTaken();
        if (found !== 'free') return full(found);
        return place(ground, transaction, { name, maker, founded });
      }),
    { timeoutMs: ROWS_MS },
  ).catch((error: unknown) => {
    if (isThere && error instanceof NameTaken) return null;
    throw error;
  });
  outbox.kick();
  audit.kick();
  if (outcome?.decision.ok === true) await moves.follow(name);
  return outcome;
}

/** Undoes the transaction, so that nothing is kept under the key of the call. */
class NameTaken extends Error {}

async function claimFor(
  { claimBoundary }: FoundingGround,
  name: string,
  maker: Maker,
  { isBounded }: Founded,
): Promise<void> {
  if (isBounded) await claimBoundary(name, maker, 'always');
  else if (maker.workspace !== DEFAULT_WORKSPACE) await claimBoundary(name, maker, 'declared');
}

interface Placed {
  readonly name: string;
  readonly maker: Maker;
  readonly founded: Founded;
}

async function place(
  { outbox, platform }: FoundingGround,
  transaction: SqlClient,
  { name, maker, founded: { context, staged, path, summary, insertRows } }: Placed,
): Promise<Decision<Retired, never>> {
  const id = platform.ids.next('brn');
  // What is left of a brain whose folder somebody took away is not of this one.
  await replaceRows(transaction, name, id);
  await writeHome(transaction, name, { id, ...maker });
  await insertRows(transaction, { id, name });
  await writeMove(transaction, { brain: name, to: null, folder: null, staged, by: maker.by });
  const restored = { name: 'brain:restored', payload: { brain: name, path, by: maker.by, resources: resources(name) } };
  await outbox.write(transaction, [created(name, maker), restored as NewEvent]);
  const data = { by: maker.by, brain: name, path };
  const subject = auditedSubject(context.subject);
  const entry = { event: 'brain:restored', workspace: maker.workspace, subject, data };
  await writeAudit(transaction, 'brain', platform.ids, [entry]);
  return allow({ folder: null, restored: { ...summary, brain: name, rescue: null } });
}

function created(name: string, { by }: Maker): NewEvent {
  return { name: 'brain:created', payload: { brain: name, by, resources: resources(name) } };
}

function resources(name: string): string[] {
  return [`brain:${name}`];
}

function full({ limit, message }: BrainQuota): Decision<never, 'E_QUOTA'> {
  return deny('E_QUOTA', { limit }, message);
}

/**
 * Before the brain is there, so that nobody looks into it meanwhile; and not for who may not make it, so that nobody
 * takes names by it.
 */
async function lookAhead(ground: FoundingGround, name: string, maker: Maker): Promise<Free> {
  const { folders, moves, platform } = ground;
  if (await folders.exists(name)) return 'exists';
  await moves.finish(name);
  return (await fullFor(ground, poolClient(platform.database.pool), maker, (await folders.names()).length)) ?? 'free';
}

/** For the rest of the transaction nobody else takes it. */
async function takeName(ground: FoundingGround, transaction: SqlClient, name: string, maker: Maker): Promise<Free> {
  await lockNames(transaction);
  const names = await ground.folders.namesWith(await readArriving(transaction));
  if (names.includes(name) || (await isMoving(transaction, name))) return 'exists';
  const quota = await fullFor(ground, transaction, maker, names.length);
  if (quota !== null) return quota;
  if (names.some((other) => foldCase(other) === foldCase(name)))
    throw new CallError('VAF_INPUT_INVALID', `brain: differs only in case from an existing one`);
  return 'free';
}

async function fullFor(
  { platform }: FoundingGround,
  transaction: SqlClient,
  { workspace, family }: Maker,
  onNode: number,
): Promise<BrainQuota | null> {
  const limit = platform.config.SVC_BRAINS_PER_HOME;
  if (family !== null) {
    const { here, made } = await countHomes(transaction, workspace, family);
    if (here >= limit)
      return { message: `The workspace ${workspace} has ${limit} brains and may have no more.`, limit };
    if (made >= limit)
      return { message: `You and who you spawned have made ${limit} brains and may make no more.`, limit };
  }
  return onNode < MAX_BRAINS
    ? null
    : { message: `This node has ${MAX_BRAINS} brains and takes no more.`, limit: MAX_BRAINS };
}
