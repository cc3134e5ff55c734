/** The rows of sessions of work. Times are ms since the epoch. */
import { hash } from 'node:crypto';
import type { SqlClient } from '@svc/runtime/database.ts';
import { epochMs, timestampOf } from '@svc/runtime/sql-time.ts';
import { EVOLUTION_LIMITS, type FileChanges } from './domain/evolution.ts';

/** Whose session it is: one goes on at a time for each session of a caller. */
export interface Worker {
  readonly brainId: string;
  /** Hash that only the caller's own session has. */
  readonly session: string;
}

export interface EvolutionRow {
  readonly id: string;
  readonly name: string;
  readonly branch: string;
  readonly by: string;
  readonly insights: number;
  readonly files: number;
  readonly uncounted: number;
  readonly startedAt: number;
  readonly endedAt: number | null;
}

const COLUMNS = `id, name, branch, by, insights, files, uncounted::float8 AS uncounted,
  ${epochMs('started_at')} AS "startedAt", ${epochMs('ended_at')} AS "endedAt"`;

function activeKey({ brainId, session }: Worker): string {
  return hash('sha256', `${brainId} ${session}`, 'hex');
}

type NewEvolution = Pick<EvolutionRow, 'id' | 'name' | 'branch' | 'by' | 'startedAt'> & {
  readonly workspace: string;
};

/** False when one goes on. */
export async function insertEvolution(tx: SqlClient, worker: Worker, started: NewEvolution): Promise<boolean> {
  const { id, name, workspace, branch, by, startedAt } = started;
  const inserted = await tx.$executeRawUnsafe(
    `INSERT INTO brain.evolution_sessions
       (brain_id, id, name, workspace, session, active_key, branch, by, started_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, ${timestampOf('$9')}) ON CONFLICT (active_key) DO NOTHING`,
    worker.brainId,
    id,
    name,
    workspace,
    worker.session,
    activeKey(worker),
    branch,
    by,
    startedAt,
  );
  return inserted === 1;
}

export async function readActive(client: SqlClient, worker: Worker, lock = ''): Promise<EvolutionRow | null> {
  const [row] = await client.$queryRawUnsafe<EvolutionRow[]>(
    `SELECT ${COLUMNS} FROM brain.evolution_sessions WHERE active_key = $1 ${lock}`,
    activeKey(worker),
  );
  return row ?? null;
}

/** For the rest of the transaction. */
export function lockActive(tx: SqlClient, worker: Worker): Promise<EvolutionRow | null> {
  return readActive(tx, worker, 'FOR UPDATE');
}

export async function endEvolution(tx: SqlClient, brainId: string, id: string, endedAt: number): Promise<void> {
  await tx.$executeRawUnsafe(
    `UPDATE brain.evolution_sessions SET active_key = NULL, ended_at = ${timestampOf('$3')}
     WHERE brain_id = $1 AND id = $2`,
    brainId,
    id,
    endedAt,
  );
}

/**
 * Beyond so many the oldest goes, of the workspace that has the most. One that goes on is kept while that workspace has
 * one that has ended, and the one that was begun last in any case.
 */
export async function dropOldest(tx: SqlClient, brainId: string): Promise<void> {
  const gone = await tx.$queryRawUnsafe<{ id: string }[]>(
    `DELETE FROM brain.evolution_sessions WHERE brain_id = $1 AND id = (
       SELECT id FROM brain.evolution_sessions WHERE brain_id = $1 AND workspace = (
         SELECT workspace FROM brain.evolution_sessions WHERE brain_id = $1
         GROUP BY workspace ORDER BY count(*) DESC, workspace LIMIT 1)
       ORDER BY active_key IS NOT NULL, id LIMIT 1)
       AND (SELECT count(*) FROM brain.evolution_sessions WHERE brain_id = $1) > ${EVOLUTION_LIMITS.sessions}
     RETURNING id`,
    brainId,
  );
  for (const { id } of gone)
    await tx.$executeRawUnsafe(
      'DELETE FROM brain.evolution_events WHERE brain_id = $1 AND session_id = $2',
      brainId,
      id,
    );
}

/** `count`: with this one. It is kept while there are few. */
export async function noteInsight(
  tx: SqlClient,
  brainId: string,
  { id, count }: { readonly id: string; readonly count: number },
  { insight, at }: { readonly insight: string; readonly at: number },
): Promise<void> {
  await tx.$executeRawUnsafe(
    'UPDATE brain.evolution_sessions SET insights = $3::int WHERE brain_id = $1 AND id = $2',
    brainId,
    id,
    count,
  );
  if (count > EVOLUTION_LIMITS.insights) return;
  await tx.$executeRawUnsafe(
    `INSERT INTO brain.evolution_events (brain_id, session_id, kind, subject, times, text, at)
     VALUES ($1, $2, 'insight', $3, $4::int, $5, ${timestampOf('$6')})`,
    brainId,
    id,
    String(count),
    count,
    insight,
    at,
  );
}

