/** Agents that work as one: all of them come into being in a workspace of their own, or none does. */
import { CallError } from '@svc/contract/codes.ts';
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import type { Role } from '@svc/contract/registry.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import { type Actor, actorOf } from '../domain/actor.ts';
import { lineageOf, type Placed, type RoleSource } from '../domain/family.ts';
import { countSpawnsLastMinute, haveLived, insertAgent, isKilled, lockAgent } from './agent-rows.ts';
import { readPlaced } from './family-rows.ts';
import { endOf } from './kill.ts';
import { lockNames } from './name-lock.ts';
import { grantRole, readHolders, revokeRole } from './role-rows.ts';
import { MAX_SPAWNS_A_MINUTE } from './spawn.ts';
import type { HabitatUnit } from './unit.ts';
import { deleteWorkspace, hasRoomForWorkspace, insertWorkspace, lockWorkspace } from './workspace-rows.ts';

interface NewMember {
  /** Chosen by who asks, so that asking again names the same agents. */
  readonly agentId: string;
  readonly name: string;
  readonly role: string;
}

export interface CrewWish {
  readonly workspace: string;
  /** Of the workspace; null = the first of its agents. */
  readonly owner: string | null;
  readonly agents: readonly NewMember[];
}

type CrewDenial = 'AGENT_NOT_FOUND' | 'E_QUOTA' | 'E_RATE_LIMIT' | 'HABITAT_WORKSPACE_EXISTS';

/** The same crew again is the one that is there. Throws FORBIDDEN to who is nobody. */
export async function assembleCrew(unit: HabitatUnit, wish: CrewWish): Promise<Decision<null, CrewDenial>> {
  const actor = actorOf(unit.caller);
  if (actor.identity === null && !actor.operator)
    throw new CallError('FORBIDDEN', 'A crew is assembled by an agent or an operator, and the caller is neither.');
  if ((await lockWorkspace(unit.tx, wish.workspace)) !== null) {
    return judgeThere(unit.tx, wish);
  }
  // Nobody would ever administer it.
  if (wish.owner !== null && (await isKilled(unit.tx, wish.owner))) return deny('AGENT_NOT_FOUND');
  const spawner = actor.operator || actor.identity === null ? null : await readPlaced(unit.tx, actor.identity);
  const room = await findRoom(unit, { actor, spawner, count: wish.agents.length });
  return room.ok ? settleCrew(unit, wish, spawner) : room;
}

async function settleCrew(
  unit: HabitatUnit,
  wish: CrewWish,
  spawner: Placed | null,
): Promise<Decision<null, CrewDenial>> {
  const actor = actorOf(unit.caller);
  const { workspace, owner: named, agents } = wish;
  const owner = named ?? agents[0]?.agentId ?? null;
  const made = await insertWorkspace(unit, { workspaceId: workspace, owner, by: actor.name });
  // Another process may have made this very crew meanwhile.
  if (made === null) return judgeThere(unit.tx, wish);
  const agentIds = agents.map(({ agentId }) => agentId);
  // A question that comes after the crew was disbanded does not bring it back.
  if (await haveLived(unit.tx, agentIds)) return deny('AGENT_NOT_FOUND');
  const parent = await parentOf(unit.tx, actor);
  for (const agent of agents) {
    const born = await bear(unit, { agent, workspace, spawner, parent });
    if (!born.ok) return born;
  }
  const holders = new Map<string, Role>(agents.map(({ agentId }) => [agentId, 'editor']));
  if (owner !== null) holders.set(owner, 'admin');
  return giveRoles(unit, workspace, holders);
}

async function giveRoles(
  unit: HabitatUnit,
  workspace: string,
  holders: ReadonlyMap<string, Role>,
): Promise<Decision<null, 'E_QUOTA'>> {
  const { name: by, operator } = actorOf(unit.caller);
  const source: RoleSource = operator ? 'operator' : 'family';
  for (const [userId, role] of holders) {
    const granted = await grantRole(unit, { workspace, userId, role, by, source });
    if (!granted.ok) return granted;
  }
  return allow(null);
}

