/** An agent comes into being and gets its place: one transaction. */
import { CallError } from '@svc/contract/codes.ts';
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import { foldCase } from '@svc/contract/names.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import { type Acting, type Actor, actorOf } from '../domain/actor.ts';
import { type Home, maySeeAgent, mayGiveBrain, maySpawn, workspaceRoleOf } from '../domain/agent-rights.ts';
import { isAbove, type Lineage, lineageOf, type Placed } from '../domain/family.ts';
import { heldRoles } from '../roles.ts';
import {
  type AgentRow,
  countLiveAgents,
  countSpawnsLastMinute,
  insertAgent,
  lockAgent,
  readRelation,
} from './agent-rows.ts';
import { readPlaced } from './family-rows.ts';
import type { HabitatUnit } from './habitat-store.ts';
import { lockNames } from './name-lock.ts';
import { provision, workspaceOfTeam } from './provision.ts';
import { findOne } from './team-rows.ts';
import { hasRoomForWorkspace, lockWorkspace } from './workspace-rows.ts';

export const MAX_SPAWNS_A_MINUTE = 60;

export interface SpawnWish {
  readonly agentId: string;
  readonly name: string;
  readonly role?: string | undefined;
  readonly parent?: string | undefined;
  readonly brain?: string | undefined;
  readonly team?: string | undefined;
  /** Id or name of a team role. */
  readonly roleId?: string | undefined;
  readonly reportsTo?: string | undefined;
}

export interface Spawned {
  readonly agent: AgentRow;
  readonly roles: readonly string[];
}

export type SpawnDenial = 'E_QUOTA' | 'E_RATE_LIMIT' | 'AGENT_NOT_FOUND' | 'E_NOT_FOUND';

/** Throws FORBIDDEN to who may not spawn there, or not with that role or brain. */
export async function spawn(
  unit: HabitatUnit,
  caller: Acting,
  wish: SpawnWish,
): Promise<Decision<Spawned, SpawnDenial>> {
  const actor = actorOf(caller);
  const spawner = actor.operator || actor.identity === null ? null : await readPlaced(unit.tx, actor.identity);
  if (!(await isWithinRate(unit.tx, spawner))) return deny('E_RATE_LIMIT');
  const relatives = await findRelatives(unit.tx, actor, wish);
  if (!relatives.ok) return relatives;
  const lineage = await placeOf(unit.tx, spawner, wish.agentId, relatives.value.parent);
  if (!lineage.ok) return lineage;
  const home = await settle(unit, caller, wish);
  if (!home.ok) return home;
  const { agentId, name, role = null, brain = null, team = null } = wish;
  const { workspace, roles } = home.value;
  const by = actor.name;
  const born = { agentId, name, role, brain, team, workspace, createdBy: by, ...relatives.value };
  const agent = await insertAgent(unit.tx, born, lineage.value);
  unit.touch();
  unit.emit({ name: 'agent:spawned', workspace, payload: { agentId, name, role, by } });
  unit.audit({ event: 'agent:spawned', workspace, data: { agentId, name, role, roles, ...relatives.value, by } });
  return allow({ agent, roles });
}

/** Spawns of one family come one after the other, so that each sees the ones before. Null = an operator. */
async function isWithinRate(tx: SqlClient, spawner: Placed | null): Promise<boolean> {
  if (spawner === null) return true;
  await lockNames(tx, [`spawn:${spawner.family}`]);
  return (await countSpawnsLastMinute(tx, spawner.family)) < MAX_SPAWNS_A_MINUTE;
}

/** Throws FORBIDDEN to who names a parent that is neither itself nor below it. */
async function placeOf(
  tx: SqlClient,
  spawner: Placed | null,
  agentId: string,
  parentId: string | null,
): Promise<Decision<Lineage, 'E_QUOTA'>> {
  const parent = parentId === null ? null : await readPlaced(tx, parentId);
  if (spawner !== null && parent !== null && parent.id !== spawner.id && !isAbove(spawner.id, parent)) {
    throw new CallError('FORBIDDEN', 'The parent must be the caller, or an agent that descends from the caller.');
  }
  return lineageOf({ agentId, spawner, parent });
}

