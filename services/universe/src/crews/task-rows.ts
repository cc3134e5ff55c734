/** The journal of tasks: a row each, which says how far it has come. Time is that of the database. */
import type { SqlClient } from '@svc/runtime/database.ts';
import { epochMs, hasRested } from '@svc/runtime/sql-time.ts';
import type { RefusalCode } from '@svc/contract/codes.ts';
import { OPEN_STATES, type TaskState } from './domain/task.ts';

export interface NewTask {
  readonly taskId: string;
  readonly crewId: string;
  readonly no: number;
  readonly text: string;
  /** Micro-credits. */
  readonly cost: bigint;
  /** Under which its note is found. */
  readonly deltaId: string;
  readonly by: string;
  /** Of the call; null = it had no key. */
  readonly openKey: string | null;
  readonly argsHash: string | null;
}

interface VoteOutcome {
  readonly winner: string;
  readonly votes: number;
  readonly percentage: number;
  readonly decidedAt: number;
}

export interface Pool {
  readonly limit: number;
  readonly spent: number;
  readonly pending: number;
  readonly available: number;
}

export interface TaskRefusal {
  readonly code: RefusalCode;
  readonly details?: Record<string, unknown>;
}

export interface TaskRow extends NewTask {
  readonly state: TaskState;
  readonly executor: string | null;
  readonly voters: readonly string[] | null;
  readonly decision: VoteOutcome | null;
  /** What there was when it was paid. */
  readonly pool: Pool | null;
  readonly phase: 'ready' | 'closed' | null;
  /** Why it is undone; null = it was cut off. */
  readonly refusal: TaskRefusal | null;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly triedAt: number;
}

type Done = 'executor' | 'voters' | 'decision' | 'pool' | 'phase';
type DoneTask = { readonly [Key in Done]: NonNullable<TaskRow[Key]> } & Omit<TaskRow, Done>;

/** With everything that its steps have left. */
export function doneTask(row: TaskRow | null): DoneTask {
  if (row === null) throw new Error('a task is done and has no row');
  const { executor, voters, decision, pool, phase } = row;
  if (executor === null || voters === null || decision === null || pool === null || phase === null) {
    throw new Error(`the task ${row.taskId} is done without its parts`);
  }
  return { ...row, executor, voters, decision, pool, phase };
}

type FlatTask = Omit<TaskRow, 'cost'> & { readonly cost: string };

const COLUMNS = `task_id AS "taskId", crew_id AS "crewId", no, text, cost_micros::text AS cost, delta_id AS "deltaId",
  created_by AS by, open_key AS "openKey", args_hash AS "argsHash", state, executor, voters, decision, pool, phase, refusal,
  ${epochMs('created_at')} AS "createdAt", ${epochMs('tried_at')} AS "triedAt"`;

async function readOne(client: SqlClient, where: string, ...values: readonly unknown[]): Promise<TaskRow | null> {
  const [row] = await client.$queryRawUnsafe<FlatTask[]>(
    `SELECT ${COLUMNS} FROM universe.crew_tasks WHERE ${where}`,
    ...values,
  );
  return row === undefined ? null : { ...row, cost: BigInt(row.cost) };
}

export function readTask(client: SqlClient, taskId: string): Promise<TaskRow | null> {
  return readOne(client, 'task_id = $1', taskId);
}

export function readTaskByKey(client: SqlClient, openKey: string): Promise<TaskRow | null> {
  return readOne(client, 'open_key = $1', openKey);
}

export function readLastTask(client: SqlClient, crewId: string): Promise<TaskRow | null> {
  return readOne(client, 'crew_id = $1 ORDER BY no DESC LIMIT 1', crewId);
}

export async function hasOpenTask(client: SqlClient, crewId: string): Promise<boolean> {
  const rows = await client.$queryRawUnsafe<unknown[]>(
    'SELECT 1 FROM universe.crew_tasks WHERE crew_id = $1 AND closed_at IS NULL LIMIT 1',
    crewId,
  );
  return rows.length > 0;
}

