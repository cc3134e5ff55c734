/** Counters of the writer sections and leases since the process started; read as differences between two looks. */
import { z } from 'zod';

const count = z.int();

export const MutexCounters = z.strictObject({
  acquires: count,
  held: count,
  unavailable: count,
  takeovers: count,
  releases: count,
  bodiesRun: count,
  bodyErrors: count,
  aborted: count,
  holdMsTotal: z.number(),
  holdMsMax: z.number(),
  heldNow: count,
});

export const LeaseCounters = z.strictObject({
  granted: count,
  refreshed: count,
  denied: count,
  released: count,
  releaseDenied: count,
  forced: count,
});

export interface Counters {
  readonly mutex: z.output<typeof MutexCounters>;
  readonly lease: z.output<typeof LeaseCounters>;
  /** A call gave up waiting behind others. */
  gaveUp(): void;
  /** The section could not be entered: database or disk refused. */
  refused(): void;
  /** The section was entered; the function returned ends it. */
  entered(now: () => number): (failed: boolean) => void;
}

export function createCounters(): Counters {
  const mutex = {
    acquires: 0,
    held: 0,
    unavailable: 0,
    takeovers: 0,
    releases: 0,
    bodiesRun: 0,
    bodyErrors: 0,
    aborted: 0,
    holdMsTotal: 0,
    holdMsMax: 0,
    heldNow: 0,
  };
  return {
    mutex,
    lease: { granted: 0, refreshed: 0, denied: 0, released: 0, releaseDenied: 0, forced: 0 },
    gaveUp() {
      mutex.held += 1;
      mutex.aborted += 1;
    },
    refused() {
      mutex.unavailable += 1;
      mutex.aborted += 1;
    },
    entered(now) {
      const since = now();
      mutex.acquires += 1;
      mutex.heldNow += 1;
      return (failed) => {
        const heldMs = now() - since;
        mutex.heldNow -= 1;
        mutex.releases += 1;
        mutex.bodiesRun += 1;
        if (failed) mutex.bodyErrors += 1;
        mutex.holdMsTotal += heldMs;
        mutex.holdMsMax = Math.max(mutex.holdMsMax, heldMs);
      };
    },
  };
}
