/** Statements on jobs. */
import type { SqlClient } from '@svc/runtime/database.ts';
import { epochMs, NOW, timestampOf } from '@svc/runtime/sql-time.ts';
import type { JobCounts, Schedule } from './domain/schedule.ts';
import type { RunRow } from './run-rows.ts';

export interface Task {
  readonly tool: string;
  readonly args: Record<string, unknown>;
}

/** As whom a job runs. */
export interface Scheduler {
  /** As it is recorded. */
  readonly identity: string;
  /** Null = an operator who is nobody. */
  readonly agentId: string | null;
  /** Limits of the token with which it was made. */
  readonly bound: string | null;
  readonly profile: string | null;
}

export interface JobPlace {
  readonly workspace: string;
  readonly id: string;
}

export interface JobRow extends JobPlace, Scheduler, Schedule {
  readonly jobKey: string;
  readonly task: Task | null;
  readonly enabled: boolean;
  readonly nextAt: number;
  readonly runs: number;
  readonly failures: number;
  readonly missed: number;
  /** Of the database. */
  readonly now: number;
}

const COLUMNS = `j.job_key AS "jobKey", j.workspace, j.job_id AS id, j.identity, j.agent_id AS "agentId", j.bound, j.profile,
  j.interval_ms AS "intervalMs", j.enabled, ${epochMs('j.anchor_at')} AS "anchorAt", j.last_tick::float8 AS "lastTick",
  ${epochMs('j.next_at')} AS "nextAt", j.runs::float8 AS runs, j.failures::float8 AS failures, j.missed::float8 AS missed,
  CASE WHEN j.tool IS NULL THEN NULL ELSE json_build_object('tool', j.tool, 'args', j.args) END AS task,
  ${epochMs('clock_timestamp()')} AS now`;

export async function lockJob(tx: SqlClient, { workspace, id }: JobPlace): Promise<JobRow | null> {
  const [row] = await tx.$queryRawUnsafe<JobRow[]>(
    `SELECT ${COLUMNS} FROM universe.cron_jobs j WHERE workspace = $1 AND job_id = $2 FOR UPDATE`,
    workspace,
    id,
  );
  return row ?? null;
}

/** For a tick; null = not due any more, or another process is at it. */
export async function lockDueJob(tx: SqlClient, jobKey: string): Promise<JobRow | null> {
  const [row] = await tx.$queryRawUnsafe<JobRow[]>(
    `SELECT ${COLUMNS} FROM universe.cron_jobs j
     WHERE job_key = $1 AND enabled AND next_at <= clock_timestamp() FOR UPDATE SKIP LOCKED`,
    jobKey,
  );
  return row ?? null;
}

/** Who is at work on the jobs of a workspace waits for the others. */
export async function lockWorkspace(tx: SqlClient, workspace: string): Promise<void> {
  await tx.$queryRawUnsafe(
    `SELECT pg_advisory_xact_lock(hashtextextended('universe.cron ' || $1, 0))::text`,
    workspace,
  );
}

export async function countJobs(
  tx: SqlClient,
  { workspace, family }: Pick<NewJob, 'workspace' | 'family'>,
): Promise<JobCounts> {
  const [row] = await tx.$queryRawUnsafe<JobCounts[]>(
    `SELECT count(*)::int AS "ofWorkspace", count(family)::int AS "ofMembers",
       count(*) FILTER (WHERE family = $2)::int AS "ofFamily"
     FROM universe.cron_jobs WHERE workspace = $1`,
    workspace,
    family,
  );
  if (row === undefined) throw new Error('a count without a row');
  return row;
}

export interface NewJob extends JobPlace, Scheduler {
  readonly jobKey: string;
  /** Under whom it is counted; null = an operator made it. */
  readonly family: string | null;
  readonly intervalMs: number;
  readonly task: Task | null;
  readonly enabled: boolean;
}

