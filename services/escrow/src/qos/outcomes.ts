/**
 * Outcomes of keyed calls. They live where the states of keys do and end with them at a restart: a row in the database
 * would outlive what it says was counted.
 */
import { CallError } from '@svc/contract/codes.ts';
import { allow } from '@svc/contract/decision.ts';
import type { IdempotencyScope } from '@svc/contract/tool.ts';
import { IDEMPOTENCY_KEPT_MS, type Once } from '@svc/runtime/idempotency.ts';

export interface OutcomeLimits {
  readonly keptMs: number;
  /** Beyond so many the oldest leaves. */
  readonly most: number;
}

/**
 * Eviction and not a refusal: a caller who keys each call must not be turned away for a day, nor turn others away. At
 * 6000 calls a minute it takes a quarter of an hour until an outcome is the oldest, and what it counted mattered for a
 * minute. One takes about half a KiB, in this process as in Redis.
 */
export const OUTCOME_LIMITS: OutcomeLimits = { keptMs: IDEMPOTENCY_KEPT_MS, most: 100_000 };

/** Plain JSON. */
export interface StoredOutcome {
  readonly argsHash: string;
  readonly answer: unknown;
}

export function counted<Answer>(answer: Answer): Once<Answer, never> {
  return { decision: allow(answer), replayed: false };
}

/** Throws IDEMPOTENCY_KEY_REUSED. */
export function replayOf<Answer>(stored: StoredOutcome, { argsHash }: IdempotencyScope): Once<Answer, never> {
  if (stored.argsHash !== argsHash) throw new CallError('IDEMPOTENCY_KEY_REUSED');
  // the tool is part of the id, and each tool has one form of answer
  return { decision: allow(stored.answer as Answer), replayed: true };
}
