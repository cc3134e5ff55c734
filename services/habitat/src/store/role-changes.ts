/** Roles are given and taken. */
import { CallError } from '@svc/contract/codes.ts';
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import { actorOf } from '../domain/actor.ts';
import { agentNotFound } from '../domain/agent-rights.ts';
import { mayRemoveRole } from '../domain/grants.ts';
import { heldRoles, requireRole } from '../roles.ts';
import { isKilled } from './agent-rows.ts';
import { readSource } from './family-rows.ts';
import { grantRole, hasAdmin, revokeRole, type RoleChange, rolesIn } from './role-rows.ts';
import type { HabitatUnit } from './unit.ts';
import { lockWorkspace } from './workspace-rows.ts';

type RoleWish = Omit<RoleChange, 'by'>;

/** `roles`: all that the identity holds there now. Throws FORBIDDEN to who is no admin there. */
export async function addRole(
  unit: HabitatUnit,
  wish: RoleWish,
): Promise<Decision<{ added: boolean; roles: string[] }, 'HABITAT_UNKNOWN_WORKSPACE' | 'AGENT_NOT_FOUND' | 'E_QUOTA'>> {
  const { tx, caller } = unit;
  const { workspace, userId } = wish;
  const actor = actorOf(caller);
  const found = await lockWorkspace(tx, workspace);
  await requireRole(tx, caller, workspace, 'admin');
  if (found === null) return deny('HABITAT_UNKNOWN_WORKSPACE');
  // It would never act again, and stand for an admin beside the last one.
  if (await isKilled(tx, userId)) return agentNotFound(userId);
  const source = await readSource(tx, actor, userId);
  const granted = await grantRole(unit, { ...wish, by: actor.name, source });
  return granted.ok ? allow({ ...granted.value, roles: await rolesIn(tx, workspace, userId) }) : granted;
}

/** The same. */
export async function removeRole(
  unit: HabitatUnit,
  wish: RoleWish,
): Promise<Decision<{ removed: boolean; roles: string[] }, 'HABITAT_UNKNOWN_WORKSPACE' | 'E_LAST_ADMIN'>> {
  const { tx, caller } = unit;
  const { workspace, userId, role } = wish;
  const actor = actorOf(caller);
  const requireRemover = async () => {
    if (mayRemoveRole(actor, await heldRoles(tx, caller, workspace), userId)) return;
    throw new CallError('FORBIDDEN', `This is for admins of the workspace ${workspace}, and for one's own role there.`);
  };
  await requireRemover();
  const found = await lockWorkspace(tx, workspace);
  if (found === null) return deny('HABITAT_UNKNOWN_WORKSPACE');
  const isAdmin = role === 'admin' && (await rolesIn(tx, workspace, userId)).includes('admin');
  if (isAdmin && !actor.operator && !(await hasAdmin(tx, workspace, userId))) return deny('E_LAST_ADMIN');
  // Of two admins who remove each other one comes second, and is told that the other is the last.
  await requireRemover();
  const removed = await revokeRole(unit, { ...wish, by: actor.name });
  return allow({ removed, roles: await rolesIn(tx, workspace, userId) });
}
