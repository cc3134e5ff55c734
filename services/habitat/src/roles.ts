/** What a caller holds in a workspace, inside a transaction or out of it. */
import { CallError } from '@svc/contract/codes.ts';
import { holdsAtLeast, type Role } from '@svc/contract/registry.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import { type Acting, actorOf, mayActIn } from './domain/actor.ts';
import type { RoleSource } from './domain/family.ts';
import { readSource } from './store/family-rows.ts';

/** Roles of the caller in the workspace as they are now; none for a token bound elsewhere. */
export async function heldRoles(client: SqlClient, caller: Acting, workspace: string): Promise<string[]> {
  const actor = actorOf(caller);
  if (actor.identity === null || !mayActIn(actor, workspace)) return [];
  const rows = await client.$queryRawUnsafe<{ role: string }[]>(
    'SELECT role FROM habitat.roles WHERE workspace_id = $1 AND user_id = $2',
    workspace,
    actor.identity,
  );
  return rows.map(({ role }) => role);
}

/**
 * The same without those that the caller's own family made: whoever makes a workspace is admin there, which tells nothing to
 * others.
 */
export async function attestedRoles(client: SqlClient, caller: Acting, workspace: string): Promise<string[]> {
  const held = await heldRoles(client, caller, workspace);
  const { identity } = actorOf(caller);
  if (held.length === 0 || identity === null) return [];
  const rows = await client.$queryRawUnsafe<{ role: string; source: RoleSource; owner: string | null }[]>(
    `SELECT r.role, r.source, w.owner FROM habitat.roles r JOIN habitat.workspaces w USING (workspace_id)
     WHERE r.workspace_id = $1 AND r.user_id = $2`,
    workspace,
    identity,
  );
  const owner = rows[0]?.owner ?? null;
  const isOwnMaking =
    owner !== null && (await readSource(client, { name: owner, operator: false }, identity)) === 'family';
  return rows.filter(({ source }) => !isOwnMaking || source !== 'family').map(({ role }) => role);
}

/** Operators hold every role. */
export async function holdsRole(client: SqlClient, caller: Acting, workspace: string, role: Role): Promise<boolean> {
  return caller.operator || holdsAtLeast(await heldRoles(client, caller, workspace), role);
}

/** Throws FORBIDDEN. Judged again inside the transaction of a change, because roles may have changed since the door. */
export async function requireRole(client: SqlClient, caller: Acting, workspace: string, role: Role): Promise<void> {
  if (!(await holdsRole(client, caller, workspace, role)))
    throw new CallError('FORBIDDEN', `This takes the role ${role} in the workspace ${workspace}.`);
}

/** Workspaces in which the caller may act by a role, each with its roles, sorted. Operators need none and are not asked. */
export async function memberships(client: SqlClient, caller: Acting): Promise<ReadonlyMap<string, string[]>> {
  const actor = actorOf(caller);
  if (actor.identity === null) return new Map();
  const rows = await client.$queryRawUnsafe<{ workspace: string; roles: string[] }[]>(
    `SELECT workspace_id AS workspace, array_agg(role ORDER BY role) AS roles FROM habitat.roles
     WHERE user_id = $1 GROUP BY workspace_id`,
    actor.identity,
  );
  return new Map(rows.filter(({ workspace }) => mayActIn(actor, workspace)).map((row) => [row.workspace, row.roles]));
}
