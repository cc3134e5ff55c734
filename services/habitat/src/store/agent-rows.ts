/** Agents as rows. */
import type { SqlClient } from '@svc/runtime/database.ts';
import type { Actor } from '../domain/actor.ts';
import type { BrainHeld, Relation, TeamHeld } from '../domain/agent-rights.ts';
import type { Lineage } from '../domain/family.ts';
import { guardOf } from '../domain/identity.ts';
import { readIdentity } from './identity-rows.ts';
import { epochMs, isLately } from '@svc/runtime/sql-time.ts';

/** Times in ms since the epoch. */
export interface AgentRow {
  readonly agentId: string;
  readonly name: string;
  readonly role: string | null;
  readonly parent: string | null;
  readonly brain: string | null;
  readonly team: string | null;
  /** Where it was spawned: its home while it holds a role there. */
  readonly workspace: string;
  readonly roleId: string | null;
  readonly reportsTo: string | null;
  readonly createdBy: string;
  readonly createdAt: number;
}

const COLUMNS = `agent_id AS "agentId", name, role, parent, brain, team, workspace, role_id AS "roleId",
  reports_to AS "reportsTo", created_by AS "createdBy", ${epochMs('created_at')} AS "createdAt"`;

/**
 * Condition on a row `a` of agents: it still holds a role where it was spawned. Asked of the index row by row (`OFFSET`
 * keeps the planner from making it a join): while tables grow faster than their statistics, it takes both sides for small
 * and compares each agent with each role.
 */
export const IS_AT_HOME = `EXISTS (SELECT 1 FROM habitat.roles own
  WHERE own.workspace_id = a.workspace AND own.user_id = a.agent_id OFFSET 0)`;

/** A live agent, kept as it is until the transaction ends; null = unknown or killed. `SHARE` lets others keep it too. */
export async function lockAgent(tx: SqlClient, agentId: string, mode: 'UPDATE' | 'SHARE'): Promise<AgentRow | null> {
  const [row] = await tx.$queryRawUnsafe<AgentRow[]>(
    `SELECT ${COLUMNS} FROM habitat.agents WHERE agent_id = $1 AND killed_at IS NULL FOR ${mode}`,
    agentId,
  );
  return row ?? null;
}

/** Of an agent; it is neither killed nor comes to be until the transaction ends. False for users, and for whom there is not. */
export async function isKilled(tx: SqlClient, agentId: string): Promise<boolean> {
  const [row] = await tx.$queryRawUnsafe<{ killed: boolean }[]>(
    'SELECT killed_at IS NOT NULL AS killed FROM habitat.agents WHERE agent_id = $1 FOR SHARE',
    agentId,
  );
  return row?.killed === true;
}

/** Whether one of them has ever lived. */
export async function haveLived(tx: SqlClient, agentIds: readonly string[]): Promise<boolean> {
  const rows = await tx.$queryRawUnsafe<unknown[]>(
    'SELECT 1 FROM habitat.agents WHERE agent_id = ANY($1::text[]) LIMIT 1',
    agentIds,
  );
  return rows.length > 0;
}

/** Those of them that live. */
export async function readLiving(client: SqlClient, agentIds: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await client.$queryRawUnsafe<{ id: string }[]>(
    'SELECT agent_id AS id FROM habitat.agents WHERE agent_id = ANY($1::text[]) AND killed_at IS NULL',
    agentIds,
  );
  return new Set(rows.map(({ id }) => id));
}

/** What the actor has to do with the agent, as the roles are now: who put it out has no more to do with it. */
export async function readRelation(
  client: SqlClient,
  { identity, token }: Actor,
  { agentId, workspace, createdBy }: AgentRow,
): Promise<Relation> {
  const guard = guardOf((await readIdentity(client, agentId)).value);
  const [row] = await client.$queryRawUnsafe<Pick<Relation, 'held' | 'sharesWorkspace'>[]>(
    `WITH mine AS (SELECT workspace_id, role FROM habitat.roles
       WHERE user_id = $1 AND ($2::text IS NULL OR workspace_id = $2))
     SELECT ARRAY(SELECT role FROM mine WHERE workspace_id = $4) AS held,
       EXISTS (SELECT 1 FROM mine JOIN habitat.roles theirs USING (workspace_id) WHERE theirs.user_id = $3)
         AS "sharesWorkspace"`,
    identity,
    token?.bound ?? null,
    agentId,
    guard,
  );
  if (row === undefined) throw new Error('a read of one relation found no row');
  return { agentId, workspace, createdBy, ...row };
}

/** Those that were spawned there and are still there: others are out of reach of its admins. */
export async function countLiveAgents(client: SqlClient, workspace: string): Promise<number> {
  const [row] = await client.$queryRawUnsafe<{ live: number }[]>(
    `SELECT count(*)::int AS live FROM habitat.agents a WHERE workspace = $1 AND killed_at IS NULL AND ${IS_AT_HOME}`,
    workspace,
  );
  return row?.live ?? 0;
}

