/** Roles as rows. An identity lives by them: with its last one go its tokens, with the last one of a workspace those bound to it. */
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import { holdsAtLeast, type Role } from '@svc/contract/registry.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import { isStronger, type RoleSource } from '../domain/family.ts';
import { partFamily } from './family-rows.ts';
import type { HabitatUnit } from './unit.ts';
import { homeOf } from '../domain/identity.ts';
import { EDITORS_SCOPES } from '../domain/sudo-scopes.ts';
import { readIdentity } from './identity-rows.ts';
import { endGrantsOfAdmins, endScopesAtOnce, endSudoOf, endTasksIn } from './sudo-ends.ts';
import { endTokensBoundTo, endTokensOf } from './token-rows.ts';

export const MAX_ROLES_OF_A_WORKSPACE = 10_000;

export interface RoleChange {
  readonly workspace: string;
  readonly userId: string;
  readonly role: Role;
  readonly by: string;
}

interface RoleGift extends RoleChange {
  readonly source: RoleSource;
}

/** Sorted. */
export async function rolesIn(client: SqlClient, workspace: string, userId: string): Promise<string[]> {
  const rows = await client.$queryRawUnsafe<{ role: string }[]>(
    'SELECT role FROM habitat.roles WHERE workspace_id = $1 AND user_id = $2 ORDER BY role',
    workspace,
    userId,
  );
  return rows.map(({ role }) => role);
}

/** Everybody who holds a role in the workspace, with it. */
export function readHolders(client: SqlClient, workspace: string): Promise<{ userId: string; role: Role }[]> {
  return client.$queryRawUnsafe(
    'SELECT user_id AS "userId", role FROM habitat.roles WHERE workspace_id = $1 ORDER BY user_id, role',
    workspace,
  );
}

/** Whether somebody who lives is an admin of the workspace, beside whoever is named. */
export async function hasAdmin(client: SqlClient, workspace: string, beside: string | null = null): Promise<boolean> {
  const rows = await client.$queryRawUnsafe<unknown[]>(
    `SELECT 1 FROM habitat.roles r
     WHERE workspace_id = $1 AND role = 'admin' AND user_id IS DISTINCT FROM $2::text AND NOT EXISTS
       (SELECT 1 FROM habitat.agents a WHERE a.agent_id = r.user_id AND a.killed_at IS NOT NULL) LIMIT 1`,
    workspace,
    beside,
  );
  return rows.length > 0;
}

/**
 * `added` is false when the role was held already; it then counts as given by whoever of the two is less close. A role
 * from outside makes its holder the root of a family. The row of the workspace is locked.
 */
export async function grantRole(unit: HabitatUnit, gift: RoleGift): Promise<Decision<{ added: boolean }, 'E_QUOTA'>> {
  const { workspace, userId, role, by, source } = gift;
  if ((await rolesIn(unit.tx, workspace, userId)).includes(role)) {
    await confirmRole(unit, gift);
    return allow({ added: false });
  }
  const added = await unit.tx.$executeRawUnsafe(
    `INSERT INTO habitat.roles (workspace_id, user_id, role, granted_by, granted_at, source)
     SELECT $1, $2, $3, $4, clock_timestamp(), $6
     WHERE (SELECT count(*) FROM habitat.roles WHERE workspace_id = $1) < $5`,
    workspace,
    userId,
    role,
    by,
    MAX_ROLES_OF_A_WORKSPACE,
    source,
  );
  if (added === 0) return deny('E_QUOTA');
  if (source !== 'family') await partFamily(unit.tx, userId);
  unit.touch();
  unit.emit({ name: 'role:granted', workspace, payload: { userId, role, by } });
  unit.audit({ event: 'role:granted', workspace, data: { userId, role, by } });
  return allow({ added: true });
}

