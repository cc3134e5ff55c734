/** Statements on items of work. Time is that of the database, read after the locks are there. */
import type { SqlClient } from '@svc/runtime/database.ts';
import type { Statement } from '@svc/runtime/transaction.ts';
import { epochMs, timestampOf } from '@svc/runtime/sql-time.ts';
import type { StreamOptions, StreamPlace } from './domain/stream.ts';
import type { WorkState, WorkStatus } from './domain/work.ts';
import type { StreamRow } from './stream-rows.ts';

const EXPIRED = `(w.status = 'working' AND w.lease_expires_at <= clock_timestamp())`;
/** Of `work w` and `streams s`: as it stands, whether somebody has looked at its lease since or not. */
export const STATUS = `(CASE WHEN NOT ${EXPIRED} THEN w.status WHEN w.attempts >= s.max_attempts THEN 'dead' ELSE 'pending' END)`;
export const CLAIMABLE = `w.status = 'pending' AND w.available_at <= clock_timestamp()`;
export const BLOCKED = `EXISTS (SELECT 1 FROM universe.work b WHERE b.stream_id = w.stream_id AND b.seq < w.seq
  AND (b.status = 'working' OR (b.status = 'pending' AND (b.available_at <= clock_timestamp() OR b.attempts > 0))))`;

/** Items in one transaction: what it costs is the commit. */
export const MOST_TOGETHER = 256;

export interface WorkRow extends WorkState {
  readonly id: string;
  readonly stream: string;
  readonly seq: number;
  readonly key: string | null;
  readonly task: unknown;
  readonly createdAt: number;
  readonly closedAt: number | null;
  readonly result: unknown;
  readonly error: unknown;
}

const COLUMNS = `w.work_id AS id, s.name AS stream, w.seq::float8 AS seq, w.key, w.task, w.attempts,
  ${epochMs('w.available_at')} AS "availableAt", w.agent_id AS "agentId", w.token_hash AS "tokenHash",
  ${epochMs('w.lease_expires_at')} AS "leaseExpiresAt", ${epochMs('w.created_at')} AS "createdAt",
  ${epochMs('w.closed_at')} AS "closedAt", w.result, w.error`;

/** With what a decision needs of its queue. `now` = the clock of the database after the lock. */
export interface LockedWork {
  readonly work: WorkRow;
  readonly now: number;
  readonly streamId: string;
  readonly workspace: string;
  readonly createdBy: string;
  readonly options: Pick<StreamOptions, 'maxAttempts' | 'backoffMs' | 'backoffMaxMs' | 'leaseMs'>;
  readonly isBlocked: boolean;
}

type FlatWork = WorkRow & Omit<LockedWork, 'work' | 'options'> & LockedWork['options'];

/** The queue is locked with it where the order in it decides. */
export async function lockWork(tx: SqlClient, workId: string): Promise<LockedWork | null> {
  await tx.$queryRawUnsafe(
    `SELECT 1 FROM universe.streams WHERE ordered AND stream_id = (SELECT stream_id FROM universe.work WHERE work_id = $1) FOR UPDATE`,
    workId,
  );
  return (await lockWorks(tx, [workId])).get(workId) ?? null;
}

/** Those that are there, by their ids; locked in one order, whoever asks. */
export async function lockWorks(tx: SqlClient, workIds: readonly string[]): Promise<Map<string, LockedWork>> {
  const rows = await tx.$queryRawUnsafe<FlatWork[]>(
    `WITH w AS MATERIALIZED (SELECT * FROM universe.work WHERE work_id = ANY($1::text[]) ORDER BY work_id FOR UPDATE)
     SELECT ${COLUMNS}, w.status, ${epochMs('clock_timestamp()')} AS now, w.stream_id AS "streamId", s.workspace,
       s.created_by AS "createdBy", s.max_attempts AS "maxAttempts", s.backoff_ms AS "backoffMs",
       s.backoff_max_ms AS "backoffMaxMs", s.lease_ms AS "leaseMs", s.ordered AND ${BLOCKED} AS "isBlocked"
     FROM w JOIN universe.streams s USING (stream_id)`,
    workIds,
  );
  return new Map(rows.map((row) => [row.id, lockedOf(row)]));
}

function lockedOf(row: FlatWork): LockedWork {
  const { now, streamId, workspace, createdBy, isBlocked, maxAttempts, backoffMs, backoffMaxMs, leaseMs, ...work } =
    row;
  const options = { maxAttempts, backoffMs, backoffMaxMs, leaseMs };
  return { work, now, streamId, workspace, createdBy, isBlocked, options };
}

