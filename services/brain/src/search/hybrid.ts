import { z } from 'zod';
import { gramScores } from './letter-grams.ts';
import type { WeightedTerm } from './letter-grams.ts';
import { nearestMeans } from './neighbourhood.ts';
import { proximityScores } from './proximity.ts';
import type { PositionedTerm } from './proximity.ts';
import { type Recency, recencyParts } from './recency.ts';
import { countTerms } from './text-terms.ts';

/** How many of the best passages are reranked. */
export const CANDIDATES = 100;

/**
 * What each feature counts beside BM25, which counts 1. Measured 2026-11-23 on Cranfield, CACM and LoCoMo (turns and
 * sessions): near this point mean nDCG@10 is flat, within .002 for a change of any weight by a third.
 */
const WEIGHTS = { grams: 0.4, proximity: 0.4, file: 1, smoothing: 1, title: 1 } as const;

/** A passage of the first pass, best first. */
export interface Candidate {
  readonly tokens: Uint32Array;
  /** Terms of the title of its file, which are the first of `tokens`. */
  readonly titleLength: number;
  readonly bm25: number;
  /** BM25 of its whole file. */
  readonly file: number;
  /** Names its file. */
  readonly slot: number;
  /** How many of the query's phrases it holds. */
  readonly phrases: number;
  /** When its file was written. */
  readonly changedAt: number | null;
}

/** What each feature adds to a hybrid score; the score is their sum. */
export const HybridParts = z.strictObject({
  bm25: z.number(),
  grams: z.number(),
  proximity: z.number(),
  file: z.number(),
  smoothing: z.number(),
  title: z.number(),
  phrases: z.number(),
  recency: z.number(),
});
export type HybridParts = Readonly<z.output<typeof HybridParts>>;

/** For each phrase that a passage holds: more than all other parts together can be. */
export const PHRASE_SCORE = 10;

/** A passage beyond the candidates keeps its normalised BM25, which no candidate falls below. */
export function unrerankedParts(bm25: number, phrases = 0): HybridParts {
  return { bm25, grams: 0, proximity: 0, file: 0, smoothing: 0, title: 0, phrases: PHRASE_SCORE * phrases, recency: 0 };
}

/** Sum in a fixed order, so that the same parts give the same bits. */
export function sumOfParts(parts: HybridParts): number {
  const { bm25, grams, proximity, file, smoothing, title, phrases, recency } = parts;
  return bm25 + grams + proximity + file + smoothing + title + phrases + recency;
}

/** Divided by the highest, so that the best has 1; all 0 when none is above 0. */
function normalised(values: readonly number[]): number[] {
  const top = values.reduce((best, value) => Math.max(best, value), 0);
  return values.map((value) => (top > 0 ? value / top : 0));
}

export interface RerankQuery {
  /** In query order, those that some row has. */
  readonly terms: readonly PositionedTerm[];
  readonly weighted: readonly WeightedTerm[];
  /** UTF-16 units of a term, to be used at once. */
  readonly unitsOf: (id: number) => ArrayLike<number>;
  readonly recency: Recency;
}

/**
 * The rerank of the first pass's candidates, best first. Every feature but the title is divided by its highest value among
 * the candidates; the smoothing adds a share of the mean of the ten nearest candidates of other files, over the sums of
 * the other features. All parts are >= 0.
 * `termNumbers` is working memory: room for every term id, all zeros before and after.
 */
export function rerankCandidates(
  candidates: readonly Candidate[],
  { terms, weighted, unitsOf, recency }: RerankQuery,
  termNumbers: Uint32Array,
): HybridParts[] {
  const tokens = candidates.map((candidate) => candidate.tokens);
  const bm25 = normalised(candidates.map((candidate) => candidate.bm25));
  const texts = countTerms(tokens, termNumbers);
  const grams = normalised(gramScores(texts, weighted, unitsOf));
  const proximity = normalised(proximityScores(tokens, terms));
  const file = normalised(candidates.map((candidate) => candidate.file));
  const unsmoothed = candidates.map((_, index): HybridParts => {
    return {
      bm25: bm25[index] ?? 0,
      grams: WEIGHTS.grams * (grams[index] ?? 0),
      proximity: WEIGHTS.proximity * (proximity[index] ?? 0),
      file: WEIGHTS.file * (file[index] ?? 0),
      smoothing: 0,
      title: 0,
      phrases: 0,
      recency: 0,
    };
  });
  const files = candidates.map(({ slot }) => slot);
  const means = nearestMeans({ texts, groups: files, scores: unsmoothed.map(sumOfParts) });
  const recent = recencyParts(
    candidates.map(({ changedAt }) => changedAt),
    recency,
  );
  const asked = new Map(terms.map(({ id, idf }) => [id, idf]));
  return unsmoothed.map((parts, index) => ({
    ...parts,
    smoothing: WEIGHTS.smoothing * (means[index] ?? 0),
    title: WEIGHTS.title * titleMatch(candidates[index], asked),
    phrases: PHRASE_SCORE * (candidates[index]?.phrases ?? 0),
    recency: recent[index] ?? 0,
  }));
}

/** How much of the query the title says, and how much of the title the query: 1 when they are the same words. */
function titleMatch(candidate: Candidate | undefined, asked: ReadonlyMap<number, number>): number {
  if (candidate === undefined || candidate.titleLength === 0) return 0;
  const title = new Set(candidate.tokens.subarray(0, candidate.titleLength));
  let [said, all, count] = [0, 0, 0];
  for (const [id, idf] of asked) {
    all += idf;
    if (!title.has(id)) continue;
    said += idf;
    count += 1;
  }
  return all === 0 ? 0 : (said / all) * (count / title.size);
}
