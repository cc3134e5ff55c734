/** Helpers for callers: how often something may be done, and whether it fails too often. Gone with a restart. */
import { type Failures, fail, type KeyState, type Proceed, proceed, type Step } from './window.ts';

/** Where the states of keys are kept. Changes of one key are made one after the other, whoever makes them. */
export interface KeyStates {
  /** Throws SERVICE_UNAVAILABLE. */
  change<Answer>(scope: string, key: string, step: (state: KeyState, now: number) => Step<Answer>): Promise<Answer>;
  /** Keys whose state still matters; `scope` null = everywhere. */
  count(scope: string | null): Promise<number>;
}

/** Keys live in a scope, which is a workspace or the node: scopes never touch each other. */
export interface Qos {
  /** Counts the call when it is allowed. */
  canProceed(scope: string, key: string, limit: number): Promise<Proceed>;
  recordFailure(scope: string, key: string, count: number): Promise<Failures>;
  countOpen(scope: string | null): Promise<number>;
}

export function createQos(states: KeyStates): Qos {
  return {
    canProceed: (scope, key, limit) => states.change(scope, key, (state, now) => proceed(state, now, limit)),
    recordFailure: (scope, key, count) => states.change(scope, key, (state, now) => fail(state, now, count)),
    countOpen: (scope) => states.count(scope),
  };
}
