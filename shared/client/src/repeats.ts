/** When a call is sent again: only what takes effect once however often it arrives, or what did not arrive at all. */
import type { Effect } from './generated/tools.ts';
import type { Outcome } from './exchange.ts';

interface Repeatable {
  readonly effect: Effect;
  readonly isKeyed: boolean;
}

export interface Attempts {
  /** Attempts so far, at least one. */
  readonly count: number;
  readonly leftMs: number;
  /** An address at which nobody answers may still come to life. */
  readonly isPatient: boolean;
  /** From 0 to 1. */
  readonly chance: number;
}

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2000;
/** Nothing was done. */
const NOT_DONE = new Set(['RATE_LIMITED', 'SERVICE_UNAVAILABLE', 'E_BUSY']);
/** It may have been done. */
const IN_DOUBT = new Set(['TIMEOUT', 'E_OUTCOME_UNKNOWN']);

/** How long to wait before the call is sent again; null = it is not, and the outcome stands. */
export function pauseBefore(outcome: Outcome, call: Repeatable, attempts: Attempts): number | null {
  if (!mayRepeat(outcome, call, attempts)) return null;
  const asked = outcome.kind === 'failure' ? outcome.failure.retryAfterMs : null;
  const backoff = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (attempts.count - 1)) * (0.5 + attempts.chance / 2);
  // Those who were sent away together shall not come back together, nor again and again because no time was asked for.
  const pause = asked === null ? backoff : Math.max(backoff, asked + attempts.chance * FIRST_PAUSE_MS);
  return pause < attempts.leftMs ? pause : null;
}

function mayRepeat(outcome: Outcome, call: Repeatable, { isPatient }: Attempts): boolean {
  const isOnce = call.isKeyed || call.effect === 'read' || call.effect === 'write-idempotent';
  if (outcome.kind === 'unanswered') return isPatient && outcome.isStrange !== true && (isOnce || !outcome.sent);
  if (outcome.kind !== 'failure') return false;
  const { code } = outcome.failure;
  return NOT_DONE.has(code) || (IN_DOUBT.has(code) && isOnce);
}
