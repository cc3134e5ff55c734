/** What the door itself decides about a call: the limits of a token, static access, the subject. */
import { CallError } from '@svc/contract/codes.ts';
import { WorkspaceName } from '@svc/contract/names.ts';
import { rolesIn, type VerifiedToken } from '@svc/contract/registry.ts';
import { DEFAULT_WORKSPACE, isAnonymous, type Subject } from '@svc/contract/subject.ts';
import type { ToolCard } from '@svc/contract/tool.ts';
import { z } from 'zod';
import { isAllowedBy, type SetProfiles } from './profiles.ts';

/** `current`: the workspace that the session has set, or null. */
export function anonymousIn(current: string | null): Subject {
  return { workspace: current ?? DEFAULT_WORKSPACE };
}

/** The subject that the arguments declare, in either place where tools take one; undefined = none. */
export function declaredIn(args: Record<string, unknown>): unknown {
  const declared = args.userCtx ?? optionsOf(args)?.userCtx;
  return declared ?? undefined;
}

function optionsOf({ options }: Record<string, unknown>): { readonly userCtx?: unknown } | null {
  return typeof options === 'object' && options !== null ? options : null;
}

/** What a token lets its holder declare; everything else is ignored. */
const Narrowing = z.object({ workspace: WorkspaceName.optional(), roles: z.array(z.string()).optional() });

/**
 * The token's agent at home, or in the workspace it asks for, or else in the one its session has set, if it holds a role
 * there; through fewer roles when it declares some. Nothing is ever added.
 */
export function tokenSubject(token: VerifiedToken, declared: unknown, current: string | null): Subject {
  const parsed = declared === undefined ? null : Narrowing.safeParse(declared);
  const { workspace, roles } = parsed?.success === true ? parsed.data : {};
  const subject = subjectIn(token, workspace ?? current);
  if (roles === undefined) return subject;
  return { ...subject, roles: (subject.roles ?? []).filter((role) => roles.includes(role)) };
}

function subjectIn({ subject, roles, limits }: VerifiedToken, workspace: string | null): Subject {
  const verified: Subject = { ...subject, verified: true };
  if (workspace === null || !Object.hasOwn(roles, workspace)) return verified;
  if (limits.bound !== null && limits.bound !== workspace) return verified;
  return { ...verified, workspace, roles: [...rolesIn(roles, workspace)] };
}

/** Throws FORBIDDEN when the token's own limits exclude the tool. */
export function assertTokenAllows(token: VerifiedToken | null, card: ToolCard, profiles: SetProfiles): void {
  if (token === null) return;
  const { readOnly, profile } = token.limits;
  if (readOnly && card.effect !== 'read' && !card.openToReaders)
    throw new CallError('FORBIDDEN', 'The token may only read.');
  if (!isAllowedBy(profile, card, profiles))
    throw new CallError('FORBIDDEN', "The token's profile does not include this tool.");
}

/** Throws E_QUARANTINED: whoever is in quarantine reads, and does nothing else. */
export function assertActive(quarantined: boolean, card: ToolCard): void {
  if (quarantined && card.effect !== 'read') throw new CallError('E_QUARANTINED');
}

/** Access that depends on no argument; `workspace:<role>` is left to the owning service. */
export function assertStaticAccess(card: ToolCard, operator: boolean, subject: Subject): void {
  if (card.access === 'public' || operator) return;
  if (isAnonymous(subject)) throw new CallError('UNAUTHORIZED');
  if (card.access === 'operator') throw new CallError('FORBIDDEN', `${card.name} is for operators.`);
}
