/** Statements on items of work. Time is that of the database, read after the locks are there. */
import type { SqlClient } from '@svc/runtime/database.ts';
import type { Statement } from '@svc/runtime/transaction.ts';
import { epochMs, NOW_AS_KEPT, timestampOf } from '@svc/runtime/sql-time.ts';
import type { StreamOptions, StreamPlace } from './domain/stream.ts';
import type { WorkState, WorkStatus } from './domain/work.ts';
import type { StreamRow } from './stream-rows.ts';

const EXPIRED = `(w.status = 'working' AND w.lease_expires_at <= clock_timestamp())`;
/** Of `work w` and `streams s`: as it stands, whether somebody has looked at its lease since or not. */
export const STATUS = `(CASE WHEN NOT ${EXPIRED} THEN w.status WHEN w.attempts >= s.max_attempts THEN 'dead' ELSE 'pending' END)`;
/** What does not wait was there in its time, wherever the clock is now: one that was set back takes nothing away again. */
export const READY = `w.status = 'pending' AND NOT w.waits`;
export const WAITING = `w.status = 'pending' AND w.waits`;
/** Its time has come, and nobody has looked since. */
export const DUE = `${WAITING} AND w.available_at <= ${NOW_AS_KEPT}`;
const before = (state: string): string =>
  `EXISTS (SELECT 1 FROM universe.work b WHERE b.stream_id = w.stream_id AND b.seq < w.seq AND ${state})`;
const OFFERED = `(b.available_at <= ${NOW_AS_KEPT} OR b.attempts > 0)`;
/** Each state apart, as there is an index for each. */
export const BLOCKED = `(${before(`b.status = 'working'`)} OR ${before(`b.status = 'pending' AND NOT b.waits`)}
  OR ${before(`b.status = 'pending' AND b.waits AND ${OFFERED}`)})`;

/** Items in one transaction: what it costs is the commit. */
export const MOST_TOGETHER = 512;

/** An item as decisions see it: without what somebody has put into it. */
interface WorkItem extends WorkState {
  readonly id: string;
  readonly stream: string;
  readonly seq: number;
}

export interface WorkRow extends WorkItem {
  readonly key: string | null;
  readonly task: unknown;
  readonly createdAt: number;
  readonly closedAt: number | null;
  readonly result: unknown;
  readonly error: unknown;
}

/** Of `work w`, where the name of its queue is that of `stream`. */
const itemColumnsOn = (
  stream: string,
): string => `w.work_id AS id, ${stream}.name AS stream, w.seq::float8 AS seq, w.attempts,
  ${epochMs('w.available_at')} AS "availableAt", w.agent_id AS "agentId", w.token_hash AS "tokenHash",
  ${epochMs('w.lease_expires_at')} AS "leaseExpiresAt"`;
const columnsOn = (stream: string): string => `${itemColumnsOn(stream)}, w.key, w.task,
  ${epochMs('w.created_at')} AS "createdAt", ${epochMs('w.closed_at')} AS "closedAt", w.result, w.error`;
export const WORK_COLUMNS = columnsOn('s');

/** With what a decision needs of its queue. `now` = the clock of the database after the lock. */
export interface LockedWork {
  readonly work: WorkItem;
  readonly now: number;
  readonly streamId: string;
  readonly workspace: string;
  readonly createdBy: string;
  readonly waits: boolean;
  readonly options: Pick<StreamOptions, 'maxAttempts' | 'backoffMs' | 'backoffMaxMs' | 'leaseMs'>;
  readonly isBlocked: boolean;
}

