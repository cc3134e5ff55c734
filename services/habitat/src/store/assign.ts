/** An identity gets its place in an organisation: one transaction, under the lock of the new organisation and the old one. */
import { CallError } from '@svc/contract/codes.ts';
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import { type Acting, type Actor, actorOf, isSelf } from '../domain/actor.ts';
import { type AssignmentFacts, isSamePlace, judgePlace, type Place } from '../domain/assignment.ts';
import { isAbove } from '../domain/family.ts';
import { visibleWorkspaces } from '../domain/grants.ts';
import { guardOf } from '../domain/identity.ts';
import type { ReferenceDenial } from '../domain/reference.ts';
import { grantsAll } from '../domain/team-permissions.ts';
import { holdsRole, memberships } from '../roles.ts';
import {
  type AssignmentRow,
  closeRanks,
  countOthers,
  holdAssignment,
  lockOrgs,
  readSuperiors,
  removeAssignment,
  writeAssignment,
} from './assignment-rows.ts';
import { readPlaced } from './family-rows.ts';
import type { HabitatUnit } from './unit.ts';
import { readIdentity } from './identity-rows.ts';
import { type PlaceWish, resolvePlace } from './place.ts';
import { isOrgAdmin, type OrgStanding, readOrgStanding } from './team-permissions.ts';

interface AssignmentWish extends PlaceWish {
  readonly agentId: string;
}

type Denied = ReferenceDenial | 'E_CYCLE' | 'E_QUOTA';

/** Throws FORBIDDEN to who is no admin of both organisations, or gives away more than they hold. */
export async function assign(unit: HabitatUnit, wish: AssignmentWish): Promise<Decision<AssignmentRow, Denied>> {
  const { tx, caller } = unit;
  const { agentId } = wish;
  const actor = actorOf(caller);
  const found = await resolvePlace(tx, { everything: actor.operator, identity: actor.identity }, wish);
  if (!found.ok) return found;
  const { place, role } = found.value;
  const old = await holdAssignment(tx, agentId);
  requireHeld(await requireAdmin(tx, actor, { agentId, org: place.org, old }), role?.permissions ?? []);
  if (old?.org !== place.org && !(await isKnownTo(tx, caller, agentId))) return deny('E_NOT_FOUND');
  if (old?.org !== place.org) await requireSay(tx, caller, agentId);
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

interface Move {
  readonly agentId: string;
  readonly org: string;
  readonly old: AssignmentRow | null;
}

/** Both organisations stay as they are from here on. Whoever moves itself may leave the old one anyway. */
async function requireAdmin(tx: SqlClient, actor: Actor, { agentId, org, old }: Move): Promise<OrgStanding> {
  const locked = await lockOrgs(tx, old === null ? [org] : [org, old.org]);
  const standings = new Map<string, OrgStanding>();
  for (const row of locked.values()) {
    if (row.id === org || !isSelf(actor, agentId)) standings.set(row.id, await readOrgStanding(tx, actor, row));
  }
  const standing = standings.get(org);
  if (standing === undefined || ![...standings.values()].every(isOrgAdmin))
    throw new CallError(
      'FORBIDDEN',
      'This is for admins of the organisation, and of the one that the agent has a place in now.',
    );
  return standing;
}

/** Nobody gives away more than they hold. */
function requireHeld({ everything, permissions: held }: OrgStanding, permissions: readonly string[]): void {
  if (!everything && !grantsAll(held, permissions)) {
    throw new CallError('FORBIDDEN', 'The role permits more than the caller may.');
  }
}

/** Throws FORBIDDEN to who has no say over the identity: nobody is put where it does not want to be. */
async function requireSay(tx: SqlClient, caller: Acting, agentId: string): Promise<void> {
  if (await hasSay(tx, caller, agentId)) return;
  const who = 'an operator, an admin of its home workspace, whoever spawned it, or itself';
  throw new CallError('FORBIDDEN', `To bring ${agentId} into an organisation is for ${who}.`);
}

/** Operators, the identity itself, those above it, and the admins of its home. */
async function hasSay(tx: SqlClient, caller: Acting, agentId: string): Promise<boolean> {
  const actor = actorOf(caller);
  if (actor.operator || isSelf(actor, agentId)) return true;
  if (actor.identity !== null && isAbove(actor.identity, await readPlaced(tx, agentId))) return true;
  const guard = guardOf((await readIdentity(tx, agentId)).value);
  return guard !== null && (await holdsRole(tx, caller, guard, 'admin'));
}

/** `org`: the one that was left, null when there was none. Throws FORBIDDEN. */
export async function leave(
  unit: HabitatUnit,
  agentId: string,
): Promise<Decision<{ readonly org: string | null }, never>> {
  const { tx, caller } = unit;
  const actor = actorOf(caller);
  const old = await holdAssignment(tx, agentId);
  const org = old === null ? undefined : (await lockOrgs(tx, [old.org])).get(old.org);
  const isAdmin = org !== undefined && isOrgAdmin(await readOrgStanding(tx, actor, org));
  if (!isAdmin && !(await hasSay(tx, caller, agentId)))
    throw new CallError(
      'FORBIDDEN',
      'This is for the agent itself, who is above it, admins of its home or of its organisation, and operators.',
    );
  if (old === null) return allow({ org: null });
  await removeAssignment(tx, agentId);
  const by = actor.name;
  unit.touch();
  const parties = [...new Set([agentId, by, ...(org?.owner == null ? [] : [org.owner])])];
  unit.emit({ name: 'team:left', payload: { agentId, org: old.org, by, parties } });
  unit.audit({ event: 'team:left', workspace: null, data: { agentId, old, by } });
  return allow({ org: old.org });
}

/** A live identity that the caller may know of. */
async function isKnownTo(tx: SqlClient, caller: Acting, agentId: string): Promise<boolean> {
  const { value: rows } = await readIdentity(tx, agentId);
  const held = await memberships(tx, caller);
  const shared = rows.roles.map(({ workspace }) => workspace).filter((workspace) => held.has(workspace));
  return visibleWorkspaces(actorOf(caller), rows, shared) !== null;
}