/** A job of that name is made anew from this one; what it did before is kept. Returns when its first tick is due. */
export async function putJob(tx: SqlClient, job: NewJob): Promise<number> {
  const [row] = await tx.$queryRawUnsafe<{ nextAt: number }[]>(
    `INSERT INTO universe.cron_jobs AS j (job_key, workspace, job_id, identity, agent_id, bound, profile, interval_ms, tool,
       args, enabled, family, anchor_at, next_at)
     SELECT $1, $2, $3, $4, $5, $6, $7, $8::int, $9, $10::json, $11, $12, now, now + $8::int * interval '1 millisecond'
     FROM (SELECT date_trunc('milliseconds', clock_timestamp()) AS now) moment
     ON CONFLICT (workspace, job_id) DO UPDATE SET identity = excluded.identity, agent_id = excluded.agent_id,
       bound = excluded.bound, profile = excluded.profile, interval_ms = excluded.interval_ms, tool = excluded.tool,
       args = excluded.args, enabled = excluded.enabled, family = excluded.family, anchor_at = excluded.anchor_at, next_at = excluded.next_at,
       last_tick = 0
     RETURNING ${epochMs('j.next_at')} AS "nextAt"`,
    job.jobKey,
    job.workspace,
    job.id,
    job.identity,
    job.agentId,
    job.bound,
    job.profile,
    job.intervalMs,
    job.task?.tool ?? null,
    job.task === null ? null : JSON.stringify(job.task.args),
    job.enabled,
    job.family,
  );
  if (row === undefined) throw new Error('a job that was not put anywhere');
  return row.nextAt;
}

export async function deleteJob(tx: SqlClient, jobKey: string): Promise<void> {
  await tx.$executeRawUnsafe('DELETE FROM universe.cron_jobs WHERE job_key = $1', jobKey);
}

/** Of a workspace; operators who are nobody are not among them. */
export async function readSchedulers(client: SqlClient, workspace: string): Promise<string[]> {
  const rows = await client.$queryRawUnsafe<{ agentId: string }[]>(
    `SELECT DISTINCT agent_id AS "agentId" FROM universe.cron_jobs WHERE workspace = $1 AND agent_id IS NOT NULL`,
    workspace,
  );
  return rows.map(({ agentId }) => agentId);
}

/** Returns those that there were. */
export function deleteJobsOf(
  tx: SqlClient,
  workspace: string,
  agentIds: readonly string[],
): Promise<Pick<JobRow, 'id' | 'identity'>[]> {
  return tx.$queryRawUnsafe<Pick<JobRow, 'id' | 'identity'>[]>(
    `DELETE FROM universe.cron_jobs WHERE workspace = $1 AND agent_id = ANY($2::text[]) RETURNING job_id AS id, identity`,
    workspace,
    agentIds,
  );
}

/** What a tick or an end changes; numbers are added, `disables` switches off. */
interface JobChange {
  readonly runs?: number;
  readonly failures?: number;
  readonly missed?: number;
  readonly disables?: boolean;
  readonly tick?: { readonly tick: number; readonly nextAt: number };
}

export async function changeJob(tx: SqlClient, jobKey: string, change: JobChange): Promise<void> {
  const { runs = 0, failures = 0, missed = 0, disables = false, tick } = change;
  await tx.$executeRawUnsafe(
    `UPDATE universe.cron_jobs SET runs = runs + $2, failures = failures + $3, missed = missed + $4,
       enabled = enabled AND NOT $5, last_tick = coalesce($6::bigint, last_tick),
       next_at = coalesce(${timestampOf('$7')}, next_at) WHERE job_key = $1`,
    jobKey,
    runs,
    failures,
    missed,
    disables,
    tick?.tick ?? null,
    tick?.nextAt ?? null,
  );
}

export interface DueJob extends JobPlace, Scheduler {
  readonly jobKey: string;
  readonly isHeartbeat: boolean;
  /** Null = an operator's. */
  readonly family: string | null;
  /** When it was due, as the database writes it. */
  readonly at: string;
}

