import { z } from 'zod';
import { gramScores } from './letter-grams.ts';
import type { WeightedWord } from './letter-grams.ts';
import { nearestMeans } from './neighbourhood.ts';
import { proximityScores } from './proximity.ts';
import type { PositionedTerm } from './proximity.ts';

/** How many of the best passages are reranked. */
export const CANDIDATES = 100;

const WEIGHTS = { grams: 0.6, proximity: 0.1, adjacent: 0.2, secondAdjacent: 0.1, file: 1, smoothing: 0.4 } as const;

/** A passage of the first pass, best first. */
export interface Candidate {
  readonly text: string;
  readonly tokens: Uint32Array;
  readonly bm25: number;
  /** BM25 of its whole file. */
  readonly file: number;
  /** BM25 sums of the passages one and two places before and behind it in the file. */
  readonly adjacent: number;
  readonly secondAdjacent: number;
}

/** What each feature adds to a hybrid score; the score is their sum. */
export const HybridParts = z.strictObject({
  bm25: z.number(),
  grams: z.number(),
  proximity: z.number(),
  neighbours: z.number(),
  file: z.number(),
  smoothing: z.number(),
});
export type HybridParts = Readonly<z.output<typeof HybridParts>>;

/** A passage beyond the candidates keeps its normalised BM25, which no candidate falls below. */
export function unrerankedParts(bm25: number): HybridParts {
  return { bm25, grams: 0, proximity: 0, neighbours: 0, file: 0, smoothing: 0 };
}

/** Sum in a fixed order, so that the same parts give the same bits. */
export function sumOfParts(parts: HybridParts): number {
  return parts.bm25 + parts.grams + parts.proximity + parts.neighbours + parts.file + parts.smoothing;
}

/** Divided by the highest, so that the best has 1; all 0 when none is above 0. */
function normalised(values: readonly number[]): number[] {
  const top = values.reduce((best, value) => Math.max(best, value), 0);
  return values.map((value) => (top > 0 ? value / top : 0));
}

/**
 * The rerank of the first pass's candidates. Every feature is divided by its highest value among the candidates
 * (neighbouring passages by the highest passage BM25); the smoothing adds a share of the mean of the ten nearest
 * candidates, over the sums of the other features. All parts are >= 0.
 * `termNumbers` is working memory: room for every term id, all zeros before and after.
 */
export function rerankCandidates(
  candidates: readonly Candidate[],
  terms: readonly PositionedTerm[],
  words: readonly WeightedWord[],
  termNumbers: Uint32Array,
): HybridParts[] {
  const top = candidates.reduce((best, { bm25 }) => Math.max(best, bm25), 0);
  const tokens = candidates.map((candidate) => candidate.tokens);
  const texts = candidates.map((candidate) => candidate.text);
  const grams = normalised(gramScores(texts, words));
  const proximity = normalised(proximityScores(tokens, terms));
  const file = normalised(candidates.map((candidate) => candidate.file));
  const unsmoothed = candidates.map((candidate, index): HybridParts => {
    const near = WEIGHTS.adjacent * candidate.adjacent + WEIGHTS.secondAdjacent * candidate.secondAdjacent;
    return {
      bm25: candidate.bm25 / top,
      grams: WEIGHTS.grams * (grams[index] ?? 0),
      proximity: WEIGHTS.proximity * (proximity[index] ?? 0),
      neighbours: near / top,
      file: WEIGHTS.file * (file[index] ?? 0),
      smoothing: 0,
    };
  });
  const means = nearestMeans(tokens, unsmoothed.map(sumOfParts), termNumbers);
  return unsmoothed.map((parts, index) => ({ ...parts, smoothing: WEIGHTS.smoothing * (means[index] ?? 0) }));
}
