import { analyse, analyseQuery } from './analysis.ts';
import { B, inverseFrequency, K1, roundScore } from './bm25.ts';

const WEIGHTS = { bm25: 0.6, share: 0.25, proximity: 0.15 } as const;

/** A text to be ranked; `content` wins over `text`. */
export type RerankDocument = string | { readonly content?: string; readonly text?: string; readonly title?: string };

export interface RankedDocument {
  /** Position in the input. */
  readonly index: number;
  /** 0..1, rounded to 1e-9. */
  readonly score: number;
}

function textOf(document: RerankDocument): string {
  if (typeof document === 'string') return document;
  return `${document.title ?? ''}\n${document.content ?? document.text ?? ''}`;
}

/** The shortest run of `tokens` that holds `wanted` distinct query terms; Infinity when they are not all there. */
function smallestWindow(tokens: readonly string[], query: ReadonlySet<string>, wanted: number): number {
  const inside = new Map<string, number>();
  const hits = [...tokens.entries()].filter(([, token]) => query.has(token));
  let smallest = Infinity;
  let first = 0;
  for (const [end, token] of hits) {
    inside.set(token, (inside.get(token) ?? 0) + 1);
    while (inside.size === wanted) {
      const [start, oldest] = hits[first] ?? [end, token];
      smallest = Math.min(smallest, end - start + 1);
      const left = (inside.get(oldest) ?? 0) - 1;
      if (left === 0) inside.delete(oldest);
      else inside.set(oldest, left);
      first += 1;
    }
  }
  return smallest;
}

interface Counted {
  readonly length: number;
  readonly counts: ReadonlyMap<string, number>;
  /** Query terms present per token of the smallest window that holds them; 0 with fewer than two. */
  readonly closeness: number;
}

function count(tokens: readonly string[], query: ReadonlySet<string>): Counted {
  const counts = new Map<string, number>();
  for (const token of tokens) if (query.has(token)) counts.set(token, (counts.get(token) ?? 0) + 1);
  const closeness = counts.size < 2 ? 0 : counts.size / smallestWindow(tokens, query, counts.size);
  return { length: tokens.length, counts, closeness };
}

/** BM25 of each text, the texts being the whole collection. */
function bm25Scores(documents: readonly Counted[], query: ReadonlyMap<string, number>): number[] {
  const average = documents.reduce((sum, { length }) => sum + length, 0) / Math.max(documents.length, 1);
  const idfs = [...query.keys()].map((term) => {
    return inverseFrequency(documents.length, documents.filter(({ counts }) => counts.has(term)).length);
  });
  return documents.map(({ length, counts }) => {
    let score = 0;
    [...query].forEach(([term, weight], index) => {
      const tf = counts.get(term) ?? 0;
      const norm = K1 * (1 - B + (B * length) / Math.max(average, 1));
      score += (weight * (idfs[index] ?? 0) * tf * (K1 + 1)) / (tf + norm);
    });
    return score;
  });
}

/**
 * Ranks documents for a query by 0.6 BM25 (relative to the best) + 0.25 share of the query's terms + 0.15 proximity
 * (of those present, over the whole query's terms). Ties by input index. Returns the first `topK`.
 */
export function rerank(query: string, documents: readonly RerankDocument[], topK: number): RankedDocument[] {
  const weights = new Map<string, number>();
  for (const { term } of analyseQuery(query)) weights.set(term, (weights.get(term) ?? 0) + 1);
  const terms = new Set(weights.keys());
  const counted = documents.map((document) => count(analyse(textOf(document)), terms));
  const bm25 = bm25Scores(counted, weights);
  const top = bm25.reduce((best, score) => Math.max(best, score), 0);
  const ranked = counted.map(({ counts, closeness }, index): RankedDocument => {
    const share = counts.size / Math.max(terms.size, 1);
    const lexical = top > 0 ? (bm25[index] ?? 0) / top : 0;
    const score = WEIGHTS.bm25 * lexical + WEIGHTS.share * share + WEIGHTS.proximity * closeness * share;
    return { index, score: roundScore(score) };
  });
  return ranked.sort((left, right) => right.score - left.score || left.index - right.index).slice(0, topK);
}
