/** Time, ids and randomness as the platform injects them. */
import { randomBytes } from 'node:crypto';

const POOLED_BYTES = 4096;

export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };

export interface Random {
  /** The caller may change what it is given. */
  bytes(length: number): Buffer;
}

export const systemRandom: Random = { bytes: createPooledBytes() };

/** Asking the system for a few bytes costs much more than cutting them from many; none is given out twice. */
function createPooledBytes(): Random['bytes'] {
  let pool = Buffer.alloc(0);
  let used = 0;
  return (length) => {
    if (length > POOLED_BYTES / 8) return randomBytes(length);
    if (used + length > pool.length) {
      pool = randomBytes(POOLED_BYTES);
      used = 0;
    }
    used += length;
    return pool.subarray(used - length, used);
  };
}

/** Time-ordered, random-tailed ids: `evt_0192f0c1a2b37c3d8e4f5a6b7c8d9e0f`. */
export interface Ids {
  next(prefix: string): string;
}

/** Each id of a millisecond lies up to so many places after the one before, so that ids do not tell how many there were. */
const MAX_STEP = 16;
const MAX_COUNTER = 0xfff;

/** UUID version 7 (RFC 9562) in hex without dashes, behind a prefix; ids of one process never run backwards. */
export function createIds(clock: Clock, random: Random): Ids {
  let lastMs = 0;
  let counter = 0;
  return {
    next(prefix) {
      const nowMs = clock.now();
      const chance = random.bytes(10);
      const [tail, start, step] = [chance.subarray(0, 8), chance[8] ?? 0, 1 + ((chance[9] ?? 0) % MAX_STEP)];
      counter += step;
      if (nowMs > lastMs || counter > MAX_COUNTER) {
        lastMs = Math.max(nowMs, lastMs + 1);
        counter = start;
      }
      tail[0] = ((tail[0] ?? 0) & 0x3f) | 0x80;
      const time = lastMs.toString(16).padStart(12, '0');
      return `${prefix}_${time}7${counter.toString(16).padStart(3, '0')}${tail.toString('hex')}`;
    },
  };
}
