/** Tasks and messages of agents as rows: kept until somebody carries them. */
import type { SqlClient } from '@svc/runtime/database.ts';
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

/** Returns how many were open. */
export function failOpenTasks(tx: SqlClient, agentId: string, reason: string): Promise<number> {
  return tx.$executeRawUnsafe(
    `UPDATE habitat.agent_tasks SET status = 'failed', reason = $2, ended_at = clock_timestamp()
     WHERE agent_id = $1 AND ended_at IS NULL`,
    agentId,
    reason,
  );
}

export async function countMessagesLastMinute(client: SqlClient, family: string): Promise<number> {
  const [row] = await client.$queryRawUnsafe<{ sent: number }[]>(
    `SELECT count(*)::int AS sent FROM habitat.agent_messages
     WHERE ${OF_FAMILY('"by"', '$1')} AND at > clock_timestamp() - interval '1 minute'`,
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

/** Addressed to every live agent whose home the workspace is. */
export async function insertMessage(
  tx: SqlClient,
  { messageId, workspace, message, by }: NewMessage,
): Promise<readonly Recipient[]> {
  const recipients = await tx.$queryRawUnsafe<Recipient[]>(
    `SELECT agent_id AS "agentId", name FROM habitat.agents WHERE workspace = $1 AND killed_at IS NULL
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

/** Deletes broadcasts of long ago; returns how many. */
export function sweepMessages(client: SqlClient, keptDays: number): Promise<number> {
  return client.$executeRawUnsafe(
    'DELETE FROM habitat.agent_messages WHERE at < now() - make_interval(days => $1::int)',
    keptDays,
  );
}