interface Relatives {
  readonly parent: string | null;
  readonly reportsTo: string | null;
  readonly roleId: string | null;
}

/** Who spawns is the parent, if it is an agent itself. */
async function findRelatives(
  tx: SqlClient,
  actor: Actor,
  wish: SpawnWish,
): Promise<Decision<Relatives, 'AGENT_NOT_FOUND' | 'E_NOT_FOUND'>> {
  const { identity, operator } = actor;
  const named = [wish.parent, wish.reportsTo].filter((id) => id !== undefined);
  for (const agentId of [...new Set(named)].sort()) {
    const agent = await lockAgent(tx, agentId, 'SHARE');
    if (agent === null || !maySeeAgent(actor, await readRelation(tx, actor, agent))) return deny('AGENT_NOT_FOUND');
  }
  const parent =
    wish.parent ?? (identity === null ? null : ((await lockAgent(tx, identity, 'SHARE'))?.agentId ?? null));
  const relatives: Relatives = { parent, reportsTo: wish.reportsTo ?? null, roleId: null };
  if (wish.roleId === undefined) return allow(relatives);
  const role = await findOne(tx, { everything: operator, identity }, 'team_roles', wish.roleId);
  return role.ok ? allow({ ...relatives, roleId: role.value.id }) : deny('E_NOT_FOUND');
}

/** The agent's place; whoever found no workspace but is not the one to make it is judged again by the one that is there. */
async function settle(
  unit: HabitatUnit,
  caller: Acting,
  wish: SpawnWish,
): Promise<Decision<{ workspace: string; roles: readonly string[] }, 'E_QUOTA'>> {
  const workspace = workspaceOfTeam(wish.team);
  const isThere = (await lockWorkspace(unit.tx, workspace)) !== null;
  await requireSpawner(unit.tx, caller, wish, isThere);
  const { agentId } = wish;
  const by = actorOf(caller).name;
  const { operator } = actorOf(caller);
  const source = operator ? 'operator' : 'family';
  if (!isThere && !(await hasRoomForWorkspace(unit.tx, actorOf(caller)))) return deny('E_QUOTA');
  const placed = await provision(unit, { agentId, workspace, role: workspaceRoleOf(wish.role), by, source });
  if (!placed.ok) return placed;
  const { roles, workspaceCreated } = placed.value;
  if (!isThere && !workspaceCreated) await requireSpawner(unit.tx, caller, wish, true);
  const live = workspaceCreated ? 0 : await countLiveAgents(unit.tx, workspace);
  return live >= (await unit.setting('habitat.maxAgents')) ? deny('E_QUOTA') : allow({ workspace, roles });
}

async function requireSpawner(
  tx: SqlClient,
  caller: Acting,
  { team, role, brain }: SpawnWish,
  isThere: boolean,
): Promise<void> {
  const actor = actorOf(caller);
  if (actor.operator) return;
  const workspace = workspaceOfTeam(team);
  const home: Home = {
    workspace,
    held: isThere ? await heldRoles(tx, caller, workspace) : null,
    team: isThere || team === undefined ? null : await readNamedTeam(tx, team, actor.identity),
  };
  if (
    !maySpawn(actor, home, workspaceRoleOf(role)) ||
    !mayGiveBrain(actor, home, brain ?? null, caller.subject.brain)
  ) {
    throw new CallError('FORBIDDEN');
  }
}

/** The team that the name of a workspace belongs to: that of the id, else the oldest of the name. */
async function readNamedTeam(tx: SqlClient, team: string, identity: string | null): Promise<Home['team']> {
  const [row] = await tx.$queryRawUnsafe<{ owner: string | null; isMember: boolean }[]>(
    `SELECT o.owner, EXISTS (SELECT 1 FROM habitat.assignments s WHERE s.team = t.id AND s.agent_id = $3) AS "isMember"
     FROM habitat.teams t JOIN habitat.orgs o ON o.id = t.org WHERE t.id = $1 OR t.folded = $2
     ORDER BY t.id = $1 DESC, t.created_at, t.id LIMIT 1`,
    team,
    foldCase(team),
    identity,
  );
  return row ?? null;
}
