/** The life of an item of work: pending, working under a lease, then completed, or dead after its last attempt. */
import { allow, type Decision, deny } from '@svc/contract/decision.ts';

export type WorkStatus = 'pending' | 'working' | 'completed' | 'dead';

export interface RetryRules {
  readonly maxAttempts: number;
  readonly backoffMs: number;
  readonly backoffMaxMs: number;
}

export interface WorkState {
  readonly status: WorkStatus;
  readonly attempts: number;
  readonly availableAt: number;
  readonly agentId: string | null;
  readonly tokenHash: string | null;
  readonly leaseExpiresAt: number | null;
}

/** Who acts on an item, and the token shown, as its hash. */
export interface Hand {
  readonly name: string;
  readonly operator: boolean;
  readonly tokenHash: string | null;
}

export function isClosed({ status }: Pick<WorkState, 'status'>): boolean {
  return status === 'completed' || status === 'dead';
}

function isLive({ status, leaseExpiresAt }: WorkState, now: number): boolean {
  return status === 'working' && leaseExpiresAt !== null && leaseExpiresAt > now;
}

/** A token that is shown decides alone: workers of one name are told apart by it, also those that were given up. */
function isHolder({ agentId, tokenHash }: WorkState, hand: Hand): boolean {
  return hand.tokenHash === null ? agentId === hand.name : tokenHash === hand.tokenHash;
}

/** Of an item whose lease may have run out: as it stands now. Expiry makes it available at once. */
export function asOf(work: WorkState, { maxAttempts }: Pick<RetryRules, 'maxAttempts'>, now: number): WorkState {
  if (work.status !== 'working' || isLive(work, now)) return work;
  const unheld = { ...work, agentId: null, tokenHash: null, leaseExpiresAt: null };
  return work.attempts >= maxAttempts
    ? { ...unheld, status: 'dead' }
    : { ...unheld, status: 'pending', availableAt: now };
}

/**
 * `claim` = a new lease, `renew` = the one there is lasts longer. `waits`: it is not there before its time. `isBlocked`:
 * something before it has to be done first.
 */
export function decideLease(
  work: WorkState,
  hand: Hand,
  { now, waits, isBlocked }: { readonly now: number; readonly waits: boolean; readonly isBlocked: boolean },
): Decision<'claim' | 'renew', 'E_LEASE_HELD' | 'E_WORK_CLOSED' | 'E_NOT_AVAILABLE'> {
  if (isClosed(work)) return deny('E_WORK_CLOSED', { status: work.status });
  if (work.status === 'working') {
    return isHolder(work, hand) ? allow('renew') : deny('E_LEASE_HELD', { until: work.leaseExpiresAt });
  }
  return (waits && work.availableAt > now) || isBlocked ? deny('E_NOT_AVAILABLE') : allow('claim');
}

/** Whoever closes it, or fails at it, holds it now; an operator may do so with any item that somebody works on. */
export function decideClose(work: WorkState, hand: Hand): Decision<null, 'E_LEASE_LOST' | 'E_WORK_CLOSED'> {
  if (isClosed(work)) return deny('E_WORK_CLOSED', { status: work.status });
  const isTaken = work.status === 'working';
  const may = isTaken && (isHolder(work, hand) || (hand.operator && hand.tokenHash === null));
  return may ? allow(null) : deny('E_LEASE_LOST');
}

/** `mayRedrive`: who made the stream, and its admins. What is given back was never attempted; what was dead begins anew. */
export function decideRelease(
  work: WorkState,
  hand: Hand,
  mayRedrive: boolean,
): Decision<{ readonly attempts: number }, 'E_LEASE_LOST' | 'E_WORK_CLOSED'> {
  if (work.status === 'dead' && mayRedrive) return allow({ attempts: 0 });
  if (isClosed(work)) return deny('E_WORK_CLOSED', { status: work.status });
  const may = work.status === 'working' && isHolder(work, hand);
  return may ? allow({ attempts: work.attempts - 1 }) : deny('E_LEASE_LOST');
}

/** How long after its last failure it is offered again; null = it was the last attempt. */
export function retryDelayMs(attempts: number, { maxAttempts, backoffMs, backoffMaxMs }: RetryRules): number | null {
  return attempts >= maxAttempts ? null : Math.min(backoffMs * 2 ** (attempts - 1), backoffMaxMs);
}
