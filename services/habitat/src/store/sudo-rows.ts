/** Tasks, grants and requests as rows. What has expired is not there, whether or not its row is. */
import type { SqlClient } from '@svc/runtime/database.ts';
import { sweepRows } from '@svc/runtime/row-sweep.ts';
import type { Denials, Grant, ScopeRequest, ScopeState } from '../domain/sudo.ts';
import type { Scope } from '../domain/sudo-scopes.ts';
import { epochMs, isLately } from '@svc/runtime/sql-time.ts';
import type { HabitatUnit } from './unit.ts';
import { OF_FAMILY } from './family-rows.ts';
import { lockNames } from './name-lock.ts';

const INSTANT = `(SELECT date_trunc('milliseconds', clock_timestamp()) AS at) n`;
const GRANT = `scope, granted_by AS "grantedBy", ${epochMs('granted_at')} AS "grantedAt",
  ${epochMs('expires_at')} AS "expiresAt", request_id AS "requestId", reason, ${epochMs('used_at')} AS "usedAt"`;

/** Live grants of `principal`, both given as parts of a statement, as JSON. */
export const liveGrants = (principal: string, at: string) => `(SELECT coalesce(json_agg(row_to_json(g)), '[]')
  FROM (SELECT ${GRANT} FROM habitat.sudo_grants WHERE principal = ${principal} AND expires_at > ${at} ORDER BY scope) g)`;

/** `owner`: the identity, or `operator`. Times in ms since the epoch. */
export interface SudoTask {
  readonly taskId: string;
  readonly owner: string;
  readonly workspace: string;
  readonly createdAt: number;
  readonly expiresAt: number;
}

const TASK = `task_id AS "taskId", owner, workspace, ${epochMs('created_at')} AS "createdAt",
  ${epochMs('expires_at')} AS "expiresAt"`;

export function principalOfTask(taskId: string): string {
  return `task:${taskId}`;
}

export function principalOfAgent(agentId: string): string {
  return `agent:${agentId}`;
}

/** What happens to a principal happens in turn until the transaction ends. */
export function lockPrincipal(tx: SqlClient, principal: string): Promise<void> {
  return lockNames(tx, [`sudo:${principal}`]);
}

export function lockNewTask(tx: SqlClient, taskId: string, family: string): Promise<void> {
  return lockNames(tx, [`sudo:${principalOfTask(taskId)}`, `sudo-owner:${family}`]);
}

/** Null = unknown, or past its time. */
export async function readTask(client: SqlClient, taskId: string): Promise<SudoTask | null> {
  const [row] = await client.$queryRawUnsafe<SudoTask[]>(
    `SELECT ${TASK} FROM habitat.sudo_tasks WHERE task_id = $1 AND expires_at > clock_timestamp()`,
    taskId,
  );
  return row ?? null;
}

export async function countTasks(tx: SqlClient, family: string): Promise<number> {
  const [row] = await tx.$queryRawUnsafe<{ count: number }[]>(
    `SELECT count(*)::int AS count FROM habitat.sudo_tasks
     WHERE ${OF_FAMILY('owner', '$1')} AND expires_at > clock_timestamp()`,
    family,
  );
  return row?.count ?? 0;
}

/** An id whose task has ended is free again, and nothing of the old task is left to the new one. */
export async function insertTask(
  tx: SqlClient,
  { taskId, owner, workspace, forMs }: Pick<SudoTask, 'taskId' | 'owner' | 'workspace'> & { readonly forMs: number },
): Promise<SudoTask> {
  const principal = principalOfTask(taskId);
  for (const table of ['sudo_grants', 'sudo_requests', 'sudo_history']) {
    await tx.$executeRawUnsafe(`DELETE FROM habitat.${table} WHERE principal = $1`, principal);
  }
  await tx.$executeRawUnsafe('DELETE FROM habitat.sudo_tasks WHERE task_id = $1', taskId);
  const [row] = await tx.$queryRawUnsafe<SudoTask[]>(
    `INSERT INTO habitat.sudo_tasks (task_id, owner, workspace, created_at, expires_at)
     SELECT $1, $2, $3, n.at, n.at + $4::float8 * interval '1 ms' FROM ${INSTANT} RETURNING ${TASK}`,
    taskId,
    owner,
    workspace,
    forMs,
  );
  if (row === undefined) throw new Error('a new task has no row');
  return row;
}