export async function readKnown(
  tx: SqlClient,
  brainId: string,
  id: string,
  paths: readonly string[],
): Promise<Set<string>> {
  const rows = await tx.$queryRawUnsafe<{ subject: string }[]>(
    `SELECT subject FROM brain.evolution_events
     WHERE brain_id = $1 AND session_id = $2 AND kind = 'file' AND subject = ANY($3::text[])`,
    brainId,
    id,
    paths,
  );
  return new Set(rows.map(({ subject }) => subject));
}

export async function writeChanges(
  tx: SqlClient,
  brainId: string,
  id: string,
  { counted, added, uncounted }: { counted: readonly FileChanges[]; added: number; uncounted: number },
): Promise<void> {
  await tx.$executeRawUnsafe(
    `UPDATE brain.evolution_sessions SET files = files + $3::int, uncounted = uncounted + $4::bigint
     WHERE brain_id = $1 AND id = $2`,
    brainId,
    id,
    added,
    uncounted,
  );
  await tx.$executeRawUnsafe(
    `INSERT INTO brain.evolution_events AS e (brain_id, session_id, kind, subject, times, at)
     SELECT $1, $2, 'file', c.file, c.times, clock_timestamp()
     FROM json_to_recordset($3::json) AS c(file text, times int) ORDER BY c.file
     ON CONFLICT (brain_id, session_id, kind, subject)
       DO UPDATE SET times = e.times + excluded.times, at = excluded.at`,
    brainId,
    id,
    JSON.stringify(counted),
  );
}

export async function writeCommit(tx: SqlClient, brainId: string, id: string, commit: string): Promise<void> {
  await tx.$executeRawUnsafe(
    `INSERT INTO brain.evolution_events (brain_id, session_id, kind, subject, times, at)
     SELECT $1, $2, 'commit', $3, 1, clock_timestamp()
     WHERE (SELECT count(*) FROM brain.evolution_events WHERE brain_id = $1 AND session_id = $2 AND kind = 'commit')
       < ${EVOLUTION_LIMITS.files} ON CONFLICT DO NOTHING`,
    brainId,
    id,
    commit,
  );
}

export interface EvolutionEvent {
  readonly kind: 'file' | 'commit' | 'insight';
  readonly subject: string;
  readonly times: number;
  readonly text: string | null;
  readonly at: number;
}

/** In the order in which they are told. */
export function readEvents(client: SqlClient, brainId: string, id: string): Promise<EvolutionEvent[]> {
  return client.$queryRawUnsafe<EvolutionEvent[]>(
    `SELECT kind, subject, times, text, ${epochMs('at')} AS at
     FROM brain.evolution_events WHERE brain_id = $1 AND session_id = $2
     ORDER BY kind, CASE WHEN kind = 'insight' THEN times END, CASE WHEN kind = 'commit' THEN at END, subject`,
    brainId,
    id,
  );
}

export async function readEvolution(client: SqlClient, brainId: string, id: string): Promise<EvolutionRow | null> {
  const [row] = await client.$queryRawUnsafe<EvolutionRow[]>(
    `SELECT ${COLUMNS} FROM brain.evolution_sessions WHERE brain_id = $1 AND id = $2`,
    brainId,
    id,
  );
  return row ?? null;
}

/** Those of a workspace, the newest first; one more than the limit when there are more. */
export function readEvolutions(
  client: SqlClient,
  brainId: string,
  workspace: string,
  { limit, after }: { readonly limit: number; readonly after: string | null },
): Promise<EvolutionRow[]> {
  return client.$queryRawUnsafe<EvolutionRow[]>(
    `SELECT ${COLUMNS} FROM brain.evolution_sessions
     WHERE brain_id = $1 AND workspace = $2 AND ($3::text IS NULL OR id < $3) ORDER BY id DESC LIMIT $4::int`,
    brainId,
    workspace,
    after,
    limit + 1,
  );
}

/** What asks for what was learned last in the sessions that a workspace began last, the newest first. */
export function lastInsightsOf(brainId: string, workspace: string, limit: string): string {
  return `SELECT e.text FROM (
      SELECT id FROM brain.evolution_sessions WHERE brain_id = ${brainId} AND workspace = ${workspace} AND insights > 0
      ORDER BY id DESC LIMIT ${SESSIONS_LOOKED_AT}) s
    JOIN brain.evolution_events e ON e.brain_id = ${brainId} AND e.session_id = s.id AND e.kind = 'insight'
    ORDER BY e.at DESC, s.id DESC, e.times DESC LIMIT ${limit}::int`;
}

export async function readLastInsights(
  client: SqlClient,
  brainId: string,
  workspace: string,
  limit: number,
): Promise<string[]> {
  const sql = lastInsightsOf('$1', '$2', '$3');
  const rows = await client.$queryRawUnsafe<{ text: string }[]>(sql, brainId, workspace, limit);
  return rows.map(({ text }) => text);
}

const SESSIONS_LOOKED_AT = 5;
