/** Statements on what is offered: taken under leases, given up by them, and due after a wait. */
import type { SqlClient } from '@svc/runtime/database.ts';
import { NOW, NOW_AS_KEPT } from '@svc/runtime/sql-time.ts';
import type { StreamPlace } from './domain/stream.ts';
import { STREAM_COLUMNS, type StreamRow } from './stream-rows.ts';
import { BLOCKED, DUE, READY, WAITING, WORK_COLUMNS, type WorkRow } from './work-rows.ts';

/** Who takes what is offered next; `ttlMs` null = for as long as the queue says. */
interface Claimant {
  readonly name: string;
  readonly tokenHash: string;
  readonly ttlMs: number | null;
}

/**
 * Of `next (work_id, seq)`, to the claimants in $2 to $4, the first to the first: a claimant is taken by its place, since a
 * join of the two would try each with each.
 */
const TAKEN = `given AS (SELECT work_id, (row_number() OVER (ORDER BY seq))::int AS place FROM next),
  taken AS (UPDATE universe.work w SET status = 'working', attempts = w.attempts + 1,
      agent_id = ($2::text[])[g.place], token_hash = ($3::text[])[g.place],
      lease_expires_at = clock_timestamp() + coalesce(($4::float8[])[g.place], s.lease_ms) * interval '1 millisecond'
    FROM given g, universe.streams s WHERE w.work_id = g.work_id AND s.stream_id = w.stream_id
    RETURNING ${WORK_COLUMNS}, w.status, g.place)`;

function columnsOf(claimants: readonly Claimant[]): [string[], string[], (number | null)[]] {
  return [
    claimants.map(({ name }) => name),
    claimants.map(({ tokenHash }) => tokenHash),
    claimants.map(({ ttlMs }) => ttlMs),
  ];
}

/** Gives what is offered to these, the first to the first, and passes over what somebody has in hand. */
export async function claimNext(
  tx: SqlClient,
  { streamId, options: { ordered } }: StreamRow,
  claimants: readonly Claimant[],
): Promise<WorkRow[]> {
  const rows = await tx.$queryRawUnsafe<(WorkRow & { place: number })[]>(
    `WITH next AS MATERIALIZED (SELECT w.work_id, w.seq FROM universe.work w
       WHERE w.stream_id = $1 AND ${READY} ${ordered ? `AND NOT ${BLOCKED}` : ''}
       ORDER BY w.seq LIMIT ${ordered ? 1 : '$5'} FOR UPDATE OF w SKIP LOCKED),
     ${TAKEN} SELECT * FROM taken ORDER BY place`,
    streamId,
    ...columnsOf(claimants),
    ...(ordered ? [] : [claimants.length]),
  );
  return rows.map(({ place: _place, ...row }) => row);
}

interface QuickClaim {
  readonly row: StreamRow;
  /** Null = not judged here: the order decides, or something there has to be offered anew before. */
  readonly taken: readonly WorkRow[] | null;
}

type ClaimedRow = WorkRow & { readonly place: number };

/**
 * The queue, and the same of it in one statement where nothing has to be done before. Null = there is no such queue. What comes
 * first is read from its index; asked whether there is something due, the database may read all that is not.
 */
export async function claimAtOnce(
  tx: SqlClient,
  { workspace, stream }: StreamPlace,
  claimants: readonly Claimant[],
): Promise<QuickClaim | null> {
  const [found] = await tx.$queryRawUnsafe<(StreamRow & { isSimple: boolean; taken: ClaimedRow[] | null })[]>(
    `WITH s AS MATERIALIZED (SELECT s.*, NOT s.ordered
         AND coalesce((SELECT min(w.lease_expires_at) FROM universe.work w
           WHERE w.stream_id = s.stream_id AND w.status = 'working') > ${NOW}, true)
         AND coalesce((SELECT min(w.available_at) FROM universe.work w
           WHERE w.stream_id = s.stream_id AND ${WAITING}) > ${NOW_AS_KEPT}, true) AS simple
       FROM universe.streams s WHERE workspace = $5 AND name = $6),
     next AS MATERIALIZED (SELECT w.work_id, w.seq FROM universe.work w
       WHERE w.stream_id = (SELECT stream_id FROM s WHERE simple) AND ${READY}
       ORDER BY w.seq LIMIT $1 FOR UPDATE OF w SKIP LOCKED),
     ${TAKEN}
     SELECT ${STREAM_COLUMNS}, s.simple AS "isSimple",
       (SELECT json_agg(taken.* ORDER BY place) FROM taken) AS taken FROM s`,
    claimants.length,
    ...columnsOf(claimants),
    workspace,
    stream,
  );
  if (found === undefined) return null;
  const { isSimple, taken, ...row } = found;
  return { row, taken: isSimple ? (taken ?? []).map(({ place: _place, ...work }) => work) : null };
}

const AT_ONCE = 500;

/**
 * Locks items whose lease is over, of one queue or of all (null); those that somebody has in hand are left to them.
 */
export async function lockExpired(tx: SqlClient, streamId: string | null): Promise<string[]> {
  const rows = await tx.$queryRawUnsafe<{ workId: string }[]>(
    `SELECT work_id AS "workId" FROM universe.work WHERE status = 'working' AND lease_expires_at <= ${NOW}
       ${streamId === null ? '' : 'AND stream_id = $1'} ORDER BY lease_expires_at LIMIT ${AT_ONCE} FOR UPDATE SKIP LOCKED`,
    ...(streamId === null ? [] : [streamId]),
  );
  return rows.map(({ workId }) => workId);
}

/** Offers some of what has waited for long enough; returns how much. */
export function endWaits(tx: SqlClient, streamId: string): Promise<number> {
  return tx.$executeRawUnsafe(
    `UPDATE universe.work SET waits = false WHERE work_id IN (SELECT w.work_id FROM universe.work w
       WHERE w.stream_id = $1 AND ${DUE} ORDER BY w.available_at LIMIT ${AT_ONCE} FOR UPDATE SKIP LOCKED)`,
    streamId,
  );
}

interface Fallen {
  readonly workId: string;
  readonly status: 'pending' | 'dead';
}

/** Of locked ones: an attempt is over without a result. What is offered again is so at once. */
export async function fallAll(tx: SqlClient, fallen: readonly Fallen[], error: unknown): Promise<void> {
  await tx.$executeRawUnsafe(
    `UPDATE universe.work w SET status = f.status, waits = false, agent_id = NULL, token_hash = NULL,
       lease_expires_at = NULL, result = NULL, error = $3::json,
       available_at = CASE WHEN f.status = 'pending' THEN clock_timestamp() ELSE w.available_at END,
       closed_at = CASE WHEN f.status = 'dead' THEN clock_timestamp() END
     FROM unnest($1::text[], $2::text[]) AS f (work_id, status) WHERE w.work_id = f.work_id`,
    fallen.map(({ workId }) => workId),
    fallen.map(({ status }) => status),
    JSON.stringify(error),
  );
}
