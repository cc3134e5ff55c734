/** Statements on queues. */
import type { SqlClient } from '@svc/runtime/database.ts';
import { MOST_QUEUES, type QueueCounts, type StreamOptions, type StreamPlace } from './domain/stream.ts';
import { BLOCKED, DUE, READY, STATUS } from './work-rows.ts';

export interface StreamRow {
  readonly streamId: string;
  readonly createdBy: string;
  readonly lastSeq: number;
  readonly options: StreamOptions;
}

const OPTIONS = `json_build_object('maxAttempts', s.max_attempts, 'leaseMs', s.lease_ms, 'backoffMs', s.backoff_ms,
  'backoffMaxMs', s.backoff_max_ms, 'retentionMs', s.retention_ms, 'maxItems', s.max_items, 'ordered', s.ordered) AS options`;
export const STREAM_COLUMNS = `s.stream_id AS "streamId", s.created_by AS "createdBy", s.last_seq::float8 AS "lastSeq", ${OPTIONS}`;

export interface NewStream extends StreamPlace {
  readonly streamId: string;
  readonly by: string;
  /** Under whom it is counted; null = an operator, or the registry. */
  readonly family: string | null;
  /** It is there for what is put into it, and goes when it is empty. */
  readonly implicit: boolean;
  readonly options: StreamOptions;
}

/** The queue, locked, made if there is none; who puts something into it meanwhile waits. */
export async function ensureStream(
  tx: SqlClient,
  { streamId, workspace, stream, by, family, implicit, options: o }: NewStream,
): Promise<StreamRow & { readonly isNew: boolean }> {
  const [row] = await tx.$queryRawUnsafe<(StreamRow & { isNew: boolean })[]>(
    `INSERT INTO universe.streams AS s (stream_id, workspace, name, created_by, max_attempts, lease_ms, backoff_ms,
       backoff_max_ms, retention_ms, max_items, ordered, family, implicit, created_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, clock_timestamp())
     ON CONFLICT (workspace, name) DO UPDATE SET last_seq = s.last_seq RETURNING ${STREAM_COLUMNS}, s.stream_id = $1 AS "isNew"`,
    streamId,
    workspace,
    stream,
    by,
    o.maxAttempts,
    o.leaseMs,
    o.backoffMs,
    o.backoffMaxMs,
    o.retentionMs,
    o.maxItems,
    o.ordered,
    family,
    implicit,
  );
  if (row === undefined) throw new Error('a queue that is neither made nor found');
  return row;
}

export async function readStream(
  tx: SqlClient,
  { workspace, stream }: StreamPlace,
  lock: '' | 'FOR UPDATE' = '',
): Promise<StreamRow | null> {
  const [row] = await tx.$queryRawUnsafe<StreamRow[]>(
    `SELECT ${STREAM_COLUMNS} FROM universe.streams s WHERE workspace = $1 AND name = $2 ${lock}`,
    workspace,
    stream,
  );
  return row ?? null;
}

export async function countStreams(
  tx: SqlClient,
  { workspace, family }: { readonly workspace: string; readonly family: string | null },
): Promise<QueueCounts> {
  const [row] = await tx.$queryRawUnsafe<QueueCounts[]>(
    `SELECT count(*)::int AS "ofWorkspace", count(*) FILTER (WHERE family = $2)::int AS "ofFamily"
     FROM universe.streams WHERE workspace = $1`,
    workspace,
    family,
  );
  if (row === undefined) throw new Error('a count without a row');
  return row;
}

/** Who made the queues of a family that has no room for another one; nobody where it has some. */
export async function readCreatorsWithoutRoom(
  client: SqlClient,
  { workspace, family }: { readonly workspace: string; readonly family: string },
): Promise<string[]> {
  const rows = await client.$queryRawUnsafe<{ createdBy: string }[]>(
    `SELECT created_by AS "createdBy" FROM (
       SELECT created_by, count(*) OVER () AS queues FROM universe.streams WHERE workspace = $1 AND family = $2) s
     WHERE queues >= ${MOST_QUEUES.ofFamily} GROUP BY created_by`,
    workspace,
    family,
  );
  return rows.map(({ createdBy }) => createdBy);
}

/** The oldest of theirs in which nothing lies, if nothing is put there meanwhile. Returns its name; null = there was none. */
export async function deleteOldestEmptyOf(
  tx: SqlClient,
  { workspace, family, gone }: Pick<NewStream, 'workspace' | 'family'> & { readonly gone: readonly string[] },
): Promise<string | null> {
  const [row] = await tx.$queryRawUnsafe<{ stream: string }[]>(
    `DELETE FROM universe.streams s USING (
       SELECT e.stream_id, e.last_seq FROM universe.streams e
       WHERE workspace = $1 AND family = $2 AND created_by = ANY($3::text[])
         AND NOT EXISTS (SELECT 1 FROM universe.work w WHERE w.stream_id = e.stream_id)
       ORDER BY created_at, name LIMIT 1) empty
     WHERE s.stream_id = empty.stream_id AND s.last_seq = empty.last_seq RETURNING s.name AS stream`,
    workspace,
    family,
    gone,
  );
  return row?.stream ?? null;
}

