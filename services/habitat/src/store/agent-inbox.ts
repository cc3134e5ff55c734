/** Tasks and messages of agents as rows: kept until somebody carries them. */
import type { SqlClient } from '@svc/runtime/database.ts';
import { sweepRows } from '@svc/runtime/row-sweep.ts';
import { isLately } from '@svc/runtime/sql-time.ts';
import { IS_AT_HOME } from './agent-rows.ts';
import { OF_FAMILY } from './family-rows.ts';

export async function countOpenTasks(client: SqlClient, agentId: string): Promise<number> {
  const [row] = await client.$queryRawUnsafe<{ open: number }[]>(
    'SELECT count(*)::int AS open FROM habitat.agent_tasks WHERE agent_id = $1 AND ended_at IS NULL',
    agentId,
  );
  return row?.open ?? 0;
}

export interface NewTask {
  readonly taskId: string;
  readonly agentId: string;
  readonly task: string;
  readonly by: string;
}

export async function insertTask(tx: SqlClient, { taskId, agentId, task, by }: NewTask): Promise<void> {
  await tx.$executeRawUnsafe(
    `INSERT INTO habitat.agent_tasks (task_id, agent_id, task, status, "by", at)
     VALUES ($1, $2, $3, 'queued', $4, clock_timestamp())`,
    taskId,
    agentId,
    task,
    by,
  );
}

/** Returns how many were open. Their queue has to hear of it, whether it has heard of them or not. */
export function failOpenTasks(tx: SqlClient, agentId: string, reason: string): Promise<number> {
  return tx.$executeRawUnsafe(
    `UPDATE habitat.agent_tasks SET status = 'failed', reason = $2, ended_at = clock_timestamp(), queued_at = NULL
     WHERE agent_id = $1 AND ended_at IS NULL`,
    agentId,
    reason,
  );
}

export async function countMessagesLastMinute(client: SqlClient, family: string): Promise<number> {
  const [row] = await client.$queryRawUnsafe<{ sent: number }[]>(
    `SELECT count(*)::int AS sent FROM habitat.agent_messages
     WHERE ${OF_FAMILY('"by"', '$1')} AND ${isLately('at', "interval '1 minute'")}`,
    family,
  );
  return row?.sent ?? 0;
}

export interface Recipient {
  readonly agentId: string;
  readonly name: string;
}

export interface NewMessage {
  readonly messageId: string;
  readonly workspace: string;
  readonly message: string;
  readonly by: string;
}

/** Addressed to every live agent that was spawned in the workspace and is still there. */
export async function insertMessage(
  tx: SqlClient,
  { messageId, workspace, message, by }: NewMessage,
): Promise<readonly Recipient[]> {
  const recipients = await tx.$queryRawUnsafe<Recipient[]>(
    `SELECT agent_id AS "agentId", name FROM habitat.agents a WHERE workspace = $1 AND killed_at IS NULL AND ${IS_AT_HOME}
     ORDER BY agent_id COLLATE "C"`,
    workspace,
  );
  await tx.$executeRawUnsafe(
    `INSERT INTO habitat.agent_messages (message_id, workspace, message, recipients, "by", at)
     VALUES ($1, $2, $3, $4::text[], $5, clock_timestamp())`,
    messageId,
    workspace,
    message,
    recipients.map(({ agentId }) => agentId),
    by,
  );
  return recipients;
}

/** Deletes broadcasts of long ago that have arrived; returns how many. */
export function sweepMessages(client: SqlClient, keptDays: number): Promise<number> {
  const condition = 'carried_at IS NOT NULL AND at < now() - make_interval(days => $1::int)';
  return sweepRows(client, { table: 'habitat.agent_messages', condition, values: [keptDays] });
}

/** What lies in an inbox and has not arrived in its channel yet. */
interface Uncarried {
  /** Id of the task or the message. */
  readonly ref: string;
  readonly kind: 'task' | 'message';
  readonly channel: string;
  readonly by: string;
  readonly text: string;
}

/** The oldest first. A task that ended before it arrived is not worth a message. */
export function readUncarried(client: SqlClient, limit: number): Promise<Uncarried[]> {
  return client.$queryRawUnsafe<Uncarried[]>(
    `SELECT task_id AS ref, 'task' AS kind, 'agent:' || agent_id AS channel, "by", task AS text, at
       FROM habitat.agent_tasks WHERE carried_at IS NULL AND ended_at IS NULL
     UNION ALL SELECT message_id, 'message', 'agents:' || workspace, "by", message, at
       FROM habitat.agent_messages WHERE carried_at IS NULL
     ORDER BY at, ref LIMIT $1`,
    limit,
  );
}

const TABLES = {
  task: { table: 'agent_tasks', id: 'task_id' },
  message: { table: 'agent_messages', id: 'message_id' },
} as const;

export async function markCarried(client: SqlClient, { kind, ref }: Pick<Uncarried, 'kind' | 'ref'>): Promise<void> {
  const { table, id } = TABLES[kind];
  await client.$executeRawUnsafe(`UPDATE habitat.${table} SET carried_at = clock_timestamp() WHERE ${id} = $1`, ref);
}

/** A task whose queue does not know how it stands. */
interface Unqueued {
  readonly taskId: string;
  readonly agentId: string;
  readonly task: string;
  readonly isOpen: boolean;
  /** Why it ended with its agent; null = it did not. */
  readonly failed: string | null;
}

/** The oldest first. */
export function readUnqueued(client: SqlClient, limit: number): Promise<Unqueued[]> {
  return client.$queryRawUnsafe<Unqueued[]>(
    `SELECT task_id AS "taskId", agent_id AS "agentId", task, ended_at IS NULL AS "isOpen",
       CASE WHEN EXISTS (SELECT 1 FROM habitat.agents a WHERE a.agent_id = t.agent_id AND a.killed_at IS NOT NULL)
         THEN reason END AS failed
     FROM habitat.agent_tasks t WHERE queued_at IS NULL ORDER BY at, task_id LIMIT $1`,
    limit,
  );
}

/** Unless it has ended since. */
export async function markQueued(client: SqlClient, { taskId, isOpen }: Unqueued): Promise<void> {
  await client.$executeRawUnsafe(
    `UPDATE habitat.agent_tasks SET queued_at = clock_timestamp()
     WHERE task_id = $1 AND (ended_at IS NULL) = $2`,
    taskId,
    isOpen,
  );
}

interface TaskReport {
  readonly taskId: string;
  /** Later reports of a task have higher numbers. */
  readonly number: number;
  readonly status: 'queued' | 'completed' | 'failed';
  readonly reason: string | null;
}

/** What has become of a task in its queue. Nothing changes for one that ended with its agent, or by a later report. */
export async function recordReport(client: SqlClient, { taskId, number, status, reason }: TaskReport): Promise<void> {
  await client.$executeRawUnsafe(
    `UPDATE habitat.agent_tasks t SET status = $3, reason = $4, report = $2,
       ended_at = CASE WHEN $3 = 'queued' THEN NULL ELSE clock_timestamp() END,
       carried_at = coalesce(carried_at, clock_timestamp())
     WHERE task_id = $1 AND report < $2
       AND EXISTS (SELECT 1 FROM habitat.agents a WHERE a.agent_id = t.agent_id AND a.killed_at IS NULL)`,
    taskId,
    number,
    status,
    reason,
  );
}
