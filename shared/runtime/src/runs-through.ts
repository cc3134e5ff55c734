/** Pages of what a job has to do, each tried once in a run: those that stay, however many, hide none behind them. */
import type { Clock } from './clock.ts';

/** Where one stands among the others. */
export interface Waiting {
  readonly id: string;
  /** The time that it is sorted by, as the database writes it. */
  readonly at: string;
}

const AT_ONCE = 100;
/** After this long a run leaves the rest to the next one. */
const RUN_WITHIN_MS = 20_000;

/** Each run begins behind the last that the one before it had time for, and with the oldest where that came to the end. */
export function runsThrough(
  clock: Pick<Clock, 'now'>,
  read: (after: Waiting | null, limit: number) => Promise<readonly Waiting[]>,
  work: (id: string) => Promise<unknown>,
): () => Promise<void> {
  let after: Waiting | null = null;
  return async () => {
    const endsAt = clock.now() + RUN_WITHIN_MS;
    let page: readonly Waiting[];
    do {
      page = await read(after, AT_ONCE);
      for (const one of page) {
        if (clock.now() >= endsAt) return;
        await work(one.id);
        after = one;
      }
    } while (page.length === AT_ONCE);
    after = null;
  };
}
