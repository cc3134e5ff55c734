/** Who may spawn agents where, and who may do what with one that is there. */
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
  /** The team of that id or name in the registry of teams, if there is one. */
  readonly team: { readonly owner: string | null; readonly isMember: boolean } | null;
}

/** In a workspace up to one's own role; a new one is anybody's, unless it is that of a team of others. */
export function maySpawn(actor: Actor, { workspace, held, team }: Home, role: Role): boolean {
  if (actor.operator) return true;
  if (actor.identity === null || !mayActIn(actor, workspace)) return false;
  if (held !== null) return holdsAtLeast(held, role);
  return team === null || team.owner === actor.identity || team.isMember;
}

/** A brain is part of what row rules match: nobody below an admin gives an agent another one than their own. */
export function mayGiveBrain(actor: Actor, { held }: Home, brain: string | null, own: string | undefined): boolean {
  return actor.operator || brain === null || brain === own || held === null || holdsAtLeast(held, 'admin');
}

/** What an actor has to do with a live agent. */
export interface Relation {
  readonly agentId: string;
  /** Its home. */
  readonly workspace: string;
  readonly createdBy: string;
  /** Roles of the actor in its home. */
  readonly held: readonly string[];
  /** Both hold a role in some workspace. */
  readonly sharesWorkspace: boolean;
}

/** Anybody else is answered as if there were no such agent. */
export function maySeeAgent(actor: Actor, { agentId, createdBy, held, sharesWorkspace }: Relation): boolean {
  if (actor.operator || isSelf(actor, agentId) || isSelf(actor, createdBy)) return true;
  return sharesWorkspace || held.length > 0;
}

export function mayKill(actor: Actor, relation: Relation): boolean {
  return isSelf(actor, relation.agentId) || commands(actor, relation, 'admin');
}

export function mayDelegateTo(actor: Actor, relation: Relation): boolean {
  return commands(actor, relation, 'editor');
}

function commands(actor: Actor, { workspace, createdBy, held }: Relation, role: Role): boolean {
  if (actor.operator || holdsAtLeast(held, role)) return true;
  return isSelf(actor, createdBy) && mayActIn(actor, workspace);
}