/** What the scope stands at for the principal; `endsAt` as in `ScopeState`. */
export async function readScopeState(
  { tx, setting }: HabitatUnit,
  { key, endsAt }: { readonly key: string; readonly endsAt: number },
  scope: Scope,
): Promise<ScopeState> {
  const [row] = await tx.$queryRawUnsafe<{ now: number; held: Grant[]; request: ScopeRequest | null }[]>(
    `SELECT ${epochMs('n.at')} AS now, ${liveGrants('$1', 'n.at')} AS held,
       (SELECT row_to_json(r) FROM (SELECT request_id AS "requestId", state, reason,
          ${epochMs('expires_at')} AS "expiresAt"
          FROM habitat.sudo_requests WHERE principal = $1 AND scope = $2 ORDER BY at DESC, request_id DESC LIMIT 1) r)
         AS request
     FROM ${INSTANT}`,
    key,
    scope.text,
  );
  if (row === undefined) throw new Error('a read of one scope found no row');
  return { scope, endsAt, grantMs: await setting('sudo.ttlMs'), ...row };
}

/** Live grants of a task that lives, or of an agent that holds a role somewhere. */
export async function readHeld(client: SqlClient, principal: string): Promise<Grant[]> {
  const colon = principal.indexOf(':');
  const alive =
    principal.slice(0, colon) === 'task'
      ? 'EXISTS (SELECT 1 FROM habitat.sudo_tasks WHERE task_id = $2 AND expires_at > n.at)'
      : 'EXISTS (SELECT 1 FROM habitat.roles WHERE user_id = $2)';
  const [row] = await client.$queryRawUnsafe<{ held: Grant[] }[]>(
    `SELECT CASE WHEN ${alive} THEN ${liveGrants('$1', 'n.at')} ELSE '[]' END AS held FROM ${INSTANT}`,
    principal,
    principal.slice(colon + 1),
  );
  return row?.held ?? [];
}

/** At most once a minute. */
export async function noteUse(client: SqlClient, principal: string, scope: string): Promise<void> {
  await client.$executeRawUnsafe(
    `UPDATE habitat.sudo_grants SET used_at = clock_timestamp() WHERE principal = $1 AND scope = $2
       AND (used_at IS NULL OR used_at < clock_timestamp() - interval '1 minute')`,
    principal,
    scope,
  );
}

type NewGrant = Pick<Grant, 'scope' | 'grantedBy' | 'expiresAt' | 'requestId' | 'reason'>;

/** Takes the place of a grant of the same scope, live or not. */
export async function writeGrant(tx: SqlClient, principal: string, grant: NewGrant): Promise<void> {
  const { scope, grantedBy, expiresAt, requestId, reason } = grant;
  await tx.$executeRawUnsafe(
    `INSERT INTO habitat.sudo_grants (principal, scope, granted_by, granted_at, expires_at, request_id, reason)
     VALUES ($1, $2, $3, clock_timestamp(), to_timestamp($4::float8 / 1000), $5, $6)
     ON CONFLICT (principal, scope) DO UPDATE SET granted_by = excluded.granted_by, granted_at = excluded.granted_at,
       expires_at = excluded.expires_at, request_id = excluded.request_id, reason = excluded.reason, used_at = NULL`,
    principal,
    scope,
    grantedBy,
    expiresAt,
    requestId,
    reason,
  );
}

export async function deleteGrant(tx: SqlClient, principal: string, scope: string): Promise<void> {
  await tx.$executeRawUnsafe('DELETE FROM habitat.sudo_grants WHERE principal = $1 AND scope = $2', principal, scope);
}

interface NewRequest {
  readonly requestId: string;
  readonly principal: string;
  readonly scope: string;
  readonly reason: string | null;
  readonly workspace: string;
  readonly by: string;
  readonly expiresAt: number;
}

