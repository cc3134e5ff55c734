/** How near passages are in meaning to what was asked, beside how well their words fit. */
import type { AnalysedFile } from './analysed-file.ts';
import { roundScore } from './bm25.ts';
import type { PreparedQuery } from './scoring.ts';

export interface Nearness {
  /** What it counts beside words, in hybrid mode. */
  readonly weight: number;
  /** The cosine of each passage in order; null = nothing is known of that text. */
  cosinesOf(analysed: AnalysedFile): ArrayLike<number> | null;
}

/** The cosines above 0 of the rows that the query may see, by row. */
export function nearRows({ store, view }: PreparedQuery, { cosinesOf }: Nearness): Map<number, number> {
  const near = new Map<number, number>();
  for (const { analysed, chain, rows } of store.files.values()) {
    if (view.mask !== null && view.mask[chain] === 0) continue;
    const cosines = cosinesOf(analysed);
    if (cosines === null) continue;
    for (const [ordinal, row] of rows.entries()) {
      const cosine = roundScore(cosines[ordinal] ?? 0);
      if (cosine > 0) near.set(row, cosine);
    }
  }
  return near;
}

/** How words and meaning made a score: shares of the highest of each. */
export interface Fusion {
  readonly words: number;
  readonly semantic: number;
  /** Of the cosine's share; that of the words counts 1. */
  readonly weight: number;
}

/** What a cosine adds to a score. */
export function semanticShare({ semantic, weight }: Fusion, cosine: number): number {
  return semantic > 0 ? (weight * cosine) / semantic : 0;
}

/**
 * Puts in the place of each score its share of the highest, and adds the same of the cosines by their weight. Answers
 * the rows that have either.
 */
export function fuseNearness(
  scores: Float64Array,
  rows: Uint32Array,
  near: ReadonlyMap<number, number>,
  weight: number,
): { readonly rows: Uint32Array; readonly fusion: Fusion } {
  const words = rows.reduce((top, row) => Math.max(top, scores[row] ?? 0), 0);
  let semantic = 0;
  for (const cosine of near.values()) semantic = Math.max(semantic, cosine);
  const fusion = { words, semantic, weight };
  for (const row of rows) scores[row] = words > 0 ? (scores[row] ?? 0) / words : 0;
  for (const [row, cosine] of near) scores[row] = (scores[row] ?? 0) + semanticShare(fusion, cosine);
  const all = Uint32Array.from(new Set([...rows, ...near.keys()]));
  for (const row of all) scores[row] = roundScore(scores[row] ?? 0);
  return { rows: all, fusion };
}
