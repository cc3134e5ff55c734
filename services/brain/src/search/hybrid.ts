import { z } from 'zod';
import { gramScores } from './letter-grams.ts';
import type { WeightedTerm } from './letter-grams.ts';
import { Neighbourhood } from './neighbourhood.ts';
import { type PositionedTerm, wordScores } from './proximity.ts';
import { type Recency, recencyParts } from './recency.ts';
import { countTerms, type TextTerms } from './text-terms.ts';

/** How many of the best passages are reranked. */
export const CANDIDATES = 100;

/**
 * What each feature counts beside BM25, which counts 1. Measured 2026-11-26 on Cranfield, CACM and LoCoMo (turns and
 * sessions): near this point mean nDCG@10 is flat, within .003 for a change of any weight by a quarter.
 */
const WEIGHTS = {
  grams: 0.65,
  proximity: 0.3,
  order: 0.35,
  common: 0.3,
  file: 0.8,
  smoothing: 0.9,
  likeness: 0.65,
  title: 1.7,
} as const;

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
  order: z.number(),
  common: z.number(),
  file: z.number(),
  smoothing: z.number(),
  likeness: z.number(),
  title: z.number(),
  phrases: z.number(),
  recency: z.number(),
});
export type HybridParts = Readonly<z.output<typeof HybridParts>>;

/** For each phrase that a passage holds: more than all other parts together can be. */
export const PHRASE_SCORE = 10;

const NO_PARTS: HybridParts = {
  bm25: 0,
  grams: 0,
  proximity: 0,
  order: 0,
  common: 0,
  file: 0,
  smoothing: 0,
  likeness: 0,
  title: 0,
  phrases: 0,
  recency: 0,
};

/** A passage beyond the candidates keeps its normalised BM25, which no candidate falls below. */
export function unrerankedParts(bm25: number, phrases = 0): HybridParts {
  return { ...NO_PARTS, bm25, phrases: PHRASE_SCORE * phrases };
}

/** Sum in a fixed order, so that the same parts give the same bits. */
export function sumOfParts(parts: HybridParts): number {
  const { bm25, grams, proximity, order, common, file, smoothing, likeness, title, phrases, recency } = parts;
  return bm25 + grams + proximity + order + common + file + smoothing + likeness + title + phrases + recency;
}

/** Divided by the highest, so that the best has 1; all 0 when none is above 0. */
function normalised(values: ArrayLike<number>): number[] {
  const all = Array.from(values);
  const top = all.reduce((best, value) => Math.max(best, value), 0);
  return all.map((value) => (top > 0 ? value / top : 0));
}

/** A term that carries a topic, and how rare it is. */
interface AskedTerm {
  readonly id: number;
  readonly idf: number;
}

interface RerankQuery {
  /** In query order, those that some row has. */
  readonly terms: readonly AskedTerm[];
  /** All words of the query in order, stop words among them. */
  readonly written: readonly PositionedTerm[];
  readonly weighted: readonly WeightedTerm[];
  /** UTF-16 units of a term, to be used at once. */
  readonly unitsOf: (id: number) => ArrayLike<number>;
  readonly recency: Recency;
}

/** What the words of each candidate say; how near the candidates are to each other comes later. */
function ownParts(
  candidates: readonly Candidate[],
  texts: TextTerms,
  { terms, written, weighted, unitsOf }: RerankQuery,
  termNumbers: Uint32Array,
): HybridParts[] {
  const bm25 = normalised(candidates.map((candidate) => candidate.bm25));
  const file = normalised(candidates.map((candidate) => candidate.file));
  const grams = normalised(gramScores(texts, weighted, unitsOf));
  const tokens = candidates.map((candidate) => candidate.tokens);
  const scores = wordScores(tokens, { terms, written }, termNumbers);
  const [proximity, order, common] = [scores.proximity, scores.order, scores.common].map(normalised);
  return candidates.map((_, index) => ({
    ...NO_PARTS,
    bm25: bm25[index] ?? 0,
    grams: WEIGHTS.grams * (grams[index] ?? 0),
    proximity: WEIGHTS.proximity * (proximity?.[index] ?? 0),
    order: WEIGHTS.order * (order?.[index] ?? 0),
    common: WEIGHTS.common * (common?.[index] ?? 0),
    file: WEIGHTS.file * (file[index] ?? 0),
  }));
}

/**
 * The rerank of the first pass's candidates, best first. Every feature but the title is divided by its highest value among
 * the candidates; the smoothing adds a share of the mean of the twenty nearest candidates of other files, over the sums of
 * the other features, and the likeness of how near the best five of these are. All parts are >= 0.
 * `termNumbers` is working memory: room for every term id, all zeros before and after.
 */
export function rerankCandidates(
  candidates: readonly Candidate[],
  query: RerankQuery,
  termNumbers: Uint32Array,
): HybridParts[] {
  const texts = countTerms(
    candidates.map((candidate) => candidate.tokens),
    termNumbers,
  );
  const own = ownParts(candidates, texts, query, termNumbers);
  const neighbourhood = new Neighbourhood(
    texts,
    candidates.map(({ slot }) => slot),
  );
  const means = neighbourhood.nearestMeans(Float64Array.from(own, sumOfParts));
  const smoothed = own.map((parts, index) => ({ ...parts, smoothing: WEIGHTS.smoothing * (means[index] ?? 0) }));
  const likeness = normalised(neighbourhood.likeness(Float64Array.from(smoothed, sumOfParts)));
  const recent = recencyParts(
    candidates.map(({ changedAt }) => changedAt),
    query.recency,
  );
  const asked = new Map(query.terms.map(({ id, idf }) => [id, idf]));
  return smoothed.map((parts, index) => ({
    ...parts,
    likeness: WEIGHTS.likeness * (likeness[index] ?? 0),
    title: WEIGHTS.title * titleMatch(candidates[index], asked),
    phrases: PHRASE_SCORE * (candidates[index]?.phrases ?? 0),
    recency: recent[index] ?? 0,
  }));
}

/** How much of the query the title says, and how much of the title the query: 1 when they are the same words. */
function titleMatch(candidate: Candidate | undefined, asked: ReadonlyMap<number, number>): number {
  if (candidate === undefined || candidate.titleLength === 0) return 0;
  const title = candidate.tokens.subarray(0, candidate.titleLength);
  let [said, all, count, distinct] = [0, 0, 0, 0];
  for (const idf of asked.values()) all += idf;
  for (const [place, id] of title.entries()) {
    if (title.indexOf(id) !== place) continue;
    distinct += 1;
    const idf = asked.get(id);
    if (idf === undefined) continue;
    said += idf;
    count += 1;
  }
  return all === 0 ? 0 : (said / all) * (count / distinct);
}