export async function readWork(client: SqlClient, workId: string): Promise<WorkRow | null> {
  const [row] = await client.$queryRawUnsafe<WorkRow[]>(
    `SELECT ${COLUMNS}, ${STATUS} AS status FROM universe.work w JOIN universe.streams s USING (stream_id) WHERE work_id = $1`,
    workId,
  );
  return row ?? null;
}

export function readWorkOf(
  client: SqlClient,
  streamId: string,
  { status, after, limit }: { readonly status: WorkStatus | null; readonly after: number; readonly limit: number },
): Promise<WorkRow[]> {
  return client.$queryRawUnsafe<WorkRow[]>(
    `SELECT ${COLUMNS}, ${STATUS} AS status FROM universe.work w JOIN universe.streams s USING (stream_id)
     WHERE w.stream_id = $1 AND w.seq > $2 AND ($3::text IS NULL OR ${STATUS} = $3) ORDER BY w.seq LIMIT $4`,
    streamId,
    after,
    status,
    limit,
  );
}

export interface NewWork {
  readonly workId: string;
  readonly key: string | null;
  readonly task: unknown;
  readonly delayMs: number;
}

/** Under the lock of their queue, numbered in this order. */
export function workInsertion(
  { streamId, lastSeq }: Pick<StreamRow, 'streamId' | 'lastSeq'>,
  works: readonly NewWork[],
): Statement {
  return {
    sql: `WITH numbered AS (UPDATE universe.streams SET last_seq = $6::float8 + $7::int WHERE stream_id = $1)
     INSERT INTO universe.work (work_id, stream_id, seq, key, task, status, available_at, created_at)
     SELECT n.work_id, $1, $6::float8 + n.place, n.key, n.task::json, 'pending',
       clock_timestamp() + n.delay_ms * interval '1 millisecond', clock_timestamp()
     FROM unnest($2::text[], $3::text[], $4::text[], $5::float8[])
       WITH ORDINALITY AS n (work_id, key, task, delay_ms, place)`,
    values: [
      streamId,
      works.map(({ workId }) => workId),
      works.map(({ key }) => key),
      works.map(({ task }) => JSON.stringify(task)),
      works.map(({ delayMs }) => delayMs),
      lastSeq,
      works.length,
    ],
  };
}

export interface Placed {
  readonly id: string;
  readonly seq: number;
}

/** Those that are there, by their keys. */
export async function findByKeys(
  tx: SqlClient,
  { workspace, stream }: StreamPlace,
  keys: readonly string[],
): Promise<Map<string, Placed>> {
  if (keys.length === 0) return new Map();
  const rows = await tx.$queryRawUnsafe<(Placed & { key: string })[]>(
    `SELECT key, work_id AS id, seq::float8 AS seq FROM universe.work WHERE key = ANY($3::text[])
       AND stream_id = (SELECT stream_id FROM universe.streams WHERE workspace = $1 AND name = $2)`,
    workspace,
    stream,
    keys,
  );
  return new Map(rows.map(({ key, ...placed }) => [key, placed]));
}

/** Counts no further than `limit`. */
export async function countOpen(tx: SqlClient, streamId: string, limit: number): Promise<number> {
  const [row] = await tx.$queryRawUnsafe<{ open: number }[]>(
    `SELECT count(*)::int AS open FROM (
       (SELECT 1 FROM universe.work WHERE stream_id = $1 AND status = 'pending' LIMIT $2) UNION ALL
       (SELECT 1 FROM universe.work WHERE stream_id = $1 AND status = 'working' LIMIT $2)) open`,
    streamId,
    limit,
  );
  return row?.open ?? 0;
}

/** What an item becomes; what is not said is emptied. */
export interface WorkChange {
  readonly status: WorkStatus;
  readonly attempts: number;
  readonly availableAt?: number;
  readonly agentId?: string | null;
  readonly tokenHash?: string | null;
  /** From now on. */
  readonly leaseMs?: number;
  readonly result?: unknown;
  readonly error?: unknown;
}

/** Returns until when it is leased. */
export async function updateWork(tx: SqlClient, workId: string, change: WorkChange): Promise<number | null> {
  const { status, attempts, availableAt, agentId = null, tokenHash = null, leaseMs, result, error } = change;
  const [row] = await tx.$queryRawUnsafe<{ until: number | null }[]>(
    `UPDATE universe.work SET status = $2, attempts = $3, available_at = coalesce(${timestampOf('$4')}, available_at),
       agent_id = $5, token_hash = $6, lease_expires_at = clock_timestamp() + $7::float8 * interval '1 millisecond',
       closed_at = CASE WHEN $2 IN ('completed', 'dead') THEN clock_timestamp() END, result = $8::json,
       error = coalesce($9::json, error)
     WHERE work_id = $1 RETURNING ${epochMs('lease_expires_at')} AS until`,
    workId,
    status,
    attempts,
    availableAt ?? null,
    agentId,
    tokenHash,
    leaseMs ?? null,
    result === undefined ? null : JSON.stringify(result),
    error === undefined ? null : JSON.stringify(error),
  );
  return row?.until ?? null;
}

