/** Who may grant what: nobody more than they hold themselves, in that workspace. */
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import { holdsAtLeast } from '@svc/contract/registry.ts';
import { type Actor, isSelf, mayActIn } from './actor.ts';
import { homeOf, type IdentityRows } from './identity.ts';

/** `workspace:` roles of the actor in the workspace concerned; operators pass everywhere. */
function isAdmin({ operator }: Actor, held: readonly string[]): boolean {
  return operator || holdsAtLeast(held, 'admin');
}

/** Ids that only spawning gives. */
const SPAWNED_WORKSPACE = /^org-/i;

/** Everybody may own a workspace of their own; nobody makes one for somebody else. */
export function mayCreateWorkspace(actor: Actor, workspaceId: string, owner: string | null): boolean {
  if (actor.operator) return true;
  return owner !== null && isSelf(actor, owner) && !SPAWNED_WORKSPACE.test(workspaceId) && mayActIn(actor, workspaceId);
}

/** One's own role may be laid down. `held`: roles of the actor in the workspace. */
export function mayRemoveRole(actor: Actor, held: readonly string[], userId: string): boolean {
  return isAdmin(actor, held) || (isSelf(actor, userId) && held.length > 0);
}

/** `held`: roles of the actor in the workspace of the question. */
export function maySeeRoles(actor: Actor, held: readonly string[], userId: string): boolean {
  return actor.operator || isSelf(actor, userId) || held.length > 0;
}

/** Workspaces of an identity that the actor may know of; null = the actor may not even know the identity. */
export function visibleWorkspaces(actor: Actor, rows: IdentityRows, shared: readonly string[]): string[] | null {
  const all = [...new Set(rows.roles.map(({ workspace }) => workspace))];
  if (all.length === 0 || rows.agent?.killed === true) return null;
  if (actor.operator || isSelf(actor, rows.id)) return all.filter((workspace) => mayActIn(actor, workspace));
  const known = new Set(shared);
  const home = homeOf(rows);
  if (home !== null && isCreator(actor, rows)) known.add(home);
  const visible = all.filter((workspace) => known.has(workspace));
  return visible.length === 0 ? null : visible;
}

export interface MintWish {
  readonly ttlMs?: number | undefined;
  readonly workspace?: string | undefined;
  readonly readOnly?: boolean | undefined;
  readonly profile?: string | undefined;
}

interface MintFacts {
  readonly actor: Actor;
  readonly rows: IdentityRows;
  /** Workspaces in which both hold a role. */
  readonly shared: readonly string[];
  /** Roles of the actor in the home of the agent. */
  readonly heldAtHome: readonly string[];
  /** Clock of the database, ms since the epoch. */
  readonly now: number;
}

/** What the token will be. `bound`: the only workspace in which it acts. */
export interface MintTerms {
  readonly bound: string | null;
  readonly readOnly: boolean;
  readonly profile: string | null;
  readonly expiresAt: number;
}

export const DEFAULT_TTL_MS = 86_400_000;

/** FORBIDDEN = the agent may be known, but no token of it, or none with these terms, is the actor's to mint. */
export function mintTerms(wish: MintWish, facts: MintFacts): Decision<MintTerms, 'AGENT_NOT_FOUND' | 'FORBIDDEN'> {
  const { actor, rows, shared, now } = facts;
  const home = homeOf(rows);
  if (home === null || visibleWorkspaces(actor, rows, shared) === null) return deny('AGENT_NOT_FOUND');
  const right = rightToMint(facts, home);
  if (right === null) return deny('FORBIDDEN');
  const bound = right.bound ?? wish.workspace ?? null;
  if (wish.workspace !== undefined && wish.workspace !== bound) return deny('FORBIDDEN');
  if (bound !== null && !rows.roles.some(({ workspace }) => workspace === bound)) return deny('AGENT_NOT_FOUND');
  const limits = withinLimits(actor, wish);
  const expiresAt = expiryOf(wish.ttlMs, now, right.notBeyond);
  return limits === null || expiresAt === null ? deny('FORBIDDEN') : allow({ bound, ...limits, expiresAt });
}

interface MintRight {
  readonly bound: string | null;
  /** Ms since the epoch; null = any time. */
  readonly notBeyond: number | null;
}

/** Only the operator mints for a user: an admin could otherwise give anybody a role and act as them. */
function rightToMint({ actor, rows, heldAtHome }: MintFacts, home: string): MintRight | null {
  if (actor.operator) return { bound: null, notBeyond: null };
  const ownExpiry = actor.token?.expiresAt ?? null;
  if (isSelf(actor, rows.id)) return { bound: actor.token?.bound ?? null, notBeyond: ownExpiry };
  if (rows.agent === null) return null;
  const atHome = rows.agent.workspace === home;
  if (atHome && isAdmin(actor, heldAtHome)) return { bound: home, notBeyond: null };
  return isCreator(actor, rows) && mayActIn(actor, home) ? { bound: home, notBeyond: ownExpiry } : null;
}

/** A token gives no token with fewer limits; what is not asked for is passed on. */
function withinLimits(
  { token }: Actor,
  { readOnly, profile }: MintWish,
): Pick<MintTerms, 'readOnly' | 'profile'> | null {
  const own = { readOnly: token?.readOnly ?? false, profile: token?.profile ?? null };
  if (own.readOnly && readOnly === false) return null;
  if (own.profile !== null && profile !== undefined && profile !== own.profile) return null;
  return { readOnly: readOnly ?? own.readOnly, profile: profile ?? own.profile };
}

function expiryOf(ttlMs: number | undefined, now: number, notBeyond: number | null): number | null {
  const wanted = now + (ttlMs ?? DEFAULT_TTL_MS);
  if (notBeyond === null || wanted <= notBeyond) return wanted;
  return ttlMs === undefined ? notBeyond : null;
}

function isCreator(actor: Actor, { agent }: IdentityRows): boolean {
  return agent !== null && isSelf(actor, agent.createdBy);
}

interface TokenFacts {
  readonly agentId: string;
  readonly bound: string | null;
  readonly mintedBy: string;
}

/** `heldWhereBound`: roles of the actor in the workspace the token is bound to. Whoever has the raw value may in any case. */
export function mayRevokeToken(actor: Actor, token: TokenFacts, heldWhereBound: readonly string[]): boolean {
  if (actor.operator || isSelf(actor, token.agentId) || isSelf(actor, token.mintedBy)) return true;
  return token.bound !== null && holdsAtLeast(heldWhereBound, 'admin');
}
