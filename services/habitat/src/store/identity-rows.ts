/** Reads of the registry that decide who somebody is: each one statement, so that rows and stamp belong together. */
import type { RegistryStamp, VerifiedToken } from '@svc/contract/registry.ts';
import { PlanName } from '@svc/contract/registry.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import { type AgentFacts, contextOf, type HeldRole, type IdentityRows, rolesByWorkspace } from '../domain/identity.ts';
import { assertStamped, type StampRow, stampOf } from '../revision.ts';
import { epochMs } from '@svc/runtime/sql-time.ts';

/** It, or whoever is above it in the tree of spawns. `id` is part of the statement. */
export const IN_QUARANTINE = (id: string) => `EXISTS (SELECT 1 FROM habitat.trust WHERE quarantined_at IS NOT NULL
  AND entity_id = ANY(array_append((SELECT ancestors FROM habitat.agents WHERE agent_id = ${id}), ${id})))`;

/** Condition on a row of agents: whoever it has its team from is in the team, owns its organisation or was appointed by an operator. */
export const HOLDS_TEAM = `team_held AND (team_from IS NULL
  OR EXISTS (SELECT 1 FROM habitat.assignments s WHERE s.agent_id = agents.team_from AND s.team = agents.team)
  OR EXISTS (SELECT 1 FROM habitat.teams t JOIN habitat.orgs o ON o.id = t.org
    WHERE t.id = agents.team AND o.owner = agents.team_from)
  OR EXISTS (SELECT 1 FROM habitat.roles r WHERE r.workspace_id = 'org-' || agents.team
    AND r.user_id = agents.team_from AND r.role = 'admin' AND r.source = 'operator'))`;

/** The same of its brain. */
export const HOLDS_BRAIN = `brain_held AND (brain_from IS NULL OR EXISTS (SELECT 1 FROM habitat.roles r
  WHERE r.workspace_id = agents.brain_home AND r.user_id = agents.brain_from AND r.role = 'admin'))`;

const IDENTITY = (id: string) => `
  (SELECT row_to_json(a) FROM (SELECT name, CASE WHEN ${HOLDS_TEAM} THEN team END AS team,
     CASE WHEN ${HOLDS_BRAIN} THEN brain END AS brain, workspace, killed_at IS NOT NULL AS killed, coalesce(family, agent_id) AS family,
     created_by AS "createdBy" FROM habitat.agents WHERE agent_id = ${id}) a) AS agent,
  ${IN_QUARANTINE(id)} AS quarantined,
  (SELECT coalesce(json_agg(json_build_object('workspace', workspace_id, 'role', role, 'source', source)
     ORDER BY granted_at, workspace_id, role), '[]') FROM habitat.roles WHERE user_id = ${id}) AS roles,
  (SELECT row_to_json(s) FROM (SELECT s.org, s.team, o.plan, o.confirmed_at IS NOT NULL AS confirmed FROM habitat.assignments s
     JOIN habitat.orgs o ON o.id = s.org WHERE s.agent_id = ${id}) s) AS assignment`;

/** An organisation goes before an identity that has taken its id as a name. Groups by what they are. */
const ACCOUNTS = (id: string) => `
  ARRAY(SELECT ${id} WHERE NOT EXISTS (SELECT 1 FROM habitat.orgs WHERE id = ${id})
    UNION SELECT id FROM habitat.orgs WHERE owner = ${id}
    UNION SELECT org FROM habitat.assignments WHERE agent_id = ${id}
    UNION SELECT unnest(ARRAY['in:org:' || org, 'in:dept:' || dept, 'in:team:' || team]) FROM habitat.assignments
      WHERE agent_id = ${id}
    EXCEPT SELECT NULL) AS accounts`;

const STAMP = 'r.rev, r.policies, r.settings';

interface IdentityRow {
  readonly agent: AgentFacts | null;
  readonly quarantined: boolean;
  readonly roles: readonly HeldRole[];
  readonly assignment: IdentityRows['assignment'];
}

export interface Stamped<Value> {
  readonly stamp: RegistryStamp;
  readonly value: Value;
}

export async function readIdentity(client: SqlClient, id: string): Promise<Stamped<IdentityRows>> {
  const [row] = await client.$queryRawUnsafe<(IdentityRow & StampRow)[]>(
    `SELECT ${STAMP}, ${IDENTITY('$1')} FROM habitat.registry_revision r`,
    id,
  );
  assertStamped(row);
  const { agent, quarantined, roles, assignment } = row;
  return { stamp: stampOf(row), value: { id, agent, quarantined, roles, assignment } };
}

interface TokenRow extends IdentityRow, StampRow {
  readonly now: number;
  readonly tokenId: string | null;
  readonly agentId: string;
  readonly bound: string | null;
  readonly readOnly: boolean;
  readonly profile: string | null;
  readonly expiresAt: number;
  readonly accounts: readonly string[];
}

/** Past its end too: what is kept under a stamp holds for as long as that does, wherever the clock is set meanwhile. */
const UNREVOKED = `kind = 'habitat' AND revoked_at IS NULL`;

