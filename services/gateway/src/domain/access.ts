/** What the door itself decides about a call: the limits of a token, static access, the subject. */
import { CallError } from '@svc/contract/codes.ts';
import { isAnonymous, type Subject, UserCtx } from '@svc/contract/subject.ts';
import type { ToolCard } from '@svc/contract/tool.ts';
import type { Identity, VerifiedToken } from '../identity.ts';
import { profileNamed } from './profiles.ts';

export const ANONYMOUS: Subject = { workspace: 'default' };

/** Order of belief: token, what an operator declares, the agent an operator works for, anonymous. */
export function subjectOf(identity: Identity, args: Record<string, unknown>, agent: Subject | null): Subject {
  const declared = args.userCtx;
  if (declared !== undefined && declared !== null) {
    if (identity.token !== null) return narrowed(identity.token, declared);
    const userCtx = identity.operator ? UserCtx.safeParse(declared) : null;
    if (userCtx?.success === true) return userCtx.data;
  }
  return identity.token?.subject ?? agent ?? ANONYMOUS;
}

/** A token may look at another workspace in which its agent holds a role, or through fewer roles; nothing is added. */
function narrowed(token: VerifiedToken, declared: unknown): Subject {
  const parsed = UserCtx.safeParse(declared);
  if (!parsed.success) return token.subject;
  const { workspace, roles } = parsed.data;
  const held = workspace === undefined ? undefined : token.roles[workspace];
  const subject =
    workspace === undefined || held === undefined ? token.subject : { ...token.subject, workspace, roles: [...held] };
  return roles === undefined
    ? subject
    : { ...subject, roles: (subject.roles ?? []).filter((role) => roles.includes(role)) };
}

/** Throws FORBIDDEN when the token's own limits exclude the tool. */
export function assertTokenAllows(token: VerifiedToken | null, card: ToolCard): void {
  if (token === null) return;
  if (token.readOnly && card.effect !== 'read') throw new CallError('FORBIDDEN', 'The token may only read.');
  if (token.profile !== null && profileNamed(token.profile)?.(card) !== true) {
    throw new CallError('FORBIDDEN', "The token's profile does not include this tool.");
  }
}

/** Access that depends on no argument; `workspace:<role>` is left to the owning service. */
export function assertStaticAccess(card: ToolCard, operator: boolean, subject: Subject): void {
  if (card.access === 'public' || operator) return;
  if (isAnonymous(subject)) throw new CallError('UNAUTHORIZED');
  if (card.access === 'operator') throw new CallError('FORBIDDEN');
}
