/** Rows of restores, and the statements that read and change them. Each change names the state that it was decided on. */
import type { CallErrorCode } from '@svc/contract/codes.ts';
import type { Bearer } from '@svc/contract/operations.brain-files.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import type { Waiting } from '@svc/runtime/runs-through.ts';
import { epochMs } from '@svc/runtime/sql-time.ts';
import type { NewFile, Restore } from './domain/restore.ts';

/** Why one was aborted, as its caller is told whenever it asks. */
export type Ending =
  | { readonly refusal: 'E_SNAPSHOT_BUDGET' | 'E_STATE_WRITE'; readonly details: Readonly<Record<string, unknown>> }
  | { readonly failure: CallErrorCode };

interface FileResources {
  readonly path: string;
  readonly resources: readonly string[];
}

export interface RestoreRow extends Restore {
  readonly bearer: Bearer;
  readonly brain: string;
  readonly branch: string;
  readonly files: readonly NewFile[];
  readonly attempt: number;
  readonly entryId: string | null;
  readonly refusal: Ending | null;
  readonly resources: readonly FileResources[] | null;
  readonly argsHash: string | null;
  /** By the clock of the database. */
  readonly ageMs: number;
}

export type NewRestore = Omit<
  RestoreRow,
  'state' | 'attempt' | 'entryId' | 'refusal' | 'resources' | 'refundOwed' | 'ageMs'
> & {
  readonly openKey: string | null;
};

const COLUMNS = `restore_id AS "restoreId", state, manifest_id AS "manifestId", world, actor, bearer, brain, branch,
  state_root AS "stateRoot", live_root AS "liveRoot", materialize, files, at::float8 AS at, attempt, entry_id AS "entryId",
  refund_owed AS "refundOwed", refusal, resources, args_hash AS "argsHash",
  ${epochMs('clock_timestamp()')} - ${epochMs('started_at')} AS "ageMs"`;
const KEPT_KEY = `interval '24 hours'`;

async function readOne(client: SqlClient, rest: string, value: string): Promise<RestoreRow | null> {
  const [row = null] = await client.$queryRawUnsafe<RestoreRow[]>(
    `SELECT ${COLUMNS} FROM universe.restores WHERE ${rest}`,
    value,
  );
  return row;
}

export async function readRestore(client: SqlClient, restoreId: string): Promise<RestoreRow> {
  const row = await readOne(client, 'restore_id = $1', restoreId);
  if (row === null) throw new Error('a restore that was begun has no row');
  return row;
}

/** The one that a keyed call began. */
export function readBegun(client: SqlClient, openKey: string): Promise<RestoreRow | null> {
  return readOne(client, `open_key = $1 AND started_at >= now() - ${KEPT_KEY}`, openKey);
}

/** False = there is one under that key. */
export async function insertRestore(tx: SqlClient, restore: NewRestore): Promise<boolean> {
  const { restoreId, manifestId, world, actor, bearer, brain, branch } = restore;
  const { stateRoot, liveRoot, materialize, files, at, openKey, argsHash } = restore;
  if (openKey !== null) {
    await tx.$executeRawUnsafe(
      `UPDATE universe.restores SET open_key = NULL WHERE open_key = $1 AND started_at < now() - ${KEPT_KEY}`,
      openKey,
    );
  }
  const inserted = await tx.$executeRawUnsafe(
    `INSERT INTO universe.restores (restore_id, state, manifest_id, world, actor, bearer, brain, branch, state_root,
       live_root, materialize, files, at, open_key, args_hash, started_at)
     VALUES ($1, 'started', $2, $3, $4, $5::json, $6, $7, $8, $9, $10, $11::json, $12::bigint, $13, $14, clock_timestamp())
     ON CONFLICT DO NOTHING`,
    restoreId,
    manifestId,
    world,
    actor,
    JSON.stringify(bearer),
    brain,
    branch,
    stateRoot,
    liveRoot,
    materialize,
    JSON.stringify(files),
    at,
    openKey,
    argsHash,
  );
  return inserted === 1;
}

type From = Pick<RestoreRow, 'restoreId' | 'state' | 'attempt'>;

async function change(
  client: SqlClient,
  { restoreId, state, attempt }: From,
  set: string,
  ...values: unknown[]
): Promise<boolean> {
  const changed = await client.$executeRawUnsafe(
    `UPDATE universe.restores SET ${set} WHERE restore_id = $1 AND state = $2 AND attempt = $3::int`,
    restoreId,
    state,
    attempt,
    ...values,
  );
  return changed === 1;
}

export function markBilled(client: SqlClient, from: From, entryId: string): Promise<boolean> {
  return change(client, from, `state = 'billed', entry_id = $4`, entryId);
}

export function beginAttempt(client: SqlClient, from: From): Promise<boolean> {
  return change(client, from, 'attempt = attempt + 1');
}

export function markWritten(client: SqlClient, from: From, resources: readonly FileResources[]): Promise<boolean> {
  return change(client, from, `state = 'written', resources = $4::json`, JSON.stringify(resources));
}

export function markDone(client: SqlClient, from: From): Promise<boolean> {
  return change(client, from, `state = 'done'`);
}

export function markAborted(client: SqlClient, from: From, ending: Ending, refundOwed: boolean): Promise<boolean> {
  return change(
    client,
    from,
    `state = 'aborted', refusal = $4::json, refund_owed = $5`,
    JSON.stringify(ending),
    refundOwed,
  );
}

/** A debit came to one that somebody has given up meanwhile. */
export async function oweRefund(client: SqlClient, restoreId: string, entryId: string): Promise<void> {
  await client.$executeRawUnsafe(
    `UPDATE universe.restores SET refund_owed = true, entry_id = $2 WHERE restore_id = $1 AND state = 'aborted'`,
    restoreId,
    entryId,
  );
}

export async function markSettled(client: SqlClient, restoreId: string): Promise<void> {
  await client.$executeRawUnsafe('UPDATE universe.restores SET refund_owed = false WHERE restore_id = $1', restoreId);
}

/** The oldest first, behind `after`. */
export async function readUnfinished(client: SqlClient, after: Waiting | null, limit: number): Promise<Waiting[]> {
  return client.$queryRawUnsafe<Waiting[]>(
    `SELECT restore_id AS id, started_at::text AS at FROM universe.restores
     WHERE (state NOT IN ('done', 'aborted') OR refund_owed) AND (started_at, restore_id) > ($1::timestamptz, $2)
     ORDER BY started_at, restore_id LIMIT $3::int`,
    after?.at ?? '-infinity',
    after?.id ?? '',
    limit,
  );
}

export async function sweepRestores(client: SqlClient, days: number): Promise<void> {
  await client.$executeRawUnsafe(
    `DELETE FROM universe.restores WHERE state IN ('done', 'aborted') AND NOT refund_owed
       AND started_at < now() - $1::int * interval '1 day'`,
    days,
  );
}