async function confirmRole(unit: HabitatUnit, { workspace, userId, role, by, source }: RoleGift): Promise<void> {
  const [held] = await unit.tx.$queryRawUnsafe<{ source: RoleSource }[]>(
    'SELECT source FROM habitat.roles WHERE workspace_id = $1 AND user_id = $2 AND role = $3',
    workspace,
    userId,
    role,
  );
  if (held === undefined || !isStronger(source, held.source)) return;
  await unit.tx.$executeRawUnsafe(
    'UPDATE habitat.roles SET source = $4 WHERE workspace_id = $1 AND user_id = $2 AND role = $3',
    workspace,
    userId,
    role,
    source,
  );
  await partFamily(unit.tx, userId);
  unit.touch();
  unit.audit({ event: 'role:confirmed', workspace, data: { userId, role, by } });
}

/** False when the role was not held. The row of the workspace is locked. */
export async function revokeRole(unit: HabitatUnit, { workspace, userId, role, by }: RoleChange): Promise<boolean> {
  await lockRolesOf(unit.tx, userId);
  const home = homeOf((await readIdentity(unit.tx, userId)).value);
  const removed = await unit.tx.$executeRawUnsafe(
    'DELETE FROM habitat.roles WHERE workspace_id = $1 AND user_id = $2 AND role = $3',
    workspace,
    userId,
    role,
  );
  if (removed === 0) return false;
  unit.touch();
  unit.emit({ name: 'role:revoked', workspace, payload: { userId, role, by } });
  unit.audit({ event: 'role:revoked', workspace, data: { userId, role, by } });
  const left = await unit.tx.$queryRawUnsafe<{ workspace: string; role: Role }[]>(
    'SELECT workspace_id AS workspace, role FROM habitat.roles WHERE user_id = $1',
    userId,
  );
  if (left.length === 0) await endRightsOf(unit, userId, by);
  else await endRightsIn(unit, { identity: userId, workspace, home, roles: left }, by);
  return true;
}

interface Departed {
  readonly identity: string;
  readonly workspace: string;
  /** Where it was at home, whose admins could give it scopes. */
  readonly home: string | null;
  /** What it holds now, everywhere. */
  readonly roles: readonly { readonly workspace: string; readonly role: Role }[];
}

/** What somebody could do by a role in a workspace ends with that role, however much of its time is left. */
async function endRightsIn(
  unit: HabitatUnit,
  { identity, workspace, home, roles }: Departed,
  by: string,
): Promise<void> {
  const { tx } = unit;
  const there = roles.filter((held) => held.workspace === workspace).map(({ role }) => role);
  if (!holdsAtLeast(there, 'editor')) await endScopesAtOnce(tx, { owner: identity, workspace }, EDITORS_SCOPES);
  if (there.length > 0) return;
  await endTokensBoundTo(unit, { agentId: identity, workspace }, by);
  await endTasksIn(tx, { owner: identity, workspace });
  if (home === workspace) await endGrantsOfAdmins(tx, identity);
}

/** The end of an identity: no role anywhere, no live token. */
export async function removeEveryRole(unit: HabitatUnit, userId: string, by: string): Promise<void> {
  await lockRolesOf(unit.tx, userId);
  await unit.tx.$executeRawUnsafe('DELETE FROM habitat.roles WHERE user_id = $1', userId);
  unit.touch();
  await endRightsOf(unit, userId, by);
}

/** What was given to an identity ends with it, and does not come back with a later role. */
async function endRightsOf(unit: HabitatUnit, userId: string, by: string): Promise<void> {
  await endTokensOf(unit, userId, by);
  await endSudoOf(unit.tx, userId);
}

/** Two that take the last two roles of an identity, each in a workspace of its own, come one after the other. */
async function lockRolesOf(tx: SqlClient, userId: string): Promise<void> {
  await tx.$executeRawUnsafe(
    'SELECT 1 FROM habitat.roles WHERE user_id = $1 ORDER BY workspace_id, role FOR UPDATE',
    userId,
  );
}
