/** An identity gets its place in an organisation: one transaction, under the lock of the new organisation and the old one. */
import { CallError } from '@svc/contract/codes.ts';
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import { type Acting, type Actor, actorOf } from '../domain/actor.ts';
import { type AssignmentFacts, isSamePlace, judgePlace, type Place } from '../domain/assignment.ts';
import { visibleWorkspaces } from '../domain/grants.ts';
import type { ReferenceDenial } from '../domain/reference.ts';
import { grantsAll } from '../domain/team-permissions.ts';
import { memberships } from '../roles.ts';
import {
  type AssignmentRow,
  closeRanks,
  countOthers,
  holdAssignment,
  lockOrgs,
  readSuperiors,
  writeAssignment,
} from './assignment-rows.ts';
import type { HabitatUnit } from './habitat-store.ts';
import { readIdentity } from './identity-rows.ts';
import { type PlaceWish, resolvePlace } from './place.ts';
import { isOrgAdmin, type OrgStanding, readOrgStanding } from './team-permissions.ts';

export interface AssignmentWish extends PlaceWish {
  readonly agentId: string;
}

type Denied = ReferenceDenial | 'E_CYCLE' | 'E_QUOTA';

/** Throws FORBIDDEN to who is no admin of both organisations, or gives away more than they hold. */
export async function assign(
  unit: HabitatUnit,
  caller: Acting,
  wish: AssignmentWish,
): Promise<Decision<AssignmentRow, Denied>> {
  const { tx } = unit;
  const { agentId } = wish;
  const actor = actorOf(caller);
  const found = await resolvePlace(tx, { everything: actor.operator, identity: actor.identity }, wish);
  if (!found.ok) return found;
  const { place, role } = found.value;
  const old = await holdAssignment(tx, agentId);
  requireHeld(await requireAdmin(tx, actor, place.org, old), role?.permissions ?? []);
  if (old?.org !== place.org && !(await isKnownTo(tx, caller, agentId))) return deny('E_NOT_FOUND');
  if (old !== null && isSamePlace(old, place)) return allow(old);
  const judged = judgePlace(place, await readFacts(tx, agentId, place));
  return judged.ok ? allow(await replace(unit, actor, old, { agentId, place })) : judged;
}

async function readFacts(tx: SqlClient, agentId: string, { org, reportsTo, team }: Place): Promise<AssignmentFacts> {
  return {
    agentId,
    superiors: reportsTo === null ? [] : await readSuperiors(tx, org, reportsTo),
    members: team === null ? 0 : await countOthers(tx, team, agentId),
  };
}

async function replace(
  unit: HabitatUnit,
  { name: by }: Actor,
  old: AssignmentRow | null,
  { agentId, place }: { readonly agentId: string; readonly place: Place },
): Promise<AssignmentRow> {
  const assignment = await writeAssignment(unit.tx, agentId, place, by);
  if (old !== null && old.org !== place.org) await closeRanks(unit.tx, old);
  unit.touch();
  const { org, team } = place;
  unit.emit({ name: 'team:assigned', payload: { agentId, org, team, by, parties: [...new Set([agentId, by])] } });
  unit.audit({ event: 'team:assigned', workspace: null, data: { agentId, ...place, old, by } });
  return assignment;
}

/** Both organisations stay as they are from here on. */
async function requireAdmin(tx: SqlClient, actor: Actor, org: string, old: AssignmentRow | null): Promise<OrgStanding> {
  const locked = await lockOrgs(tx, old === null ? [org] : [org, old.org]);
  const standings = new Map<string, OrgStanding>();
  for (const row of locked.values()) standings.set(row.id, await readOrgStanding(tx, actor, row));
  const standing = standings.get(org);
  if (standing === undefined || ![...standings.values()].every(isOrgAdmin)) throw new CallError('FORBIDDEN');
  return standing;
}

/** Nobody gives away more than they hold. */
function requireHeld({ everything, permissions: held }: OrgStanding, permissions: readonly string[]): void {
  if (!everything && !grantsAll(held, permissions)) {
    throw new CallError('FORBIDDEN', 'The role permits more than the caller may.');
  }
}

/** A live identity that the caller may know of. */
async function isKnownTo(tx: SqlClient, caller: Acting, agentId: string): Promise<boolean> {
  const { value: rows } = await readIdentity(tx, agentId);
  const held = await memberships(tx, caller);
  const shared = rows.roles.map(({ workspace }) => workspace).filter((workspace) => held.has(workspace));
  return visibleWorkspaces(actorOf(caller), rows, shared) !== null;
}
