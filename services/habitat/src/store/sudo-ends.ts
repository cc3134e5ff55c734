/** Scopes that end before their time, because whoever holds them has lost what they hung on. */
import type { SqlClient } from '@svc/runtime/database.ts';
import { principalOfAgent } from './sudo-rows.ts';

/** What an identity holds itself and through its tasks; nobody grants anything to a task whose time is over. */
export async function endSudoOf(tx: SqlClient, identity: string): Promise<void> {
  await tx.$executeRawUnsafe('DELETE FROM habitat.sudo_grants WHERE principal = $1', principalOfAgent(identity));
  await tx.$executeRawUnsafe(
    `UPDATE habitat.sudo_tasks SET expires_at = clock_timestamp() WHERE owner = $1 AND expires_at > clock_timestamp()`,
    identity,
  );
}

interface TasksThere {
  readonly owner: string;
  readonly workspace: string;
}

export async function endTasksIn(tx: SqlClient, { owner, workspace }: TasksThere): Promise<void> {
  await tx.$executeRawUnsafe(
    `UPDATE habitat.sudo_tasks SET expires_at = clock_timestamp()
     WHERE owner = $1 AND workspace = $2 AND expires_at > clock_timestamp()`,
    owner,
    workspace,
  );
}

/** Those of its tasks there that the owner got without anybody's granting. */
export async function endScopesAtOnce(
  tx: SqlClient,
  { owner, workspace }: TasksThere,
  scopes: readonly string[],
): Promise<void> {
  await tx.$executeRawUnsafe(
    `DELETE FROM habitat.sudo_grants g USING habitat.sudo_tasks t
     WHERE t.owner = $1 AND t.workspace = $2 AND g.principal = 'task:' || t.task_id AND g.granted_by = t.owner
       AND split_part(g.scope, ':', 1) = ANY($3::text[])`,
    owner,
    workspace,
    scopes,
  );
}

/** Only an operator grants without a name, or in the name of the agent itself. */
export async function endGrantsOfAdmins(tx: SqlClient, agentId: string): Promise<void> {
  await tx.$executeRawUnsafe(
    `DELETE FROM habitat.sudo_grants WHERE principal = $1 AND granted_by NOT IN ('operator', $2)`,
    principalOfAgent(agentId),
    agentId,
  );
}
