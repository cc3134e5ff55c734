/** What a caller may pass on to agents that it spawned, in the workspace where they are at home. */
import type { SqlClient } from '@svc/runtime/database.ts';
import { type Acting, actorOf } from '../domain/actor.ts';
import { isAbove } from '../domain/family.ts';
import { heldRoles } from '../roles.ts';
import { readPlaced } from './family-rows.ts';
import { hasAdmin, rolesIn } from './role-rows.ts';
import { readOwner } from './workspace-rows.ts';

/**
 * Its own roles there, and, when the owner descends from it, those that the owner holds now; all of them while nobody
 * administers the workspace, or it would be lost with its owner.
 */
export async function rolesToPassOn(client: SqlClient, caller: Acting, workspace: string): Promise<readonly string[]> {
  const held = await heldRoles(client, caller, workspace);
  const { identity } = actorOf(caller);
  const owner = await readOwner(client, workspace);
  if (identity === null || owner === null || !isAbove(identity, await readPlaced(client, owner))) return held;
  if (!(await hasAdmin(client, workspace))) return ['admin'];
  return [...held, ...(await rolesIn(client, workspace, owner))];
}
