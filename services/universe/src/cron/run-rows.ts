/** Statements on runs. */
import type { SqlClient } from '@svc/runtime/database.ts';
import { epochMs, isAhead, NOW_AS_KEPT, timestampOf } from '@svc/runtime/sql-time.ts';
import type { RunEnd, RunStatus } from './domain/run.ts';
import { KEPT_RUNS } from './domain/schedule.ts';
import { presenceKey } from './presence.ts';

/** `tick` null = it was asked for beside the schedule. */
export interface RunRow {
  readonly tick: number | null;
  readonly at: number;
  readonly status: RunStatus;
  readonly durationMs: number | null;
  readonly code: string | null;
}

interface NewRun {
  readonly runId: string;
  readonly jobKey: string;
  readonly anchorAt: number;
  readonly tick: number | null;
  readonly status: RunStatus;
  readonly code: string | null;
  /** Of the process that runs it; null = there is no other. */
  readonly holder: string | null;
}

/** False = that tick has a run. Runs that are too many are let go of. */
export async function insertRun(tx: SqlClient, run: NewRun): Promise<boolean> {
  const inserted = await tx.$executeRawUnsafe(
    `INSERT INTO universe.cron_runs (run_id, job_key, seq, anchor_at, tick, at, status, code, duration_ms, seen_at, holder)
     SELECT $1, $2, coalesce(max(seq), 0) + 1, ${timestampOf('$3')}, $4::bigint, clock_timestamp(), $5, $6,
       CASE WHEN $5 = 'running' THEN NULL ELSE 0 END, clock_timestamp(), $7
     FROM universe.cron_runs WHERE job_key = $2
     ON CONFLICT (job_key, anchor_at, tick) DO NOTHING`,
    run.runId,
    run.jobKey,
    run.anchorAt,
    run.tick,
    run.status,
    run.code,
    run.holder,
  );
  await tx.$executeRawUnsafe(
    `DELETE FROM universe.cron_runs WHERE job_key = $1
       AND seq <= (SELECT max(seq) FROM universe.cron_runs WHERE job_key = $1) - ${KEPT_RUNS}`,
    run.jobKey,
  );
  return inserted === 1;
}

export async function isRunning(tx: SqlClient, jobKey: string): Promise<boolean> {
  const rows = await tx.$queryRawUnsafe<unknown[]>(
    `SELECT 1 FROM universe.cron_runs WHERE job_key = $1 AND status = 'running'`,
    jobKey,
  );
  return rows.length > 0;
}

export interface EndedRun extends RunRow {
  readonly workspace: string;
  readonly id: string;
  readonly identity: string;
}

/** Null = it has ended already, or its job is gone. */
export async function endRun(
  tx: SqlClient,
  runId: string,
  { status, code }: Pick<RunEnd, 'status' | 'code'>,
  result: string | null,
): Promise<EndedRun | null> {
  const [row] = await tx.$queryRawUnsafe<EndedRun[]>(
    `UPDATE universe.cron_runs r SET status = $2, code = $3, result = $4::json,
       duration_ms = greatest(0, extract(epoch FROM clock_timestamp() - at) * 1000)::int
     FROM universe.cron_jobs j WHERE run_id = $1 AND status = 'running' AND j.job_key = r.job_key
     RETURNING r.tick::float8 AS tick, ${epochMs('r.at')} AS at, r.status, r.duration_ms AS "durationMs", r.code,
       j.workspace, j.job_id AS id, j.identity`,
    runId,
    status,
    code,
    result,
  );
  return row ?? null;
}

/** The job of a run, locked; null = it is gone. */
export async function lockJobOfRun(tx: SqlClient, runId: string): Promise<string | null> {
  const [row] = await tx.$queryRawUnsafe<{ jobKey: string }[]>(
    `SELECT j.job_key AS "jobKey" FROM universe.cron_jobs j JOIN universe.cron_runs r USING (job_key)
     WHERE r.run_id = $1 FOR UPDATE OF j`,
    runId,
  );
  return row?.jobKey ?? null;
}