/** Tokens by their hashes, in that order. */
const TOKENS = `SELECT ${STAMP}, ${epochMs('clock_timestamp()')} AS now, t.token_id AS "tokenId", t.agent_id AS "agentId", t.workspace AS bound,
    t.read_only AS "readOnly", t.profile, ${epochMs('t.expires_at')} AS "expiresAt",
    ${IDENTITY('t.agent_id')}, ${ACCOUNTS('t.agent_id')}
  FROM habitat.registry_revision r CROSS JOIN unnest($1::text[]) WITH ORDINALITY asked (hash, place)
  LEFT JOIN habitat.tokens t ON t.hash = asked.hash AND ${UNREVOKED}
  ORDER BY place`;

/** `now`: of the clock by which it ends. */
export interface StampedToken extends Stamped<VerifiedToken | null> {
  readonly now: number;
}

/** `hash`: SHA-256 of the raw token in hex. Null = unknown, revoked, or whose agent has no role any more. */
export async function readToken(client: SqlClient, hash: string): Promise<StampedToken> {
  const [token] = await readTokens(client, [hash]);
  if (token === undefined) throw new Error('one token was asked for and none answered');
  return token;
}

/** The same of many, each in its place. */
export async function readTokens(client: SqlClient, hashes: readonly string[]): Promise<StampedToken[]> {
  const rows = await client.$queryRawUnsafe<TokenRow[]>(TOKENS, hashes);
  assertStamped(rows[0]);
  return rows.map(({ now, ...found }) => ({ stamp: stampOf(found), value: verifiedToken(found), now }));
}

export async function readTokenStands(client: SqlClient, tokenId: string): Promise<Stamped<boolean>> {
  const [row] = await client.$queryRawUnsafe<(StampRow & { stands: boolean })[]>(
    `SELECT ${STAMP}, EXISTS (SELECT 1 FROM habitat.tokens WHERE token_id = $1 AND ${UNREVOKED}) AS stands
     FROM habitat.registry_revision r`,
    tokenId,
  );
  assertStamped(row);
  return { stamp: stampOf(row), value: row.stands };
}

function verifiedToken({
  tokenId,
  agentId,
  bound,
  readOnly,
  profile,
  expiresAt,
  accounts,
  ...rows
}: Omit<TokenRow, 'now'>): VerifiedToken | null {
  if (tokenId === null) return null;
  const identity: IdentityRows = { id: agentId, ...rows };
  const subject = contextOf(identity, bound ?? undefined);
  if (subject === null || (bound !== null && subject.workspace !== bound)) return null;
  const roles = rolesByWorkspace(identity);
  return {
    limits: { tokenId, bound, readOnly, profile, expiresAt },
    subject: { ...subject, verified: true },
    quarantined: identity.quarantined,
    roles: bound === null ? roles : { [bound]: subject.roles ?? [] },
    accounts: [...accounts],
    ...planOf(rows.assignment),
  };
}

/** An organisation that nobody has confirmed buys nothing, and holds nobody back. */
export function planOf(assignment: IdentityRows['assignment']): Pick<VerifiedToken, 'org' | 'plan'> {
  if (assignment?.confirmed !== true) return { org: null, plan: null };
  const plan = PlanName.safeParse(assignment.plan);
  return { org: assignment.org, plan: plan.success ? plan.data : null };
}

/** The accounts that an identity may read. */
export async function readAccounts(client: SqlClient, id: string): Promise<Stamped<string[]>> {
  const [row] = await client.$queryRawUnsafe<(StampRow & { accounts: string[] })[]>(
    `SELECT ${STAMP}, ${ACCOUNTS('$1::text')} FROM habitat.registry_revision r`,
    id,
  );
  assertStamped(row);
  return { stamp: stampOf(row), value: row.accounts };
}

/** The node, or an operator, made it, or an operator made somebody admin there: nobody opens such a one for itself. */
const CONFIRMED = (workspace: string) => `(
  EXISTS (SELECT 1 FROM habitat.workspaces WHERE workspace_id = ${workspace} AND created_by IN ('operator', 'system'))
  OR EXISTS (SELECT 1 FROM habitat.roles WHERE workspace_id = ${workspace} AND role = 'admin' AND source = 'operator'))`;

interface RolesThere {
  readonly known: boolean;
  readonly confirmed: boolean;
  readonly roles: string[];
}

/** Roles of an identity in one workspace; `known`: the workspace exists. */
export async function readRoles(client: SqlClient, userId: string, workspaceId: string): Promise<Stamped<RolesThere>> {
  const [row] = await client.$queryRawUnsafe<(StampRow & RolesThere)[]>(
    `SELECT ${STAMP}, EXISTS (SELECT 1 FROM habitat.workspaces WHERE workspace_id = $2) AS known, ${CONFIRMED('$2')} AS confirmed,
       ARRAY(SELECT role FROM habitat.roles WHERE workspace_id = $2 AND user_id = $1 ORDER BY role) AS roles
     FROM habitat.registry_revision r`,
    userId,
    workspaceId,
  );
  assertStamped(row);
  return { stamp: stampOf(row), value: { known: row.known, confirmed: row.confirmed, roles: row.roles } };
}
