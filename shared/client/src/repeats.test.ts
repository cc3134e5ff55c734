import { describe, expect, it } from 'vitest';
import type { Outcome } from './exchange.ts';
import type { Effect } from './generated/tools.ts';
import { type Attempts, pauseBefore } from './repeats.ts';

const ATTEMPTS: Attempts = { count: 1, leftMs: 10_000, isPatient: true, chance: 0 };
const NOT_SENT: Outcome = { kind: 'unanswered', sent: false, reason: 'connection refused' };
const LOST: Outcome = { kind: 'unanswered', sent: true, reason: 'socket hang up' };
const STRANGE: Outcome = { ...LOST, isStrange: true };
const RESULT: Outcome = { kind: 'result', result: {} };
const REFUSAL: Outcome = { kind: 'refusal', refusal: { code: 'E_BUSY', message: '', data: {} }, requestId: null };

function failed(code: string, retryAfterMs: number | null = null): Outcome {
  return { kind: 'failure', failure: { code, message: '', data: {}, status: 500, requestId: null, retryAfterMs } };
}

function repeats(outcome: Outcome, effect: Effect, isKeyed: boolean, attempts = ATTEMPTS): boolean {
  return pauseBefore(outcome, { effect, isKeyed }, attempts) !== null;
}

describe('what is sent again', () => {
  it.each<[string, Outcome, { once: boolean; unkeyed: boolean }]>([
    ['what did not arrive', NOT_SENT, { once: true, unkeyed: true }],
    ['what was turned away undone', failed('SERVICE_UNAVAILABLE'), { once: true, unkeyed: true }],
    ['what came too often', failed('RATE_LIMITED'), { once: true, unkeyed: true }],
    ['what found too much waiting', failed('E_BUSY'), { once: true, unkeyed: true }],
    ['what was lost on its way', LOST, { once: true, unkeyed: false }],
    ['what was late', failed('TIMEOUT'), { once: true, unkeyed: false }],
    ['what nobody knows the end of', failed('E_OUTCOME_UNKNOWN'), { once: true, unkeyed: false }],
    ['a result', RESULT, { once: false, unkeyed: false }],
    ['a refusal', REFUSAL, { once: false, unkeyed: false }],
    ['a bug', failed('INTERNAL'), { once: false, unkeyed: false }],
    ['a mistake of the caller', failed('VAF_INPUT_INVALID'), { once: false, unkeyed: false }],
    ['what went to somebody else', STRANGE, { once: false, unkeyed: false }],
  ])('%s', (_name, outcome, { once, unkeyed }) => {
    expect(repeats(outcome, 'read', false)).toBe(once);
    expect(repeats(outcome, 'write-idempotent', false)).toBe(once);
    expect(repeats(outcome, 'write', true)).toBe(once);
    expect(repeats(outcome, 'external', true)).toBe(once);
    expect(repeats(outcome, 'write', false)).toBe(unkeyed);
    expect(repeats(outcome, 'external', false)).toBe(unkeyed);
  });

  it('nothing for which no time is left, or at an address where nobody came', () => {
    expect(repeats(NOT_SENT, 'read', false, { ...ATTEMPTS, leftMs: 10 })).toBe(false);
    expect(repeats(NOT_SENT, 'read', false, { ...ATTEMPTS, isPatient: false })).toBe(false);
  });
});

describe('the pause', () => {
  const pause = (outcome: Outcome, attempts: Partial<Attempts>) =>
    pauseBefore(outcome, { effect: 'read', isKeyed: false }, { ...ATTEMPTS, ...attempts });

  it('is what the service asks for, and a call that cannot wait so long ends at once', () => {
    expect(pause(failed('RATE_LIMITED', 7000), {})).toBe(7000);
    expect(pause(failed('RATE_LIMITED', 7000), { chance: 1 })).toBe(7050);
    expect(pause(failed('RATE_LIMITED', 12_000), {})).toBeNull();
  });

  it('grows also where the service asks for no time at all', () => {
    expect([1, 2, 3, 50].map((count) => pause(failed('RATE_LIMITED', 0), { count, chance: 1 }))).toEqual([
      50, 100, 200, 2000,
    ]);
  });

  it('grows with the attempts, to two seconds', () => {
    expect([1, 2, 3, 50].map((count) => pause(LOST, { count, chance: 1 }))).toEqual([50, 100, 200, 2000]);
    expect(pause(LOST, { count: 3, chance: 0 })).toBe(100);
  });
});
