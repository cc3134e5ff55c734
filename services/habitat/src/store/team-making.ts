/** Organisations and their parts come into being: each one transaction, under the lock of the organisation. */
import { CallError } from '@svc/contract/codes.ts';
import { allow, type Decision, neverDenied } from '@svc/contract/decision.ts';
import type { PlanName } from '@svc/contract/registry.ts';
import { type Acting, actorOf } from '../domain/actor.ts';
import type { ReferenceDenial } from '../domain/reference.ts';
import { grantsAll } from '../domain/team-permissions.ts';
import { lockOrgs } from './assignment-rows.ts';
import type { HabitatUnit } from './unit.ts';
import { insertDept, insertOrg, insertTeam, insertTeamRole, type NewOrg, writeConfirmation } from './team-changes.ts';
import { isOrgAdmin, type OrgStanding, readOrgStanding } from './team-permissions.ts';
import {
  type DeptRow,
  findOne,
  findOrg,
  type OrgRow,
  type TeamRoleRow,
  type TeamRow,
  type TeamView,
} from './team-rows.ts';

type Made<Row, Denied extends string = ReferenceDenial> = Promise<Decision<Row, Denied | 'E_DUPLICATE' | 'E_QUOTA'>>;

export function teamViewOf(caller: Acting): TeamView {
  const { operator, identity } = actorOf(caller);
  return { everything: operator, identity };
}

/** The caller owns it; that of an operator without an identity is nobody's. */
export async function makeOrg(
  unit: HabitatUnit,
  wish: Omit<NewOrg, 'id' | 'owner' | 'confirmedBy'>,
): Made<OrgRow, never> {
  const { identity: owner, name: by, operator: confirmed } = actorOf(unit.caller);
  const id = unit.ids.next('org');
  const made = await insertOrg(unit.tx, { ...wish, id, owner, confirmedBy: confirmed ? by : null });
  if (!made.ok) return made;
  const { name, plan } = wish;
  tell(unit, { name: 'org:created', payload: { org: id, name, plan, by, parties: partiesOf(by, owner) } });
  return allow({ ...wish, id, owner, confirmed, ...made.value });
}

/** Somebody named the organisation that is meant. */
function named(found: Decision<OrgRow, 'E_NOT_FOUND' | 'E_PARENT_REQUIRED'>): Decision<OrgRow, 'E_NOT_FOUND'> {
  return neverDenied(found, 'E_PARENT_REQUIRED');
}

/** An operator vouches for an organisation, with a plan if it is to have another one, or does so no more. */
export async function confirmOrg(
  unit: HabitatUnit,
  reference: string,
  { confirmed, plan: wanted }: { readonly confirmed: boolean; readonly plan?: PlanName | undefined },
): Promise<Decision<OrgRow, 'E_NOT_FOUND'>> {
  const { name: by } = actorOf(unit.caller);
  const view = teamViewOf(unit.caller);
  const found = named(await findOrg(unit.tx, view, reference));
  if (!found.ok) return found;
  const { id, owner } = found.value;
  await lockOrgs(unit.tx, [id]);
  await writeConfirmation(unit.tx, id, { confirmed, plan: wanted, by });
  const after = named(await findOrg(unit.tx, view, id));
  if (!after.ok) return after;
  const { plan } = after.value;
  tell(unit, { name: 'org:confirmed', payload: { org: id, confirmed, plan, by, parties: partiesOf(by, owner) } });
  return after;
}

export interface PartWish {
  readonly name: string;
}

/** What each of these throws: FORBIDDEN to who sees the organisation, but is no admin of it. */
export async function makeDept(
  unit: HabitatUnit,
  { org: reference, ...wish }: PartWish & { readonly org?: string | undefined; readonly desc: string },
): Made<DeptRow, Exclude<ReferenceDenial, 'E_AMBIGUOUS'>> {
  const org = await findOrg(unit.tx, teamViewOf(unit.caller), reference);
  if (!org.ok) return org;
  const { by, owner } = await requireOrgAdmin(unit, org.value.id);
  const row = { ...wish, id: unit.ids.next('dpt'), org: org.value.id };
  const made = await insertDept(unit.tx, row);
  if (!made.ok) return made;
  const { id: dept, name, org: into } = row;
  tell(unit, { name: 'dept:created', payload: { dept, org: into, name, by, parties: partiesOf(by, owner) } });
  return allow({ ...row, ...made.value });
}