/** The crew's row is locked. */
export async function insertTask(tx: SqlClient, task: NewTask): Promise<void> {
  const { taskId, crewId, no, text, cost, deltaId, by, openKey, argsHash } = task;
  await tx.$executeRawUnsafe(
    `INSERT INTO universe.crew_tasks (task_id, crew_id, no, text, cost_micros, delta_id, created_by, open_key, args_hash,
       state, created_at, tried_at)
     SELECT $1, $2, $3, $4, $5::bigint, $6, $7, $8, $9, 'begun', at, at FROM (SELECT clock_timestamp() AS at) moment`,
    taskId,
    crewId,
    no,
    text,
    String(cost),
    deltaId,
    by,
    openKey,
    argsHash,
  );
}

export interface TaskChange {
  readonly executor?: string;
  readonly voters?: readonly string[];
  readonly decision?: VoteOutcome;
  readonly pool?: Pool;
  readonly phase?: 'ready' | 'closed';
  readonly refusal?: TaskRefusal;
}

const json = (value: unknown): string | null => (value === undefined ? null : JSON.stringify(value));

/** False = it is not in that state any more. What was cut off gives its key back, so that it may begin anew. */
export async function moveTask(
  tx: SqlClient,
  taskId: string,
  { from, to }: { readonly from: TaskState; readonly to: TaskState },
  { executor, voters, decision, pool, phase, refusal }: TaskChange = {},
): Promise<boolean> {
  const isOpen = (OPEN_STATES as readonly TaskState[]).includes(to);
  const moved = await tx.$executeRawUnsafe(
    `UPDATE universe.crew_tasks SET state = $3, tried_at = clock_timestamp(),
       closed_at = CASE WHEN $4 THEN NULL ELSE clock_timestamp() END,
       open_key = CASE WHEN $3 = 'undone' THEN NULL ELSE open_key END,
       executor = coalesce($5, executor), voters = coalesce($6::json, voters), decision = coalesce($7::json, decision),
       pool = coalesce($8::json, pool), phase = coalesce($9, phase), refusal = coalesce($10::json, refusal)
     WHERE task_id = $1 AND state = $2`,
    taskId,
    from,
    to,
    isOpen,
    executor ?? null,
    json(voters),
    json(decision),
    json(pool),
    phase ?? null,
    json(refusal),
  );
  return moved === 1;
}

/** It could not be gone on with now; others come first the next time. */
export async function touchTask(client: SqlClient, taskId: string): Promise<void> {
  await client.$executeRawUnsafe(
    'UPDATE universe.crew_tasks SET tried_at = clock_timestamp() WHERE task_id = $1',
    taskId,
  );
}

const AT_ONCE = 100;

const RESTED = "$1::float8 * interval '1 millisecond'";

/** Those that nobody has gone on with for so long. */
export async function readRested(client: SqlClient, restedMs: number): Promise<string[]> {
  const rows = await client.$queryRawUnsafe<{ taskId: string }[]>(
    `SELECT task_id AS "taskId" FROM universe.crew_tasks
     WHERE closed_at IS NULL AND ${hasRested('tried_at', RESTED)}
     ORDER BY tried_at LIMIT ${AT_ONCE}`,
    restedMs,
  );
  return rows.map(({ taskId }) => taskId);
}

const KEPT_FOR = `interval '90 days'`;

/** What was over long ago goes; the newest of each crew stays. Returns how many went. */
export function sweepTasks(client: SqlClient): Promise<number> {
  return client.$executeRawUnsafe(
    `DELETE FROM universe.crew_tasks WHERE task_id IN (
       SELECT t.task_id FROM universe.crew_tasks t JOIN universe.crews c USING (crew_id)
       WHERE t.closed_at < clock_timestamp() - ${KEPT_FOR} AND t.no < c.task_count LIMIT ${AT_ONCE})`,
  );
}