export interface DuePage {
  /** Null = from the one that is due the longest. */
  readonly after: Pick<DueJob, 'at' | 'jobKey'> | null;
  readonly limit: number;
  readonly heartbeatsAlone: boolean;
}

/** Those whose tick is due, the longest first. */
export function readDue(client: SqlClient, { after, limit, heartbeatsAlone }: DuePage): Promise<DueJob[]> {
  return client.$queryRawUnsafe<DueJob[]>(
    `SELECT job_key AS "jobKey", workspace, job_id AS id, identity, agent_id AS "agentId", bound, profile,
       family, tool IS NULL AS "isHeartbeat", next_at::text AS at
     FROM universe.cron_jobs WHERE enabled AND next_at <= ${NOW} AND (tool IS NULL OR NOT $2)
       AND (next_at, job_key) > ($3::timestamptz, $4) ORDER BY next_at, job_key LIMIT $1`,
    limit,
    heartbeatsAlone,
    after?.at ?? '-infinity',
    after?.jobKey ?? '',
  );
}

/** More than the clocks of two database servers differ. */
const CLOCKS_DIFFER_MS = 5000;

/** A next tick further off than one interval is of a clock that was set back meanwhile: ticks are counted anew from now. */
export async function countAnew(client: SqlClient): Promise<void> {
  await client.$executeRawUnsafe(
    `UPDATE universe.cron_jobs j SET anchor_at = now, last_tick = 0, next_at = now + interval_ms * interval '1 millisecond'
     FROM (SELECT date_trunc('milliseconds', clock_timestamp()) AS now) moment
     WHERE enabled AND next_at > now + (interval_ms + $1::int) * interval '1 millisecond'`,
    CLOCKS_DIFFER_MS,
  );
}

/** When the next tick after now is due, in ms since the epoch; null = none ever. */
export async function readNextDue(client: SqlClient): Promise<number | null> {
  const [row] = await client.$queryRawUnsafe<{ nextAt: number | null }[]>(
    `SELECT ${epochMs('min(next_at)')} AS "nextAt" FROM universe.cron_jobs WHERE enabled AND next_at > ${NOW}`,
  );
  return row?.nextAt ?? null;
}

/** Whose jobs somebody sees: its own and all of some workspaces, where it may act; null = everywhere. */
export interface Sight {
  readonly agentId: string | null;
  readonly own: readonly string[];
  readonly whole: readonly string[] | null;
}

export interface ListedJob extends JobRow {
  readonly lastRun: RunRow | null;
}

export interface JobPage {
  readonly workspace: string | null;
  readonly id: string | null;
  readonly after: string | null;
  readonly limit: number;
}

/** In the order of workspace and id after a key of `jobPlaceKey`. */
export function readJobs(client: SqlClient, { agentId, own, whole }: Sight, page: JobPage): Promise<ListedJob[]> {
  return client.$queryRawUnsafe<ListedJob[]>(
    `SELECT ${COLUMNS}, (SELECT json_build_object('tick', r.tick, 'at', ${epochMs('r.at')}, 'status', r.status,
         'durationMs', r.duration_ms, 'code', r.code)
       FROM universe.cron_runs r WHERE r.job_key = j.job_key ORDER BY r.seq DESC LIMIT 1) AS "lastRun"
     FROM universe.cron_jobs j
     WHERE ($1::text[] IS NULL OR workspace = ANY($1) OR (agent_id = $2 AND workspace = ANY($3)))
       AND ($4::text IS NULL OR workspace = $4) AND ($5::text IS NULL OR job_id = $5)
       AND (workspace || '/' || job_id) COLLATE "C" > $6
     ORDER BY (workspace || '/' || job_id) COLLATE "C" LIMIT $7`,
    whole,
    agentId,
    own,
    page.workspace,
    page.id,
    page.after ?? '',
    page.limit,
  );
}

export function jobPlaceKey({ workspace, id }: JobPlace): string {
  return `${workspace}/${id}`;
}