export async function makeTeam(
  unit: HabitatUnit,
  { dept: reference, ...wish }: PartWish & { readonly dept?: string | undefined; readonly desc: string },
): Made<TeamRow> {
  const dept = await findOne(unit.tx, teamViewOf(unit.caller), 'depts', reference);
  if (!dept.ok) return dept;
  const { by, owner } = await requireOrgAdmin(unit, dept.value.org);
  const row = { ...wish, id: unit.ids.next('team'), org: dept.value.org, dept: dept.value.id };
  const made = await insertTeam(unit.tx, row);
  if (!made.ok) return made;
  const { id: team, name, org } = row;
  tell(unit, { name: 'team:created', payload: { team, org, name, by, parties: partiesOf(by, owner) } });
  return allow({ ...row, ...made.value });
}

interface TeamRoleWish extends PartWish {
  readonly org?: string | undefined;
  readonly team?: string | undefined;
  readonly permissions: readonly string[];
}

/** A role of a team is one of its organisation. */
export async function makeTeamRole(
  unit: HabitatUnit,
  { org: orgReference, team: teamReference, ...wish }: TeamRoleWish,
): Made<TeamRoleRow> {
  const place = await findRolePlace(unit, teamViewOf(unit.caller), orgReference, teamReference);
  if (!place.ok) return place;
  const { standing, by, owner } = await requireOrgAdmin(unit, place.value.org);
  if (!standing.everything && !grantsAll(standing.permissions, wish.permissions)) {
    throw new CallError('FORBIDDEN', 'The role would permit more than the caller may.');
  }
  const row = { ...wish, id: unit.ids.next('role'), ...place.value };
  const made = await insertTeamRole(unit.tx, row);
  if (!made.ok) return made;
  const { id: role, name, org } = row;
  tell(unit, { name: 'teamrole:created', payload: { role, org, name, by, parties: partiesOf(by, owner) } });
  return allow({ ...row, ...made.value });
}

async function findRolePlace(
  { tx }: HabitatUnit,
  view: TeamView,
  orgReference: string | undefined,
  teamReference: string | undefined,
): Promise<Decision<{ org: string; team: string | null }, ReferenceDenial>> {
  if (teamReference === undefined || orgReference !== undefined) {
    const org = await findOne(tx, view, 'orgs', orgReference);
    if (!org.ok) return org;
    if (teamReference === undefined) return allow({ org: org.value.id, team: null });
    const team = await findOne(tx, view, 'teams', teamReference, { org: org.value.id });
    return team.ok ? allow({ org: org.value.id, team: team.value.id }) : team;
  }
  const team = await findOne(tx, view, 'teams', teamReference);
  return team.ok ? allow({ org: team.value.org, team: team.value.id }) : team;
}

interface OrgAdmin {
  readonly standing: OrgStanding;
  readonly by: string;
  readonly owner: string | null;
}

/** The organisation stays as it is from here on. Throws FORBIDDEN. */
async function requireOrgAdmin({ tx, caller }: HabitatUnit, orgId: string): Promise<OrgAdmin> {
  const actor = actorOf(caller);
  const org = (await lockOrgs(tx, [orgId])).get(orgId);
  const standing = org === undefined ? null : await readOrgStanding(tx, actor, org);
  if (org === undefined || standing === null || !isOrgAdmin(standing))
    throw new CallError('FORBIDDEN', 'This is for admins of the organisation.');
  return { standing, by: actor.name, owner: org.owner };
}

type Told = Parameters<HabitatUnit['emit']>[0];

function tell(unit: HabitatUnit, event: Told): void {
  unit.touch();
  unit.emit(event);
  const { parties: _parties, ...data } = event.payload as Record<string, unknown>;
  unit.audit({ event: event.name, workspace: null, data });
}

function partiesOf(by: string, owner: string | null): string[] {
  return [...new Set(owner === null ? [by] : [by, owner])];
}
