/** What the probe of a sandbox found: told, and without it nothing runs. */
import type { Clock } from '@svc/runtime/clock.ts';

interface ProbeCheck {
  readonly name: string;
  readonly ok: boolean;
}

export interface Probe {
  /** Ms since the epoch. */
  readonly at: number;
  readonly ok: boolean;
  readonly checks: readonly ProbeCheck[];
}

const WHOLE_HOLDS_MS = 600_000;
/** A busy machine fails it too, as a limit that is late; and what is missing may be installed. */
const BROKEN_HOLDS_MS = 30_000;

/** Made when somebody asks and the last one is too old, once for all who ask. */
export function keptProbe<Found extends Probe | null>(clock: Clock, make: () => Promise<Found>): () => Promise<Found> {
  let latest: Promise<Found> | null = null;
  let endedAt = 0;
  let holdsMs = 0;
  return () => {
    // A clock that was set back tells nothing of how old it is.
    if (latest === null || Math.abs(clock.now() - endedAt) >= holdsMs) {
      const made = make();
      latest = made;
      holdsMs = Number.POSITIVE_INFINITY;
      made.then(
        (found) => {
          endedAt = clock.now();
          holdsMs = found?.ok === true ? WHOLE_HOLDS_MS : BROKEN_HOLDS_MS;
        },
        () => {
          latest = null;
        },
      );
    }
    return latest;
  };
}