/** Also of agents that are killed by now; the root of the family was spawned by nobody of it. */
export async function countSpawnsLastMinute(client: SqlClient, family: string): Promise<number> {
  const [row] = await client.$queryRawUnsafe<{ spawned: number }[]>(
    `SELECT count(*)::int AS spawned FROM habitat.agents
     WHERE family = $1 AND agent_id <> $1 AND ${isLately('created_at', "interval '1 minute'")}`,
    family,
  );
  return row?.spawned ?? 0;
}

/** What nobody is shown: its family, and by whom row rules see its team and its brain; null = they do not. */
interface Belonging extends Lineage {
  readonly teamHeld: TeamHeld | null;
  readonly brainHeld: BrainHeld | null;
}

export async function insertAgent(
  tx: SqlClient,
  agent: Omit<AgentRow, 'createdAt'>,
  { family, ancestors, teamHeld, brainHeld }: Belonging,
): Promise<AgentRow> {
  const { agentId, name, role, parent, brain, team, workspace, roleId, reportsTo, createdBy } = agent;
  const [row] = await tx.$queryRawUnsafe<AgentRow[]>(
    `INSERT INTO habitat.agents
       (agent_id, name, role, parent, brain, team, workspace, role_id, reports_to, created_by, created_at,
        family, ancestors, team_held, team_from, brain_held, brain_from, brain_home)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, clock_timestamp(), $11, $12, $13, $14, $15, $16, $17) RETURNING ${COLUMNS}`,
    agentId,
    name,
    role,
    parent,
    brain,
    team,
    workspace,
    roleId,
    reportsTo,
    createdBy,
    family,
    ancestors,
    teamHeld !== null,
    teamHeld?.from ?? null,
    brainHeld !== null,
    brainHeld?.from ?? null,
    brainHeld?.home ?? null,
  );
  if (row === undefined) throw new Error('an inserted agent was not returned');
  return row;
}

/** Those below the agent come under whoever was above it. The row is locked. */
export async function endAgent(tx: SqlClient, { agentId, parent, reportsTo }: AgentRow): Promise<void> {
  await tx.$executeRawUnsafe('UPDATE habitat.agents SET killed_at = clock_timestamp() WHERE agent_id = $1', agentId);
  await tx.$executeRawUnsafe('UPDATE habitat.agents SET parent = $2 WHERE parent = $1', agentId, parent);
  await tx.$executeRawUnsafe('UPDATE habitat.agents SET reports_to = $2 WHERE reports_to = $1', agentId, reportsTo);
}

type AgentState = 'idle' | 'working';

interface ListedAgent extends AgentRow {
  readonly state: AgentState;
}

interface AgentQuery {
  /** Sees every workspace, else only those in which `identity` holds a role; `bound` = at most that one. */
  readonly everything: boolean;
  readonly identity: string | null;
  readonly bound: string | null;
  readonly workspace: string | null;
  readonly after: string | null;
  readonly limit: number;
}

/** Of who does not see everything: $4 identity, $5 bound workspace. Few workspaces lead to their agents. */
const IN_SIGHT = `AND ${IS_AT_HOME} AND workspace = ANY(ARRAY(SELECT workspace_id FROM habitat.roles
  WHERE user_id = $4 AND ($5::text IS NULL OR workspace_id = $5)))`;

/** Live agents in the order of their ids, one more than the limit when there are more. */
export function readAgents(
  client: SqlClient,
  { everything, identity, bound, workspace, after, limit }: AgentQuery,
): Promise<ListedAgent[]> {
  return client.$queryRawUnsafe<ListedAgent[]>(
    `SELECT ${COLUMNS}, CASE WHEN EXISTS (SELECT 1 FROM habitat.agent_tasks t
         WHERE t.agent_id = a.agent_id AND t.ended_at IS NULL) THEN 'working' ELSE 'idle' END AS state
     FROM (SELECT * FROM habitat.agents a
       WHERE killed_at IS NULL AND ($1::text IS NULL OR workspace = $1 AND ${IS_AT_HOME}) AND ($2::text IS NULL OR agent_id > $2)
         ${everything ? '' : IN_SIGHT} ORDER BY agent_id LIMIT $3::int) a
     ORDER BY agent_id`,
    workspace,
    after,
    limit + 1,
    ...(everything ? [] : [identity, bound]),
  );
}

export type AgentEnd = 'killed' | 'no role';

/** Those of the agents as which nobody can act any more. */
export async function readEnded(
  client: SqlClient,
  agentIds: readonly string[],
): Promise<ReadonlyMap<string, AgentEnd>> {
  const rows = await client.$queryRawUnsafe<{ id: string; ended: AgentEnd }[]>(
    `SELECT agent_id AS id, CASE WHEN killed_at IS NULL THEN 'no role' ELSE 'killed' END AS ended FROM habitat.agents
     WHERE agent_id = ANY($1::text[])
       AND (killed_at IS NOT NULL OR NOT EXISTS (SELECT 1 FROM habitat.roles WHERE user_id = agent_id))`,
    agentIds,
  );
  return new Map(rows.map(({ id, ended }) => [id, ended]));
}
