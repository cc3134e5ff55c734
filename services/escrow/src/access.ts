/** Who may do what with whose money. Nobody's identity is taken from an argument, except by an operator. */
import { mayActIn, maySpendOwn } from '@svc/contract/actor.ts';
import { CallError } from '@svc/contract/codes.ts';
import { holdsAtLeast, type Role } from '@svc/contract/registry.ts';
import { identityOf } from '@svc/contract/subject.ts';
import type { Caller } from '@svc/contract/tool.ts';
import { identityOfAccount, workspaceOfAccount } from './domain/account.ts';
import { type Registry, type RolesIn, rolesOrUnknown, UNKNOWN } from './ports.ts';

/** The identity that money may be moved for: one that the registry verified. Operators need none. */
export function verifiedIdentity({ subject, operator }: Pick<Caller, 'subject' | 'operator'>): string | null {
  return subject.verified === true || operator ? identityOf(subject) : null;
}

/** The principal as which tokens of the agent act, and place their holds. */
export function principalOf(agentId: string): string {
  return `tok:${agentId}`;
}

/** Not of a pool, from which is drawn: see `drawFor`. */
export async function maySpendFrom(registry: Registry, caller: Caller, account: string): Promise<boolean> {
  return maySpendOwn(caller) && mayUse(registry, caller, account, 'maySpend');
}

export async function mayRead(registry: Registry, caller: Caller, account: string): Promise<boolean> {
  return mayUse(registry, caller, account, 'mayRead');
}

async function mayUse(
  registry: Registry,
  caller: Caller,
  account: string,
  right: 'maySpend' | 'mayRead',
): Promise<boolean> {
  if (caller.operator) return true;
  const identity = verifiedIdentity(caller);
  if (identity === null || workspaceOfAccount(account) !== null) return false;
  if (right === 'mayRead' && identity === identityOfAccount(account)) return true;
  // Also of its own account: an identity may have the id of an organisation, whose account it then is.
  const standing = await registry.standing(caller.registry, account, identity);
  return standing[right];
}

/** The caller's own roles in the workspace; none for who is not verified, and when the registry is silent. */
export async function rolesOfCaller(registry: Registry, caller: Caller, workspaceId: string): Promise<RolesIn> {
  const identity = verifiedIdentity(caller);
  if (identity === null || !mayActIn(caller, workspaceId)) return UNKNOWN;
  return rolesOrUnknown(registry, caller.registry, identity, workspaceId);
}

export async function holdsRole(registry: Registry, caller: Caller, workspaceId: string, role: Role): Promise<boolean> {
  return caller.operator || holdsAtLeast((await rolesOfCaller(registry, caller, workspaceId)).roles, role);
}

/**
 * The admin in whose name limits are set: the agent of the token, or the `adminId` that an operator names. Each must be
 * an admin of the workspace now. Throws RLS_DENIED, the same for an unknown workspace.
 */
export async function moneyAdmin(
  registry: Registry,
  caller: Caller,
  workspaceId: string,
  adminId: string | undefined,
): Promise<string> {
  const admin = caller.token !== null ? verifiedIdentity(caller) : caller.operator ? (adminId ?? null) : null;
  const denied = () =>
    new CallError(
      'RLS_DENIED',
      'The agent of the token, or whom an operator names as adminId, must be an admin there.',
    );
  if (admin === null || !mayActIn(caller, workspaceId)) throw denied();
  const { roles } = await registry.roles(caller.registry, admin, workspaceId);
  if (!holdsAtLeast(roles, 'admin')) throw denied();
  return admin;
}

/**
 * Whether the pool may be drawn from for the agent: `unknown` = there is no such workspace, or the caller has no role
 * there; throws FORBIDDEN when the agent is somebody for whom the caller may not draw.
 */
export async function drawFor(
  registry: Registry,
  caller: Caller,
  workspaceId: string,
  agentId: string,
): Promise<'known' | 'unknown'> {
  if (caller.operator) {
    const { known } = await rolesOrUnknown(registry, caller.registry, agentId, workspaceId);
    return known ? 'known' : 'unknown';
  }
  const { roles } = await rolesOfCaller(registry, caller, workspaceId);
  if (agentId === verifiedIdentity(caller)) return roles.length > 0 ? 'known' : 'unknown';
  if (!holdsAtLeast(roles, 'admin'))
    throw new CallError('FORBIDDEN', `For somebody else draws an admin of the workspace ${workspaceId}.`);
  const target = await rolesOrUnknown(registry, caller.registry, agentId, workspaceId);
  if (target.roles.length === 0)
    throw new CallError('FORBIDDEN', `${agentId} has no role in the workspace ${workspaceId}.`);
  return 'known';
}