/**
 * There is a workspace of that name. It is the crew's own where one of its agents lives: they come into being with it and
 * end with it, so that it has not been another one meanwhile.
 */
async function judgeThere(
  tx: SqlClient,
  { workspace, agents }: CrewWish,
): Promise<Decision<null, 'HABITAT_WORKSPACE_EXISTS'>> {
  for (const { agentId } of agents) {
    const agent = await lockAgent(tx, agentId, 'SHARE');
    if (agent?.workspace === workspace) return allow(null);
  }
  return deny('HABITAT_WORKSPACE_EXISTS');
}

interface Room {
  readonly actor: Actor;
  /** Null = an operator. */
  readonly spawner: Placed | null;
  readonly count: number;
}

/** Spawns of one family come one after the other, so that each sees the ones before. */
async function findRoom(
  unit: HabitatUnit,
  { actor, spawner, count }: Room,
): Promise<Decision<null, 'E_QUOTA' | 'E_RATE_LIMIT'>> {
  if (spawner !== null) {
    await lockNames(unit.tx, [`spawn:${spawner.family}`]);
    const before = await countSpawnsLastMinute(unit.tx, spawner.family);
    if (before + count > MAX_SPAWNS_A_MINUTE) return deny('E_RATE_LIMIT');
  }
  const limit = await unit.setting('habitat.maxAgents');
  if (count > limit) return deny('E_QUOTA', { limit });
  return (await hasRoomForWorkspace(unit.tx, actor)) ? allow(null) : deny('E_QUOTA');
}

/** Who spawns is the parent, if it is an agent itself. */
async function parentOf(tx: SqlClient, { identity }: Actor): Promise<string | null> {
  return identity === null ? null : ((await lockAgent(tx, identity, 'SHARE'))?.agentId ?? null);
}

interface Birth {
  readonly agent: NewMember;
  readonly workspace: string;
  readonly spawner: Placed | null;
  readonly parent: string | null;
}

async function bear(
  unit: HabitatUnit,
  { agent, workspace, spawner, parent }: Birth,
): Promise<Decision<null, 'E_QUOTA'>> {
  const { agentId, name, role } = agent;
  const above = parent === null ? null : await readPlaced(unit.tx, parent);
  const lineage = lineageOf({ agentId, spawner, parent: above });
  if (!lineage.ok) return lineage;
  const by = actorOf(unit.caller).name;
  const born = { agentId, name, role, brain: null, team: null, workspace, createdBy: by, parent };
  const place = { roleId: null, reportsTo: null };
  await insertAgent(unit.tx, { ...born, ...place }, { ...lineage.value, teamHeld: null, brainHeld: null });
  unit.touch();
  unit.emit({ name: 'agent:spawned', workspace, payload: { agentId, name, role, by } });
  unit.audit({ event: 'agent:spawned', workspace, data: { agentId, name, role, parent, by } });
  return allow(null);
}

/**
 * As if the crew had never been; a workspace that was not made for it stays, and so does its own where somebody else has
 * come to live meanwhile. Again = nothing is left to be done.
 */
export async function disbandCrew(
  unit: HabitatUnit,
  { workspace, agentIds }: { readonly workspace: string; readonly agentIds: readonly string[] },
): Promise<Decision<null, never>> {
  const { tx } = unit;
  const row = await lockWorkspace(tx, workspace);
  let lived = 0;
  for (const agentId of [...agentIds].sort()) {
    const agent = await lockAgent(tx, agentId, 'UPDATE');
    if (agent?.workspace !== workspace) continue;
    await endOf(unit, agent);
    lived += 1;
  }
  if (row === null || lived === 0) return allow(null);
  const { name: by } = actorOf(unit.caller);
  const held = await readHolders(tx, workspace);
  if (held.some(({ userId }) => userId !== row.owner)) return allow(null);
  for (const { userId, role } of held) await revokeRole(unit, { workspace, userId, role, by });
  await deleteWorkspace(unit, workspace);
  return allow(null);
}