type FlatWork = WorkItem & Omit<LockedWork, 'work' | 'options'> & LockedWork['options'];

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
     SELECT ${itemColumnsOn('s')}, w.status, ${epochMs('clock_timestamp()')} AS now, w.stream_id AS "streamId", s.workspace,
       s.created_by AS "createdBy", s.max_attempts AS "maxAttempts", s.backoff_ms AS "backoffMs",
       s.backoff_max_ms AS "backoffMaxMs", s.lease_ms AS "leaseMs", w.waits, s.ordered AND ${BLOCKED} AS "isBlocked"
     FROM w JOIN universe.streams s USING (stream_id)`,
    workIds,
  );
  return new Map(rows.map((row) => [row.id, lockedOf(row)]));
}

function lockedOf(row: FlatWork): LockedWork {
  const {
    now,
    streamId,
    workspace,
    createdBy,
    waits,
    isBlocked,
    maxAttempts,
    backoffMs,
    backoffMaxMs,
    leaseMs,
    ...work
  } = row;
  const options = { maxAttempts, backoffMs, backoffMaxMs, leaseMs };
  return { work, now, streamId, workspace, createdBy, waits, isBlocked, options };
}

export async function readWork(client: SqlClient, workId: string): Promise<WorkRow | null> {
  const [row] = await client.$queryRawUnsafe<WorkRow[]>(
    `SELECT ${WORK_COLUMNS}, ${STATUS} AS status FROM universe.work w JOIN universe.streams s USING (stream_id) WHERE work_id = $1`,
    workId,
  );
  return row ?? null;
}

/** Of what somebody has put into an item. */
const BYTES = `(octet_length(w.task::text) + coalesce(octet_length(w.result::text), 0) + coalesce(octet_length(w.error::text), 0))`;
/** After so much a page is over, whatever is in its last item. */
const PAGE_BYTES = 1_048_576;

interface WorkPage {
  readonly items: readonly WorkRow[];
  /** Nothing comes after these. */
  readonly isLast: boolean;
}

/** In their order, fewer where they are large. */
export async function readWorkOf(
  client: SqlClient,
  streamId: string,
  { status, after, limit }: { readonly status: WorkStatus | null; readonly after: number; readonly limit: number },
): Promise<WorkPage> {
  const rows = await client.$queryRawUnsafe<(WorkRow & { readonly fetched: number })[]>(
    `WITH page AS (SELECT w.*, sum(${BYTES}) OVER (ORDER BY w.seq) - ${BYTES} AS before, count(*) OVER () AS fetched
       FROM (SELECT w.*, s.name, ${STATUS} AS shown FROM universe.work w JOIN universe.streams s USING (stream_id)
         WHERE w.stream_id = $1 AND w.seq > $2 AND ($3::text IS NULL OR ${STATUS} = $3) ORDER BY w.seq LIMIT $4) w)
     SELECT ${columnsOn('w')}, w.shown AS status, w.fetched::int AS fetched FROM page w
     WHERE w.before < ${PAGE_BYTES} ORDER BY w.seq`,
    streamId,
    after,
    status,
    limit + 1,
  );
  const items = rows.slice(0, limit).map(({ fetched: _fetched, ...row }) => row);
  return { items, isLast: items.length === (rows[0]?.fetched ?? 0) };
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
     INSERT INTO universe.work (work_id, stream_id, seq, key, task, status, waits, available_at, created_at)
     SELECT n.work_id, $1, $6::float8 + n.place, n.key, n.task::json, 'pending', n.delay_ms > 0,
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
       AND key IS NOT NULL AND stream_id = (SELECT stream_id FROM universe.streams WHERE workspace = $1 AND name = $2)`,
    workspace,
    stream,
    keys,
  );
  return new Map(rows.map(({ key, ...placed }) => [key, placed]));
}

/** Counts no further than `limit`. */
export async function countOpen(tx: SqlClient, streamId: string, limit: number): Promise<number> {
  const states = [`status = 'pending' AND NOT waits`, `status = 'pending' AND waits`, `status = 'working'`];
  const each = states.map((state) => `(SELECT 1 FROM universe.work WHERE stream_id = $1 AND ${state} LIMIT $2)`);
  const [row] = await tx.$queryRawUnsafe<{ open: number }[]>(
    `SELECT count(*)::int AS open FROM (${each.join(' UNION ALL ')}) open`,
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
       waits = $2 = 'pending' AND ${timestampOf('$4')} > clock_timestamp(),
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

/** Removes what has been over for as long as its queue keeps it; returns how much. */
export function sweepWork(client: SqlClient): Promise<number> {
  return client.$executeRawUnsafe(
    `DELETE FROM universe.work WHERE reports <= reported AND work_id IN (
       SELECT w.work_id FROM universe.streams s CROSS JOIN LATERAL (
         SELECT work_id FROM universe.work w WHERE w.stream_id = s.stream_id AND w.reports <= w.reported
           AND w.closed_at < clock_timestamp() - s.retention_ms * interval '1 millisecond'
         ORDER BY w.closed_at LIMIT ${AT_ONCE}) w LIMIT ${AT_ONCE})`,
  );
}

/** What is over and is kept in one queue at most; the oldest goes first. */
const MOST_CLOSED = 10_000;

/** Removes what is over beyond that, and is told of; returns how much. Only queues that ever held more are looked at. */
export function sweepExcess(client: SqlClient, most = MOST_CLOSED): Promise<number> {
  return client.$executeRawUnsafe(
    `DELETE FROM universe.work WHERE reports <= reported AND work_id IN (
       SELECT w.work_id FROM universe.streams s
       CROSS JOIN LATERAL (SELECT closed_at FROM universe.work WHERE stream_id = s.stream_id AND closed_at IS NOT NULL
         ORDER BY closed_at DESC OFFSET $1 LIMIT 1) newest
       CROSS JOIN LATERAL (SELECT work_id FROM universe.work w WHERE w.stream_id = s.stream_id
         AND w.closed_at <= newest.closed_at AND w.reports <= w.reported ORDER BY w.closed_at LIMIT ${AT_ONCE}) w
       WHERE s.last_seq > $1 LIMIT ${AT_ONCE})`,
    most,
  );
}
