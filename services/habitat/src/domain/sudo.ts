/**
 * The one state machine of scopes: none, pending, granted, and from there denied, revoked or expired. A grant is one
 * while its time lasts; nothing has to happen for it to end.
 */
import { allow, type Decision, type Denial, deny } from '@svc/contract/decision.ts';
import { type Authority, covers, type Scope, SCOPES } from './sudo-scopes.ts';

const MINUTE_MS = 60_000;

export const SUDO = {
  requestMs: 15 * MINUTE_MS,
  taskMs: 24 * 60 * MINUTE_MS,
  escalationsAMinute: 20,
  liveTasks: 100,
  unusedMs: 10 * MINUTE_MS,
  deniedWithinMs: 60 * MINUTE_MS,
} as const;

/** A live grant. Times in ms since the epoch. */
export interface Grant {
  readonly scope: string;
  readonly grantedBy: string;
  readonly grantedAt: number;
  readonly expiresAt: number;
  readonly requestId: string | null;
  readonly reason: string | null;
  readonly usedAt: number | null;
}

/** A request that somebody answered keeps its answer; one that nobody answered in time has expired. */
export interface ScopeRequest {
  readonly requestId: string;
  readonly state: 'pending' | 'granted' | 'denied';
  readonly reason: string | null;
  readonly expiresAt: number;
}

export function requestState({ state, expiresAt }: ScopeRequest, now: number): ScopeRequest['state'] | 'expired' {
  return state === 'pending' && expiresAt <= now ? 'expired' : state;
}

/** The grant that lasts longest of those that cover the scope. */
export function coveringGrant(held: readonly Grant[], scope: Scope): Grant | null {
  const covering = held.filter((grant) => covers(grant.scope, scope));
  return covering.reduce<Grant | null>(
    (best, one) => (best === null || one.expiresAt > best.expiresAt ? one : best),
    null,
  );
}

/** What a scope stands at for one principal. `request` = the latest of exactly this scope. */
export interface ScopeState {
  readonly scope: Scope;
  readonly held: readonly Grant[];
  readonly request: ScopeRequest | null;
  /** Nothing outlives it: the end of the task, or Infinity. */
  readonly endsAt: number;
  /** How long a grant lasts that has no other end. */
  readonly grantMs: number;
  readonly now: number;
}

export interface Escalating {
  readonly operator: boolean;
  readonly isEditor: boolean;
  readonly escalationsLastMinute: number;
}

type Escalated =
  | { readonly kind: 'held'; readonly expiresAt: number }
  | { readonly kind: 'granted'; readonly expiresAt: number; readonly requestId: string | null }
  | { readonly kind: 'pending'; readonly expiresAt: number; readonly requestId: string }
  | { readonly kind: 'requested'; readonly expiresAt: number };

export function decideEscalation(state: ScopeState, who: Escalating): Decision<Escalated, 'E_RATE_LIMIT'> {
  const { scope, held, endsAt, grantMs, now } = state;
  if (who.escalationsLastMinute >= SUDO.escalationsAMinute) return deny('E_RATE_LIMIT');
  const until = isAtOnce(scope, who) ? endsAt : who.operator ? Math.min(now + grantMs, endsAt) : null;
  const covering = coveringGrant(held, scope);
  if (covering !== null && (until === null || covering.expiresAt >= until)) {
    return allow({ kind: 'held', expiresAt: covering.expiresAt });
  }
  const pending = pendingRequest(state);
  if (until !== null) return allow({ kind: 'granted', expiresAt: until, requestId: pending?.requestId ?? null });
  if (pending !== null) return allow({ kind: 'pending', expiresAt: pending.expiresAt, requestId: pending.requestId });
  return allow({ kind: 'requested', expiresAt: Math.min(now + SUDO.requestMs, endsAt) });
}

function isAtOnce({ name }: Scope, { isEditor }: Escalating): boolean {
  const { atOnce } = SCOPES[name];
  return atOnce === 'identified' || (atOnce === 'editor' && isEditor);
}

function pendingRequest({ request, now }: ScopeState): ScopeRequest | null {
  return request !== null && requestState(request, now) === 'pending' ? request : null;
}

/** Who answers, as far as it matters in the workspace of the principal. */
export interface Granter {
  readonly name: string;
  readonly operator: boolean;
  /** Is the agent, or owns the task. */
  readonly isPrincipal: boolean;
  readonly isWorkspaceAdmin: boolean;
  /** Live scopes of the granter itself, if the workspace of the principal is its own. */
  readonly holds: readonly Grant[];
}