export async function insertRequest(tx: SqlClient, request: NewRequest): Promise<void> {
  const { requestId, principal, scope, reason, workspace, by, expiresAt } = request;
  await tx.$executeRawUnsafe(
    `INSERT INTO habitat.sudo_requests (request_id, principal, scope, reason, workspace, "by", at, expires_at, state)
     VALUES ($1, $2, $3, $4, $5, $6, clock_timestamp(), to_timestamp($7::float8 / 1000), 'pending')`,
    requestId,
    principal,
    scope,
    reason,
    workspace,
    by,
    expiresAt,
  );
}

export async function endRequest(
  tx: SqlClient,
  requestId: string,
  state: 'granted' | 'denied',
  endedBy: string,
): Promise<void> {
  await tx.$executeRawUnsafe(
    'UPDATE habitat.sudo_requests SET state = $2, ended_by = $3 WHERE request_id = $1',
    requestId,
    state,
    endedBy,
  );
}

export interface PendingScope {
  readonly scope: string;
  readonly requestId: string;
}

export async function readPending(client: SqlClient, principal: string): Promise<PendingScope[]> {
  return client.$queryRawUnsafe(
    `SELECT scope, request_id AS "requestId" FROM habitat.sudo_requests
     WHERE principal = $1 AND state = 'pending' AND expires_at > clock_timestamp() ORDER BY at, request_id`,
    principal,
  );
}

export interface HistoryEntry {
  readonly id: string;
  readonly principal: string;
  readonly event: 'escalated' | 'granted' | 'denied' | 'revoked';
  readonly scope: string;
  readonly by: string;
}

export async function insertHistory(tx: SqlClient, { id, principal, event, scope, by }: HistoryEntry): Promise<void> {
  await tx.$executeRawUnsafe(
    `INSERT INTO habitat.sudo_history (id, principal, event, scope, "by", at)
     VALUES ($1, $2, $3, $4, $5, clock_timestamp())`,
    id,
    principal,
    event,
    scope,
    by,
  );
}

export async function countEscalations(tx: SqlClient, principal: string): Promise<number> {
  const [row] = await tx.$queryRawUnsafe<{ count: number }[]>(
    `SELECT count(*)::int AS count FROM habitat.sudo_history
     WHERE principal = $1 AND event = 'escalated' AND ${isLately('at', "interval '1 minute'")}`,
    principal,
  );
  return row?.count ?? 0;
}

/** Scopes denied to the principal within the time, with how often. */
export async function readDenials(
  client: SqlClient,
  principal: string,
  withinMs: number,
): Promise<{ denials: Denials[]; now: number }> {
  const [row] = await client.$queryRawUnsafe<{ denials: Denials[]; now: number }[]>(
    `SELECT ${epochMs('n.at')} AS now, (SELECT coalesce(json_agg(row_to_json(d)), '[]') FROM (
         SELECT scope, count(*)::int AS count FROM habitat.sudo_history
         WHERE principal = $1 AND event = 'denied' AND at > n.at - $2::float8 * interval '1 ms'
         GROUP BY scope ORDER BY scope) d) AS denials
     FROM ${INSTANT}`,
    principal,
    withinMs,
  );
  if (row === undefined) throw new Error('a read of denials found no row');
  return row;
}

/** Deletes what has been over for a day, and what nobody is shown any more; returns how many rows. */
export async function sweepSudo(client: SqlClient): Promise<number> {
  const ended = "expires_at < now() - interval '1 day'";
  const past = "at < now() - interval '2 days'";
  const counts = await Promise.all([
    sweepRows(client, { table: 'habitat.sudo_tasks', condition: ended }),
    sweepRows(client, { table: 'habitat.sudo_grants', condition: ended }),
    sweepRows(client, { table: 'habitat.sudo_requests', condition: past }),
    sweepRows(client, { table: 'habitat.sudo_history', condition: past }),
  ]);
  return counts.reduce((sum, count) => sum + count, 0);
}