/** Who takes what is offered next; `ttlMs` null = for as long as the queue says. */
export interface Claimant {
  readonly name: string;
  readonly tokenHash: string;
  readonly ttlMs: number | null;
}

/** Gives what is offered to these, the first to the first, and passes over what somebody has in hand. */
export async function claimNext(
  tx: SqlClient,
  { streamId, options }: StreamRow,
  claimants: readonly Claimant[],
): Promise<WorkRow[]> {
  const rows = await tx.$queryRawUnsafe<(WorkRow & { place: number })[]>(
    `WITH next AS MATERIALIZED (SELECT w.work_id, w.seq FROM universe.work w
       WHERE w.stream_id = $1 AND ${CLAIMABLE} ${options.ordered ? `AND NOT ${BLOCKED}` : ''}
       ORDER BY w.seq LIMIT ${options.ordered ? 1 : '$5'} FOR UPDATE OF w SKIP LOCKED),
     given AS (SELECT n.work_id, c.* FROM (SELECT work_id, row_number() OVER (ORDER BY seq) AS place FROM next) n
       JOIN unnest($2::text[], $3::text[], $4::float8[]) WITH ORDINALITY AS c (agent_id, token_hash, ttl_ms, place) USING (place)),
     taken AS (UPDATE universe.work w SET status = 'working', attempts = w.attempts + 1, agent_id = g.agent_id,
         token_hash = g.token_hash,
         lease_expires_at = clock_timestamp() + coalesce(g.ttl_ms, s.lease_ms) * interval '1 millisecond'
       FROM given g, universe.streams s WHERE w.work_id = g.work_id AND s.stream_id = w.stream_id
       RETURNING ${COLUMNS}, w.status, g.place::int AS place)
     SELECT * FROM taken ORDER BY place`,
    streamId,
    claimants.map(({ name }) => name),
    claimants.map(({ tokenHash }) => tokenHash),
    claimants.map(({ ttlMs }) => ttlMs),
    ...(options.ordered ? [] : [claimants.length]),
  );
  return rows.map(({ place: _place, ...row }) => row);
}

export interface Completion {
  readonly workId: string;
  readonly result: unknown;
}

/** Locked ones, which stay those of their holders. */
export function completion(completions: readonly Completion[]): Statement {
  return {
    sql: `UPDATE universe.work w SET status = 'completed', token_hash = NULL, lease_expires_at = NULL,
       closed_at = clock_timestamp(), result = c.result::json
     FROM unnest($1::text[], $2::text[]) AS c (work_id, result) WHERE w.work_id = c.work_id`,
    values: [completions.map(({ workId }) => workId), completions.map(({ result }) => JSON.stringify(result))],
  };
}

const AT_ONCE = 500;

const OF_ONE = 'AND stream_id = (SELECT stream_id FROM universe.streams WHERE workspace = $1 AND name = $2';

/**
 * Locks items whose lease is over, of one queue or of all (null); those that somebody has in hand are left to them.
 * `unordered`: of none in which the order decides, which is itself locked before its items.
 */
export async function lockExpired(
  tx: SqlClient,
  place: StreamPlace | null,
  kind: 'unordered' | 'any' = 'any',
): Promise<string[]> {
  const ofOne = `${OF_ONE}${kind === 'unordered' ? ' AND NOT ordered' : ''})`;
  const rows = await tx.$queryRawUnsafe<{ workId: string }[]>(
    `SELECT work_id AS "workId" FROM universe.work WHERE status = 'working' AND lease_expires_at <= clock_timestamp()
       ${place === null ? '' : ofOne} ORDER BY lease_expires_at LIMIT ${AT_ONCE} FOR UPDATE SKIP LOCKED`,
    ...(place === null ? [] : [place.workspace, place.stream]),
  );
  return rows.map(({ workId }) => workId);
}

/** Removes what has been over for as long as its queue keeps it; returns how much. */
export function sweepWork(client: SqlClient): Promise<number> {
  return client.$executeRawUnsafe(
    `DELETE FROM universe.work WHERE reports <= reported AND work_id IN (
       SELECT w.work_id FROM universe.work w JOIN universe.streams s USING (stream_id)
       WHERE w.reports <= w.reported AND w.closed_at < clock_timestamp() - s.retention_ms * interval '1 millisecond' ORDER BY w.closed_at LIMIT ${AT_ONCE})`,
  );
}