/** Until when this granter may give the scope away at most; null = not at all. What is passed on never outlives its source. */
export function grantableUntil(scope: Scope, granter: Granter): number | null {
  const authorities: readonly Authority[] = SCOPES[scope.name].grantedBy;
  if (granter.operator) return Infinity;
  if (granter.isPrincipal) return null;
  if (granter.isWorkspaceAdmin && authorities.includes('workspace:admin')) return Infinity;
  if (!authorities.includes('sudo')) return null;
  const sudo = coveringGrant(granter.holds, { name: 'sudo', text: 'sudo' });
  const own = coveringGrant(granter.holds, scope);
  return sudo === null || own === null ? null : Math.min(sudo.expiresAt, own.expiresAt);
}

interface Granted {
  readonly expiresAt: number;
  /** The pending request that this answers. */
  readonly request: ScopeRequest | null;
}

/** A denied request is final: as long as it would have lasted, only asking again reopens the matter. */
export function decideGrant(state: ScopeState, granter: Granter): Decision<Granted, 'FORBIDDEN'> {
  const { request, endsAt, grantMs, now } = state;
  const until = grantableUntil(state.scope, granter);
  if (until === null) return notAuthority(state.scope);
  if (request !== null && request.state === 'denied' && request.expiresAt > now) {
    return deny('FORBIDDEN', undefined, 'The request was denied; the scope has to be asked for again.');
  }
  return allow({ expiresAt: Math.min(now + grantMs, endsAt, until), request: pendingRequest(state) });
}

export type Ended =
  | { readonly kind: 'revoked' | 'nothing' }
  | { readonly kind: 'denied'; readonly request: ScopeRequest };

const AUTHORITY_NAMES: Readonly<Record<Authority, string>> = {
  operator: 'an operator',
  'workspace:admin': 'an admin of the workspace',
  sudo: 'who holds the scope and sudo',
};

const REVOKED_BY = 'A scope is taken back by who granted it, by whom it was granted to, and by operators.';

function notAuthority({ name }: Scope): Denial<'FORBIDDEN'> {
  const who = SCOPES[name].grantedBy.map((authority) => AUTHORITY_NAMES[authority]).join(', or ');
  return deny('FORBIDDEN', undefined, `The scope ${name} is granted and denied by ${who}, and never by oneself.`);
}

/** Ends the live grant of exactly this scope, or denies the pending request for it. */
export function decideRevocation(state: ScopeState, granter: Granter): Decision<Ended, 'FORBIDDEN'> {
  const { scope, held } = state;
  const mayAnswer = grantableUntil(scope, granter) !== null;
  const grant = held.find(({ scope: text }) => text === scope.text);
  if (grant !== undefined) {
    const mayRevoke = granter.operator || granter.isPrincipal || grant.grantedBy === granter.name;
    return mayRevoke ? allow({ kind: 'revoked' }) : deny('FORBIDDEN', undefined, REVOKED_BY);
  }
  const request = pendingRequest(state);
  if (request !== null) return mayAnswer ? allow({ kind: 'denied', request }) : notAuthority(scope);
  return mayAnswer || granter.isPrincipal ? allow({ kind: 'nothing' }) : notAuthority(scope);
}

export interface Denials {
  readonly scope: string;
  readonly count: number;
}

interface Suggestion {
  readonly scope: string;
  readonly action: 'request' | 'drop';
  readonly count: number;
  readonly reason: string;
}

/** Ask for what was denied lately, give back what is not used. */
export function suggestionsFor(held: readonly Grant[], denials: readonly Denials[], now: number): Suggestion[] {
  const wanted = denials.filter(({ scope }) => !held.some((grant) => grant.scope === scope));
  const idle = held.filter(({ grantedAt, usedAt }) => (usedAt ?? grantedAt) <= now - SUDO.unusedMs);
  return [
    ...wanted.map(
      ({ scope, count }): Suggestion => ({ scope, action: 'request', count, reason: 'Denied within the last hour.' }),
    ),
    ...idle.map(
      ({ scope }): Suggestion => ({ scope, action: 'drop', count: 1, reason: 'Held, and not used for ten minutes.' }),
    ),
  ];
}
