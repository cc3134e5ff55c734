/** What callers see of tasks: lists, one task, counts. */
import type { SqlClient } from '@svc/runtime/database.ts';
import type { Actor } from '../domain/actor.ts';
import type { Grant } from '../domain/sudo.ts';
import { epochMs } from '@svc/runtime/sql-time.ts';
import { liveGrants, principalOfAgent, type SudoTask } from './sudo-rows.ts';

const HISTORY_SHOWN = 100;

/** Live tasks `t` of the caller, and of the workspaces it is an admin of. $1 everyone, $2 identity, $3 bound workspace. */
const VISIBLE = `t.expires_at > clock_timestamp() AND ($1::boolean OR (($3::text IS NULL OR t.workspace = $3)
  AND (t.owner = $2 OR t.workspace = ANY(ARRAY(SELECT workspace_id FROM habitat.roles
    WHERE user_id = $2 AND role = 'admin')))))`;

function visibleTo({ operator, identity, token }: Actor): readonly [boolean, string | null, string | null] {
  return [operator, identity, token?.bound ?? null];
}

const PRINCIPAL = `'task:' || t.task_id`;
const SCOPES_HELD = `ARRAY(SELECT g.scope FROM habitat.sudo_grants g
  WHERE g.principal = ${PRINCIPAL} AND g.expires_at > clock_timestamp() ORDER BY g.scope)`;
const PENDING = `(SELECT count(*)::int FROM habitat.sudo_requests q
  WHERE q.principal = ${PRINCIPAL} AND q.state = 'pending' AND q.expires_at > clock_timestamp())`;
const HISTORY = `(SELECT least(count(*), ${HISTORY_SHOWN})::int FROM habitat.sudo_history h WHERE h.principal = ${PRINCIPAL})`;

export interface ListedTask extends SudoTask {
  readonly scopes: string[];
  readonly pending: number;
  readonly history: number;
}

const LISTED = `t.task_id AS "taskId", t.owner, t.workspace, ${epochMs('t.created_at')} AS "createdAt",
  ${epochMs('t.expires_at')} AS "expiresAt", ${SCOPES_HELD} AS scopes, ${PENDING} AS pending, ${HISTORY} AS history`;

/** Where a page of tasks begins: after this one, newest first. */
export interface TaskPosition {
  readonly createdAt: number;
  readonly taskId: string;
}

export async function listTasks(
  client: SqlClient,
  actor: Actor,
  after: TaskPosition | null,
  limit: number,
): Promise<ListedTask[]> {
  return client.$queryRawUnsafe(
    `SELECT ${LISTED} FROM habitat.sudo_tasks t WHERE ${VISIBLE}
       AND ($4::float8 IS NULL OR (t.created_at, t.task_id) < (to_timestamp($4::float8 / 1000), $5))
     ORDER BY t.created_at DESC, t.task_id DESC LIMIT $6`,
    ...visibleTo(actor),
    after?.createdAt ?? null,
    after?.taskId ?? null,
    limit,
  );
}

interface ShownRequest {
  readonly requestId: string;
  readonly scope: string;
  readonly reason: string | null;
  readonly by: string;
  readonly at: number;
  readonly expiresAt: number;
  readonly state: 'pending' | 'granted' | 'denied' | 'expired';
  readonly endedBy: string | null;
}

interface ShownTask extends ListedTask {
  readonly grants: Grant[];
  readonly requests: ShownRequest[];
  readonly entries: { readonly event: string; readonly scope: string; readonly by: string; readonly at: number }[];
}

const REQUESTS = `(SELECT coalesce(json_agg(row_to_json(q)), '[]') FROM (
    SELECT request_id AS "requestId", scope, reason, "by", ${epochMs('at')} AS at,
      ${epochMs('expires_at')} AS "expiresAt",
      CASE WHEN state = 'pending' AND expires_at <= clock_timestamp() THEN 'expired' ELSE state END AS state,
      ended_by AS "endedBy"
    FROM habitat.sudo_requests WHERE principal = ${PRINCIPAL} ORDER BY at DESC, request_id DESC LIMIT ${HISTORY_SHOWN}) q)`;
const ENTRIES = `(SELECT coalesce(json_agg(row_to_json(h)), '[]') FROM (
    SELECT event, scope, "by", ${epochMs('at')} AS at
    FROM habitat.sudo_history WHERE principal = ${PRINCIPAL} ORDER BY at DESC, id DESC LIMIT ${HISTORY_SHOWN}) h)`;

/** Null = unknown, ended, or not for this caller to see. Requests and history newest first. */
export async function showTask(client: SqlClient, actor: Actor, taskId: string): Promise<ShownTask | null> {
  const [row] = await client.$queryRawUnsafe<ShownTask[]>(
    `SELECT ${LISTED}, ${liveGrants(PRINCIPAL, 'clock_timestamp()')} AS grants, ${REQUESTS} AS requests,
       ${ENTRIES} AS entries
     FROM habitat.sudo_tasks t WHERE ${VISIBLE} AND t.task_id = $4`,
    ...visibleTo(actor),
    taskId,
  );
  return row ?? null;
}

interface SudoCounts {
  readonly tasks: number;
  readonly grants: number;
  readonly pending: number;
}

/** Of the tasks in view, and of the caller as an agent; an operator counts every agent. */
export async function countInView(client: SqlClient, actor: Actor): Promise<SudoCounts> {
  const [row] = await client.$queryRawUnsafe<SudoCounts[]>(
    `WITH seen AS (SELECT ${PRINCIPAL} AS principal FROM habitat.sudo_tasks t WHERE ${VISIBLE})
     SELECT (SELECT count(*) FROM seen)::int AS tasks,
       (SELECT count(*) FROM habitat.sudo_grants g WHERE g.expires_at > clock_timestamp()
         AND (g.principal IN (SELECT principal FROM seen) OR g.principal = $4
           OR ($1 AND starts_with(g.principal, 'agent:'))))::int AS grants,
       (SELECT count(*) FROM habitat.sudo_requests q WHERE q.state = 'pending' AND q.expires_at > clock_timestamp()
         AND q.principal IN (SELECT principal FROM seen))::int AS pending`,
    ...visibleTo(actor),
    actor.identity === null ? null : principalOfAgent(actor.identity),
  );
  if (row === undefined) throw new Error('a count found no row');
  return row;
}
