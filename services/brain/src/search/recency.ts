/** That something was written lately, as a bounded part of a score. */
import { roundScore } from './bm25.ts';

export const RECENCIES = ['off', 'mild', 'strong'] as const;
export type Recency = (typeof RECENCIES)[number];

/** What the newest candidate gets: chosen, not measured, for no collection has times. BM25 alone gives the best passage 1. */
const WEIGHTS: Readonly<Record<Recency, number>> = { off: 0, mild: 0.1, strong: 0.5 };
const HALF_LIFE_MS = 30 * 24 * 60 * 60 * 1_000;

/**
 * By the age against the newest of them, half after thirty days; 0 where nobody knows. No clock is asked, so the same
 * files give the same answer on any day.
 */
export function recencyParts(times: readonly (number | null)[], recency: Recency): number[] {
  const newest = times.reduce<number>((latest, time) => Math.max(latest, time ?? 0), 0);
  return times.map((time) =>
    time === null ? 0 : roundScore(WEIGHTS[recency] * 2 ** ((time - newest) / HALF_LIFE_MS)),
  );
}
