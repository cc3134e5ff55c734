/** States of keys in this process. */
import type { IdempotencyScope } from '@svc/contract/tool.ts';
import type { Clock } from '@svc/runtime/clock.ts';
import { idempotencyId } from '@svc/runtime/idempotency.ts';
import { counted, OUTCOME_LIMITS, type OutcomeLimits, replayOf, type StoredOutcome } from './outcomes.ts';
import type { KeyStates } from './qos.ts';
import { FRESH, type KeyState } from './window.ts';

/** So many keys are looked through for those that ended. */
const LOOK_THROUGH_AT = 10_000;

interface Kept {
  readonly state: KeyState;
  readonly endsAt: number;
}

export function createMemoryKeyStates(clock: Clock, limits: OutcomeLimits = OUTCOME_LIMITS): KeyStates {
  const scopes = new Map<string, Map<string, Kept>>();
  const outcomes = createOutcomes(limits);
  let changes = 0;

  function forgetEnded(now: number): void {
    for (const [scope, states] of scopes) {
      for (const [key, { endsAt }] of states) if (endsAt <= now) states.delete(key);
      if (states.size === 0) scopes.delete(scope);
    }
  }

  return {
    // No await inside: the outcome is found or stored in the same step that changes the state.
    async change({ scope, key, idempotency }, step) {
      const now = clock.now();
      outcomes.forgetEnded(now);
      const stored = idempotency === null ? undefined : outcomes.find(idempotency);
      if (idempotency !== null && stored !== undefined) return replayOf(stored, idempotency);
      changes += 1;
      if (changes % LOOK_THROUGH_AT === 0) forgetEnded(now);
      const states = scopes.get(scope) ?? new Map<string, Kept>();
      scopes.set(scope, states);
      const { state, endsAt, answer } = step(states.get(key)?.state ?? FRESH, now);
      states.set(key, { state, endsAt });
      if (idempotency !== null) outcomes.keep(idempotency, answer, now);
      return counted(answer);
    },
    async count(scope) {
      forgetEnded(clock.now());
      if (scope !== null) return scopes.get(scope)?.size ?? 0;
      return [...scopes.values()].reduce((sum, { size }) => sum + size, 0);
    },
  };
}

/** Oldest first, so what ends next is always in front. */
function createOutcomes({ keptMs, most }: OutcomeLimits) {
  const kept = new Map<string, StoredOutcome & { readonly endsAt: number }>();
  return {
    find: (scope: IdempotencyScope): StoredOutcome | undefined => kept.get(idempotencyId(scope)),
    keep(scope: IdempotencyScope, answer: unknown, now: number): void {
      kept.set(idempotencyId(scope), { argsHash: scope.argsHash, answer, endsAt: now + keptMs });
      const [oldest] = kept.keys();
      if (kept.size > most && oldest !== undefined) kept.delete(oldest);
    },
    forgetEnded(now: number): void {
      for (const [id, outcome] of kept) {
        if (outcome.endsAt > now) return;
        kept.delete(id);
      }
    },
  };
}
