/** Who may spawn agents where, and who may do what with one that is there. */
import { type Denial, deny } from '@svc/contract/decision.ts';
import { holdsAtLeast, type Role, ROLES } from '@svc/contract/registry.ts';
import { type Actor, isSelf, mayActIn } from './actor.ts';

/** An agent's role is free text; one that is the name of a workspace role is that too. */
export function workspaceRoleOf(role: string | undefined): Role {
  return ROLES.find((known) => known === role) ?? 'editor';
}

/** Where an agent is to live. */
export interface Home {
  readonly workspace: string;
  /** Roles of the actor there; null = there is no such workspace yet. */
  readonly held: readonly string[] | null;
}

/** In a workspace up to one's own role; a new one is anybody's who may have a workspace of that name. */
export function maySpawn(actor: Actor, { workspace, held }: Home, role: Role): boolean {
  if (actor.operator) return true;
  if (actor.identity === null || !mayActIn(actor, workspace)) return false;
  return held === null || holdsAtLeast(held, role);
}

/** What a spawner has to do with a team. */
export interface TeamClaim {
  /** The registry knows a team of that id, of which the spawner is a member, or whose organisation it owns. */
  readonly isOwnId: boolean;
  /** The same for the name of a team, in an organisation that an operator has confirmed. */
  readonly isOwnName: boolean;
  /** Roles of the spawner in the workspace that is called like the team. */
  readonly held: readonly string[];
  /** An operator has made the spawner an admin there. */
  readonly isAppointed: boolean;
  /** The team was given to the spawner itself when it was spawned, and it still holds it. */
  readonly given: TeamHeld | null;
}

/** Row rules see the team as long as `from` holds it by its own standing; null = an operator gave it. */
export interface TeamHeld {
  readonly from: string | null;
}

/** The same of a brain, as long as `from` is an admin in `home`. */
export interface BrainHeld extends TeamHeld {
  readonly home: string | null;
}

/**
 * Whether the agents of a team live in the workspace that is called like it. Other spawners have one of their own for each
 * team, so that nobody learns which names are in use, and nobody takes one from others.
 */
export function sharesTeamName(actor: Actor, { isOwnId, isOwnName, held }: TeamClaim): boolean {
  return actor.operator || isOwnId || isOwnName || held.length > 0;
}

/** By whom row rules see the team that a spawner gives; null = they do not: nobody becomes what others have made rules for. */
export function passTeamOn({ operator, identity }: Actor, { given, isOwnId, isAppointed }: TeamClaim): TeamHeld | null {
  if (operator) return { from: null };
  return given?.from !== null && (isOwnId || isAppointed) ? { from: identity } : given;
}

/** The same for a brain. `adminIn`: its home, if the spawner is an admin there. */
export function passBrainOn(
  { operator, identity }: Actor,
  given: BrainHeld | null,
  adminIn: string | null,
): BrainHeld | null {
  if (operator) return { from: null, home: null };
  return given?.from !== null && adminIn !== null ? { from: identity, home: adminIn } : given;
}

/** Said of agents that are unknown, killed or not to be seen, all in the same words. */
export function agentNotFound(agentId: string): Denial<'AGENT_NOT_FOUND'> {
  return deny('AGENT_NOT_FOUND', undefined, `AGENT_NOT_FOUND: ${agentId}`);
}

/** What an actor has to do with a live agent. */
export interface Relation {
  readonly agentId: string;
  /** Where it was spawned. */
  readonly workspace: string;
  readonly createdBy: string;
  /** Roles of the actor in the workspace that has a say over it now. */
  readonly held: readonly string[];
  /** Both hold a role in some workspace. */
  readonly sharesWorkspace: boolean;
}

/** Anybody else is answered as if there were no such agent. */
export function maySeeAgent(actor: Actor, { agentId, workspace, createdBy, held, sharesWorkspace }: Relation): boolean {
  if (actor.operator || isSelf(actor, agentId)) return true;
  return isCreatorAt(actor, { createdBy, workspace }) || sharesWorkspace || held.length > 0;
}

/** The end of an agent is its home's business: a token that is bound elsewhere does not end even its own. */
export function mayKill(actor: Actor, relation: Relation): boolean {
  const { agentId, workspace } = relation;
  return (isSelf(actor, agentId) && mayActIn(actor, workspace)) || commands(actor, relation, 'admin');
}

export function mayDelegateTo(actor: Actor, relation: Relation): boolean {
  return commands(actor, relation, 'editor');
}

function commands(actor: Actor, { workspace, createdBy, held }: Relation, role: Role): boolean {
  if (actor.operator || holdsAtLeast(held, role)) return true;
  return isCreatorAt(actor, { createdBy, workspace });
}

/** As far as the creator acts in the home of the agent. */
function isCreatorAt(actor: Actor, { createdBy, workspace }: Pick<Relation, 'createdBy' | 'workspace'>): boolean {
  return isSelf(actor, createdBy) && mayActIn(actor, workspace);
}
