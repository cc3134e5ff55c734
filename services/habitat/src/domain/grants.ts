/** Who may grant what: nobody more than they hold themselves, in that workspace. */
import { allow, type Decision, type Denial, deny } from '@svc/contract/decision.ts';
import { holdsAtLeast, ROLES } from '@svc/contract/registry.ts';
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
  if (home !== null && isCreator(actor, rows, home)) known.add(home);
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
  /** Those that it may pass on there to agents that it spawned; of no interest to others. */
  readonly passedOn: readonly string[];
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
  const { actor, rows, shared } = facts;
  const home = homeOf(rows);
  if (home === null || visibleWorkspaces(actor, rows, shared) === null) return deny('AGENT_NOT_FOUND');
  const right = rightToMint(facts, home);
  if (right === null)
    return notMinted('A token is minted by its agent, its maker, an admin of its home or an operator');
  const bound = right.bound ?? wish.workspace ?? null;
  if (wish.workspace !== undefined && wish.workspace !== bound) return notMinted(`workspace: can only be ${bound}`);
  if (bound !== null && !rows.roles.some(({ workspace }) => workspace === bound)) return deny('AGENT_NOT_FOUND');
  const limits = withinLimits(actor, wish);
  const expiresAt = expiryOf(wish.ttlMs, facts, right.notBeyond);
  if (limits === null) return notMinted('readOnly and profile: a token gives no more than the one it is minted with');
  if (expiresAt === null) return notMinted('ttlMs: a token does not outlive the one it is minted with');
  return allow({ bound, ...limits, expiresAt });
}

function notMinted(why: string): Denial<'FORBIDDEN'> {
  return deny('FORBIDDEN', undefined, `${why}.`);
}

interface MintRight {
  readonly bound: string | null;
  /** Ms since the epoch; null = any time. */
  readonly notBeyond: number | null;
}

/** Only the operator mints for a user: an admin could otherwise give anybody a role and act as them. */
function rightToMint({ actor, rows, heldAtHome, passedOn }: MintFacts, home: string): MintRight | null {
  if (actor.operator) return { bound: null, notBeyond: null };
  const ownExpiry = actor.token?.expiresAt ?? null;
  if (isSelf(actor, rows.id)) return { bound: actor.token?.bound ?? null, notBeyond: ownExpiry };
  if (rows.agent === null) return null;
  const atHome = rows.agent.workspace === home;
  if (atHome && isAdmin(actor, heldAtHome)) return { bound: home, notBeyond: null };
  const isGiven = isCreator(actor, rows, home) && isWithin(rows, home, passedOn);
  return isGiven ? { bound: home, notBeyond: ownExpiry } : null;
}

/** Others may have made more of an agent than its creator is, or less of the creator. */
function isWithin({ roles }: IdentityRows, home: string, held: readonly string[]): boolean {
  const theirs = roles.filter(({ workspace }) => workspace === home).map(({ role }) => role);
  return ROLES.every((role) => !theirs.includes(role) || holdsAtLeast(held, role));
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

/** Who acts when its token has ended, as a job does, mints nothing at all. */
function expiryOf(
  ttlMs: number | undefined,
  { actor: { token }, now }: Pick<MintFacts, 'actor' | 'now'>,
  notBeyond: number | null,
): number | null {
  if (token !== null && token.expiresAt <= now) return null;
  const wanted = now + (ttlMs ?? DEFAULT_TTL_MS);
  if (notBeyond === null || wanted <= notBeyond) return wanted;
  return ttlMs === undefined ? notBeyond : null;
}

/** As far as the creator acts in the home of the agent. */
export function isCreator(actor: Actor, { agent }: IdentityRows, home: string): boolean {
  return agent !== null && isSelf(actor, agent.createdBy) && mayActIn(actor, home);
}

interface TokenFacts {
  readonly agentId: string;
  readonly bound: string | null;
  readonly mintedBy: string;
}

/**
 * `heldWhereBound`: roles of the actor in the workspace the token is bound to. A bound token reaches those that act in its
 * workspace alone, one that only reads none. Whoever has the raw value may in any case.
 */
export function mayRevokeToken(actor: Actor, token: TokenFacts, heldWhereBound: readonly string[]): boolean {
  const { bound = null, readOnly = false } = actor.token ?? {};
  if (readOnly || (bound !== null && token.bound !== bound)) return false;
  if (actor.operator || isSelf(actor, token.agentId) || isSelf(actor, token.mintedBy)) return true;
  return token.bound !== null && holdsAtLeast(heldWhereBound, 'admin');
}
