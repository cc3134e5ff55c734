/** Time, ids and randomness that a test controls. */
import { type Clock, createIds, type Ids, type Random } from '@svc/runtime/clock.ts';

export interface FakeClock extends Clock {
  set(nowMs: number): void;
  advance(byMs: number): void;
}

/** 2026-01-01T00:00:00Z. */
export const FAKE_EPOCH_MS = 1_767_225_600_000;

/** Stands still until it is told otherwise. */
export function createFakeClock(startMs = FAKE_EPOCH_MS): FakeClock {
  let nowMs = startMs;
  return {
    now: () => nowMs,
    set(next) {
      nowMs = next;
    },
    advance(byMs) {
      nowMs += byMs;
    },
  };
}

/** The same bytes for the same seed (splitmix32). */
export function createFakeRandom(seed = 1): Random {
  let state = seed >>> 0;
  const nextByte = () => {
    state = (state + 0x9e3779b9) >>> 0;
    let mixed = state ^ (state >>> 16);
    mixed = Math.imul(mixed, 0x21f0aaad);
    mixed ^= mixed >>> 15;
    mixed = Math.imul(mixed, 0x735a2d97);
    return (mixed ^ (mixed >>> 15)) & 0xff;
  };
  return { bytes: (length) => Buffer.from(Array.from({ length }, nextByte)) };
}

/** Real ids from a clock and randomness that repeat. */
export function createFakeIds(clock: Clock = createFakeClock(), random: Random = createFakeRandom()): Ids {
  return createIds(clock, random);
}
