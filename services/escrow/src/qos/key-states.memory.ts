/** States of keys in this process. */
import type { Clock } from '@svc/runtime/clock.ts';
import type { KeyStates } from './qos.ts';
import { endsAt, FRESH, type KeyState } from './window.ts';

/** So many keys are looked through for those that ended. */
const LOOK_THROUGH_AT = 10_000;

export function createMemoryKeyStates(clock: Clock): KeyStates {
  const scopes = new Map<string, Map<string, KeyState>>();
  let changes = 0;

  function forgetEnded(now: number): void {
    for (const [scope, states] of scopes) {
      for (const [key, state] of states) if (endsAt(state) <= now) states.delete(key);
      if (states.size === 0) scopes.delete(scope);
    }
  }

  return {
    async change(scope, key, step) {
      const now = clock.now();
      changes += 1;
      if (changes % LOOK_THROUGH_AT === 0) forgetEnded(now);
      const states = scopes.get(scope) ?? new Map<string, KeyState>();
      scopes.set(scope, states);
      const { state, answer } = step(states.get(key) ?? FRESH, now);
      states.set(key, state);
      return answer;
    },
    async count(scope) {
      forgetEnded(clock.now());
      if (scope !== null) return scopes.get(scope)?.size ?? 0;
      return [...scopes.values()].reduce((sum, { size }) => sum + size, 0);
    },
  };
}