/** Returns how much work went with it. */
export async function deleteStream(tx: SqlClient, streamId: string): Promise<number> {
  const removed = await tx.$executeRawUnsafe('DELETE FROM universe.work WHERE stream_id = $1', streamId);
  await tx.$executeRawUnsafe('DELETE FROM universe.streams WHERE stream_id = $1', streamId);
  return removed;
}

interface StreamCounts {
  readonly pending: number;
  readonly delayed: number;
  readonly working: number;
  readonly completed: number;
  readonly dead: number;
}

const COUNTS = `count(w.*) FILTER (WHERE ${STATUS} = 'pending')::float8 AS pending,
  count(w.*) FILTER (WHERE w.status = 'pending' AND w.waits AND w.available_at > clock_timestamp())::float8 AS delayed,
  count(w.*) FILTER (WHERE ${STATUS} = 'working')::float8 AS working,
  count(w.*) FILTER (WHERE w.status = 'completed')::float8 AS completed,
  count(w.*) FILTER (WHERE ${STATUS} = 'dead')::float8 AS dead`;

interface StreamInfo extends StreamCounts {
  readonly oldestPendingMs: number;
}

export async function countWork(client: SqlClient, streamId: string): Promise<StreamInfo> {
  const [row] = await client.$queryRawUnsafe<StreamInfo[]>(
    `SELECT ${COUNTS}, greatest(0, floor(extract(epoch FROM clock_timestamp() - min(w.created_at)
         FILTER (WHERE ${STATUS} = 'pending')) * 1000))::float8 AS "oldestPendingMs"
     FROM universe.streams s LEFT JOIN universe.work w USING (stream_id) WHERE s.stream_id = $1`,
    streamId,
  );
  if (row === undefined) throw new Error('a count without a row');
  return row;
}

interface NamedCounts extends StreamCounts, StreamPlace {}

/** Queues of these workspaces, and an inbox. */
export interface Seen {
  readonly workspaces: readonly string[];
  readonly inbox: string | null;
}

/** Those that somebody sees, or all (null), in the order of workspace and name after a key of `placeKey`. */
export function readCounts(
  client: SqlClient,
  seen: Seen | null,
  { after, limit }: { readonly after: string | null; readonly limit: number },
): Promise<NamedCounts[]> {
  return client.$queryRawUnsafe<NamedCounts[]>(
    `WITH chosen AS (SELECT * FROM universe.streams s
       WHERE ($1::text[] IS NULL OR workspace = ANY($1) OR (workspace = '' AND name = $4)) AND (workspace || '/' || name) COLLATE "C" > $2
       ORDER BY (workspace || '/' || name) COLLATE "C" LIMIT $3)
     SELECT s.workspace, s.name AS stream, ${COUNTS} FROM chosen s LEFT JOIN universe.work w USING (stream_id)
     GROUP BY s.workspace, s.name ORDER BY (s.workspace || '/' || s.name) COLLATE "C"`,
    seen?.workspaces ?? null,
    after ?? '',
    limit,
    seen?.inbox ?? null,
  );
}

export function placeKey({ workspace, stream }: StreamPlace): string {
  return `${workspace}/${stream}`;
}

/** The next item that somebody would get; null = none now. */
export async function readNext(tx: SqlClient, { streamId, options }: StreamRow): Promise<string | null> {
  const next = (state: string): string =>
    `(SELECT w.work_id, w.seq FROM universe.work w WHERE w.stream_id = $1 AND ${state}
       ${options.ordered ? `AND NOT ${BLOCKED}` : ''} ORDER BY w.seq LIMIT 1)`;
  const [row] = await tx.$queryRawUnsafe<{ workId: string }[]>(
    `SELECT work_id AS "workId" FROM (${next(READY)} UNION ALL ${next(DUE)}) next ORDER BY seq LIMIT 1`,
    streamId,
  );
  return row?.workId ?? null;
}

/** In how long something may be there for who found nothing; null = nothing is on its way. */
export async function readRetryAfter(tx: SqlClient, { streamId, options }: StreamRow): Promise<number | null> {
  // `greatest` passes over what is null, and would take a queue without work for one that has some now.
  const [row] = await tx.$queryRawUnsafe<{ ms: number | null }[]>(
    `SELECT ceil(extract(epoch FROM least(
         (SELECT clock_timestamp() FROM (SELECT * FROM universe.work WHERE stream_id = $1 AND status = 'pending' AND NOT waits
            ORDER BY seq LIMIT 1) w ${options.ordered ? `WHERE NOT ${BLOCKED}` : ''}),
         (SELECT min(available_at) FROM universe.work WHERE stream_id = $1 AND status = 'pending' AND waits),
         (SELECT min(lease_expires_at) FROM universe.work WHERE stream_id = $1 AND status = 'working'))
       - clock_timestamp()) * 1000)::float8 AS ms`,
    streamId,
  );
  const ms = row?.ms ?? null;
  return ms === null ? null : Math.max(0, ms);
}
