/** An agent comes into being and gets its place: one transaction. */
import { CallError } from '@svc/contract/codes.ts';
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import type { Role } from '@svc/contract/registry.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import { type Acting, type Actor, actorOf } from '../domain/actor.ts';
import { maySeeAgent, maySpawn, workspaceRoleOf } from '../domain/agent-rights.ts';
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
import type { HabitatUnit } from './unit.ts';
import { lockNames } from './name-lock.ts';
import { rolesToPassOn } from './passing-on.ts';
import { provision } from './provision.ts';
import { holdBrain, placeInTeam, type TeamPlace } from './team-claim.ts';
import { findOne } from './team-rows.ts';
import { hasRoomForWorkspace, lockWorkspace } from './workspace-rows.ts';

export const MAX_SPAWNS_A_MINUTE = 60;
const NAME_TAIL = 6;

export interface SpawnWish {
  /** Default: agent- and the end of its id. */
  readonly name?: string | undefined;
  readonly role?: string | undefined;
  readonly parent?: string | undefined;
  readonly brain?: string | undefined;
  /** Workspace in which that brain is at home; null = in none. */
  readonly brainHome?: string | null | undefined;
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

/** Throws FORBIDDEN to who may not spawn there, or not with that role. */
export async function spawn(unit: HabitatUnit, wish: SpawnWish): Promise<Decision<Spawned, SpawnDenial>> {
  const { caller } = unit;
  const actor = actorOf(caller);
  const agentId = unit.ids.next('agt');
  const spawner = await readSpawner(unit.tx, actor);
  if (!(await isWithinRate(unit.tx, spawner))) return deny('E_RATE_LIMIT');
  const relatives = await findRelatives(unit.tx, actor, wish);
  if (!relatives.ok) return relatives;
  const lineage = await placeOf(unit.tx, spawner, agentId, relatives.value.parent);
  if (!lineage.ok) return lineage;
  const place = await placeInTeam(unit.tx, caller, spawner?.family ?? null, wish.team);
  const { workspace, teamHeld } = place;
  const settled = await settle(unit, { agentId, role: workspaceRoleOf(wish.role) }, place);
  if (!settled.ok) return settled;
  const brainHeld = await holdBrain(unit.tx, caller, wish);
  const { name = `agent-${agentId.slice(-NAME_TAIL)}`, role = null, brain = null, team = null } = wish;
  const roles = settled.value;
  const by = actor.name;
  const born = { agentId, name, role, brain, team, workspace, createdBy: by, ...relatives.value };
  const agent = await insertAgent(unit.tx, born, { ...lineage.value, teamHeld, brainHeld });
  unit.touch();
  unit.emit({ name: 'agent:spawned', workspace, payload: { agentId, name, role, by } });
  unit.audit({ event: 'agent:spawned', workspace, data: { agentId, name, role, roles, ...relatives.value, by } });
  return allow({ agent, roles });
}

/** Null = an operator. */
async function readSpawner(tx: SqlClient, { operator, identity }: Actor): Promise<Placed | null> {
  return operator || identity === null ? null : readPlaced(tx, identity);
}

/** Spawns of one family come one after the other, so that each sees the ones before. */
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
  { agentId, role }: { readonly agentId: string; readonly role: Role },
  place: TeamPlace,
): Promise<Decision<readonly string[], 'E_QUOTA'>> {
  const { caller } = unit;
  const actor = actorOf(caller);
  const { workspace } = place;
  const isThere = (await lockWorkspace(unit.tx, workspace)) !== null;
  await requireSpawner(unit.tx, caller, place, role);
  if (!isThere && !(await hasRoomForWorkspace(unit.tx, actor))) return deny('E_QUOTA');
  const source = actor.operator ? 'operator' : 'family';
  const placed = await provision(unit, { agentId, workspace, role, by: actor.name, source });
  if (!placed.ok) return placed;
  const { roles, workspaceCreated } = placed.value;
  if (!isThere && !workspaceCreated) await requireSpawner(unit.tx, caller, place, role);
  const live = workspaceCreated ? 0 : await countLiveAgents(unit.tx, workspace);
  return live >= (await unit.setting('habitat.maxAgents')) ? deny('E_QUOTA') : allow(roles);
}

async function requireSpawner(tx: SqlClient, caller: Acting, place: TeamPlace, role: Role): Promise<void> {
  const { workspace } = place;
  const isThere = (await lockWorkspace(tx, workspace)) !== null;
  const held = isThere ? await rolesOfSpawner(tx, caller, place) : null;
  if (!maySpawn(actorOf(caller), { workspace, held }, role))
    throw new CallError('FORBIDDEN', `To spawn there takes the role ${role} in the workspace.`);
}

/** In a workspace of the family whoever is above its owner spawns as the owner may. */
function rolesOfSpawner(
  tx: SqlClient,
  caller: Acting,
  { workspace, isFamilys }: TeamPlace,
): Promise<readonly string[]> {
  return isFamilys ? rolesToPassOn(tx, caller, workspace) : heldRoles(tx, caller, workspace);
}