export interface ShownRun extends RunRow {
  readonly result: unknown;
  readonly hasResult: boolean;
}

export async function readRun(client: SqlClient, runId: string): Promise<ShownRun | null> {
  const [row] = await client.$queryRawUnsafe<ShownRun[]>(
    `SELECT tick::float8 AS tick, ${epochMs('at')} AS at, status, duration_ms AS "durationMs", code, result,
       result IS NOT NULL AS "hasResult" FROM universe.cron_runs WHERE run_id = $1`,
    runId,
  );
  return row ?? null;
}

/** Newest first. */
export function readHistory(client: SqlClient, jobKey: string): Promise<RunRow[]> {
  return client.$queryRawUnsafe<RunRow[]>(
    `SELECT tick::float8 AS tick, ${epochMs('at')} AS at, status, duration_ms AS "durationMs", code
     FROM universe.cron_runs WHERE job_key = $1 ORDER BY seq DESC LIMIT ${KEPT_RUNS}`,
    jobKey,
  );
}

/** Says that somebody is at work on them. */
export async function touchRuns(client: SqlClient, runIds: readonly string[]): Promise<void> {
  await client.$executeRawUnsafe(
    `UPDATE universe.cron_runs SET seen_at = clock_timestamp() WHERE run_id = ANY($1) AND status = 'running'`,
    runIds,
  );
}

const AT_ONCE = 100;

/** A sign of life that lies ahead counts as one of now: who is dead is so in a moment, not when the clock is there again. */
export async function bringBackRuns(client: SqlClient): Promise<void> {
  await client.$executeRawUnsafe(
    `UPDATE universe.cron_runs SET seen_at = clock_timestamp() WHERE status = 'running' AND ${isAhead('seen_at')}`,
  );
}

export async function readSilent(client: SqlClient, silentMs: number): Promise<string[]> {
  const rows = await client.$queryRawUnsafe<{ runId: string }[]>(
    `SELECT run_id AS "runId" FROM universe.cron_runs
     WHERE status = 'running' AND seen_at <= ${NOW_AS_KEPT} - $1::int * interval '1 millisecond' LIMIT ${AT_ONCE}`,
    silentMs,
  );
  return rows.map(({ runId }) => runId);
}

/** Who looks for others that are gone: the lock by which it is there, and since when it holds that. */
export interface Witness {
  readonly holder: string;
  readonly heldSince: string | null;
}

/**
 * Those whose process has lost its session. One that lives has a new session before it was silent for so long, but what cut
 * off one may have cut off all: nobody is gone before whoever looks was there for `thereMs`, on the server that is asked.
 */
export async function readForsaken(
  client: SqlClient,
  { holder, heldSince }: Witness,
  { silentMs, thereMs }: { readonly silentMs: number; readonly thereMs: number },
): Promise<string[]> {
  if (heldSince === null) return [];
  const before = (parameter: string) => `clock_timestamp() - ${parameter}::int * interval '1 millisecond'`;
  const isFree = (whose: string) => `pg_try_advisory_xact_lock_shared(${presenceKey(whose)})`;
  const rows = await client.$queryRawUnsafe<{ runId: string }[]>(
    `WITH me AS MATERIALIZED (
       SELECT WHERE $1::timestamptz <= ${before('$2')} AND NOT ${isFree('$3::text')}
     ), silent AS MATERIALIZED (
       SELECT run_id, holder FROM universe.cron_runs
       WHERE status = 'running' AND holder IS NOT NULL AND seen_at <= ${before('$4')} LIMIT ${AT_ONCE})
     SELECT run_id AS "runId" FROM silent WHERE EXISTS (SELECT FROM me) AND ${isFree('holder')}`,
    heldSince,
    thereMs,
    holder,
    silentMs,
  );
  return rows.map(({ runId }) => runId);
}
