/** Helpers for callers: how often something may be done, and whether it fails too often. Gone with a restart. */
import type { IdempotencyScope } from '@svc/contract/tool.ts';
import type { Once } from '@svc/runtime/idempotency.ts';
import { type Failures, fail, type KeyState, type Proceed, proceed, type Step } from './window.ts';

/** What a call counts under. */
export interface QosCall {
  /** A workspace or the node: scopes never touch each other. */
  readonly scope: string;
  readonly key: string;
  /** A keyed call changes the state once; the outcome is stored in the step that changes it. */
  readonly idempotency: IdempotencyScope | null;
}

/** Where the states of keys are kept. Changes of one key are made one after the other, whoever makes them. */
export interface KeyStates {
  /** Throws SERVICE_UNAVAILABLE, E_BUSY, IDEMPOTENCY_KEY_REUSED. */
  change<Answer>(call: QosCall, step: (state: KeyState, now: number) => Step<Answer>): Promise<Once<Answer, never>>;
  /** Keys whose state still matters; `scope` null = everywhere. */
  count(scope: string | null): Promise<number>;
}

export interface Qos {
  /** Counts the call when it is allowed. */
  canProceed(call: QosCall, limit: number): Promise<Once<Proceed, never>>;
  recordFailure(call: QosCall, count: number): Promise<Once<Failures, never>>;
  countOpen(scope: string | null): Promise<number>;
}

/** `openMs`: for how long a breaker opens. */
export function createQos(states: KeyStates, openMs: number): Qos {
  return {
    canProceed: (call, limit) => states.change(call, (state, now) => proceed({ state, now, openMs }, limit)),
    recordFailure: (call, count) => states.change(call, (state, now) => fail({ state, now, openMs }, count)),
    countOpen: (scope) => states.count(scope),
  };
}
