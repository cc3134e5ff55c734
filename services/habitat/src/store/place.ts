/** Which place in an organisation somebody means who names some parts of it. */
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import type { Place } from '../domain/assignment.ts';
import type { ReferenceDenial } from '../domain/reference.ts';
import { findOne, type TeamRoleRow, type TeamRow, type TeamTables, type TeamView, type Within } from './team-rows.ts';

/** Ids or names, but for `reportsTo`. */
export interface PlaceWish {
  readonly org?: string | undefined;
  readonly dept?: string | undefined;
  readonly team?: string | undefined;
  readonly role?: string | undefined;
  readonly reportsTo?: string | undefined;
}

interface ResolvedPlace {
  readonly place: Place;
  readonly role: TeamRoleRow | null;
}

type Found<Value> = Promise<Decision<Value, ReferenceDenial>>;

/** What is above a named part follows from it; parts that are not of one chain are not found. */
export async function resolvePlace(client: SqlClient, view: TeamView, wish: PlaceWish): Found<ResolvedPlace> {
  const named = await resolveNamed(client, view, wish);
  if (!named.ok) return named;
  const role = await findIfNamed(client, view, 'team_roles', wish.role, { org: named.value.org });
  if (!role.ok) return role;
  const chain = await joinRole(client, view, named.value, role.value);
  if (!chain.ok) return chain;
  const { org, dept = null, team = null } = chain.value;
  const reportsTo = wish.reportsTo ?? null;
  return allow({ place: { org, dept, team, role: role.value?.id ?? null, reportsTo }, role: role.value });
}

interface Chain {
  readonly org: string;
  readonly dept?: string;
  readonly team?: string;
}

async function resolveNamed(client: SqlClient, view: TeamView, wish: PlaceWish): Found<Partial<Chain>> {
  const org = await resolveOrg(client, view, wish);
  if (!org.ok) return org;
  const dept = await findIfNamed(client, view, 'depts', wish.dept, org.value);
  if (!dept.ok) return dept;
  const within = dept.value === null ? org.value : { org: dept.value.org, dept: dept.value.id };
  const team = await findIfNamed(client, view, 'teams', wish.team, within);
  if (!team.ok) return team;
  return allow(team.value === null ? within : chainOf(team.value));
}

/** Without any part, the only organisation there is. */
async function resolveOrg(
  client: SqlClient,
  view: TeamView,
  { org, dept, team, role }: PlaceWish,
): Found<{ readonly org?: string }> {
  if (org === undefined && (dept ?? team ?? role) !== undefined) return allow({});
  const found = await findOne(client, view, 'orgs', org);
  return found.ok ? allow({ org: found.value.id }) : found;
}

/** A role that belongs to a team is held in that team alone. */
async function joinRole(
  client: SqlClient,
  view: TeamView,
  { org, ...parts }: Partial<Chain>,
  role: TeamRoleRow | null,
): Found<Chain> {
  if (role === null) return org === undefined ? deny('E_PARENT_REQUIRED') : allow({ org, ...parts });
  if (role.team === null) return allow({ ...parts, org: role.org });
  if (parts.team !== undefined && parts.team !== role.team) return deny('E_NOT_FOUND');
  const team = await findOne(client, view, 'teams', role.team, { dept: parts.dept });
  return team.ok ? allow(chainOf(team.value)) : team;
}

function chainOf({ id, org, dept }: TeamRow): Chain {
  return { org, dept, team: id };
}

async function findIfNamed<Name extends keyof TeamTables>(
  client: SqlClient,
  view: TeamView,
  table: Name,
  reference: string | undefined,
  within: Within,
): Found<TeamTables[Name] | null> {
  return reference === undefined ? allow(null) : findOne(client, view, table, reference, within);
}
