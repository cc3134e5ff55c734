import { END, FIRST_LINE, LAST_LINE, ROW_STRIDE, START } from './analysis-cache.ts';
import { K1, roundScore } from './bm25.ts';
import { FIELDS, frequencyOf } from './fields.ts';
import type { HybridParts } from './hybrid.ts';
import { unrerankedParts } from './hybrid.ts';
import type { IndexedFile } from './row-store.ts';
import { fieldFrequency, rowFrequency } from './scoring.ts';
import type { PreparedQuery } from './scoring.ts';
import type { Explanation, SearchResult, TermPart } from './search-answer.ts';
import { snippetOf } from './snippet.ts';

/** The verbatim text of a file's passage. */
export function rowText({ analysed }: IndexedFile, ordinal: number): string {
  const at = ordinal * ROW_STRIDE;
  return analysed.text.toString('utf8', analysed.layout[at + START], analysed.layout[at + END]);
}

/** The share of each query term and field in a row's BM25F score. */
function termParts({ store, view, terms }: PreparedQuery, row: number): TermPart[] {
  return terms.flatMap(({ term, idf, count, postings }) => {
    const packed = postings?.get(row) ?? 0;
    const scale = (count * idf * (K1 + 1)) / (K1 + rowFrequency(store, view, row, packed));
    return FIELDS.flatMap((field, number) => {
      const tf = frequencyOf(packed, number);
      return tf === 0 ? [] : [{ term, field, tf, idf, part: scale * fieldFrequency(store, view, row, packed, number) }];
    });
  });
}

export interface Shown {
  /** The parts of the reranked rows; null in plain and semantic mode. */
  readonly reranked: ReadonlyMap<number, HybridParts> | null;
  /** Cosines above 0 by row; null where meaning did not count. */
  readonly near: ReadonlyMap<number, number> | null;
  readonly explain: boolean;
}

function explainRow(query: PreparedQuery, row: number, fused: number, { reranked, near }: Shown): Explanation {
  const terms = termParts(query, row);
  const bm25 = roundScore(terms.reduce((sum, { part }) => sum + part, 0));
  const parts = reranked === null ? null : (reranked.get(row) ?? unrerankedParts(near === null ? fused : 0));
  return { bm25, fused, parts, terms, ...(near === null ? {} : { semantic: near.get(row) ?? 0 }) };
}

/** One row of the answer. */
export function presentRow(query: PreparedQuery, row: number, score: number, shown: Shown): SearchResult {
  const { store, terms } = query;
  const entry = store.fileAt[store.slotOf[row] ?? 0];
  if (entry === undefined) throw new Error('row of no file');
  const ordinal = store.ordinalOf[row] ?? 0;
  const { layout } = entry.analysed;
  const at = ordinal * ROW_STRIDE;
  const content = rowText(entry, ordinal);
  return {
    file: entry.file,
    title: entry.title,
    content,
    snippet: snippetOf(content, new Map(terms.map(({ term, idf }) => [term, idf]))),
    score,
    lines: [layout[at + FIRST_LINE] ?? 1, layout[at + LAST_LINE] ?? 1],
    hash: entry.hash,
    ...(shown.explain ? { explain: explainRow(query, row, score, shown) } : {}),
  };
}
