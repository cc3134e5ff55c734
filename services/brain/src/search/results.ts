import { initialsOf, stem } from './stem.ts';
import { K1, roundScore } from './bm25.ts';
import { FIELDS, frequencyOf } from './fields.ts';
import type { HeadingPaths } from './heading-paths.ts';
import type { HybridParts } from './hybrid.ts';
import { PHRASE_SCORE, sumOfParts, unrerankedParts } from './hybrid.ts';
import { type Fusion, semanticShare } from './nearness.ts';
import type { IndexedFile, RowStore } from './row-store.ts';
import { fieldFrequency, rowFrequency } from './scoring.ts';
import type { PreparedQuery } from './scoring.ts';
import type { Explanation, SearchRequest, SearchResult, TermPart } from './search-answer.ts';
import { snippetOf, type SoughtOf, type SoughtTerm } from './snippet.ts';

/** The verbatim text of a file's passage, as far as it is at hand. */
function rowText({ texts }: RowStore, entry: IndexedFile, ordinal: number): string {
  return texts.textOf(entry).slice(...entry.analysed.span(ordinal));
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

/** How the scores of an answer were made. */
interface Making {
  readonly mode: SearchRequest['mode'];
  /** The parts of the reranked rows; null in plain and semantic mode. */
  readonly reranked: ReadonlyMap<number, HybridParts> | null;
  /** How many phrases a row holds, and what each adds in plain mode. */
  readonly phrased: ReadonlyMap<number, number>;
  readonly phraseScore: number;
  /** Cosines above 0 by row; null where meaning did not count. */
  readonly near: ReadonlyMap<number, number> | null;
  /** null where words alone made the scores, or meaning alone. */
  readonly fusion: Fusion | null;
}

/** By what a word of the text counts for in the query. Words come again and again, so each is looked up once. */
export function soughtTerms({ store, terms }: PreparedQuery): SoughtOf {
  const { dictionary } = store.cache;
  const soughtById = new Map(terms.toReversed().flatMap((term) => term.ids.map((id) => [id, term])));
  const initials = initialsOf([...soughtById.keys()].map((id) => dictionary.termOf(id)));
  const known = new Map<string, SoughtTerm | null>();
  return (word) => {
    const initial = word.charCodeAt(0);
    if (initial < 128 && initials[initial] === 0) return undefined;
    const before = known.get(word);
    if (before !== undefined) return before ?? undefined;
    const sought = soughtById.get(dictionary.find(stem(word)) ?? -1);
    known.set(word, sought ?? null);
    return sought;
  };
}

export interface Shown {
  readonly making: Making;
  readonly soughtOf: SoughtOf;
  readonly explain: boolean;
  readonly bare: boolean;
  readonly headings: HeadingPaths;
}

/** The parts of a row's hybrid score. */
function hybridParts({ reranked, near, fusion, phrased }: Making, row: number, fused: number): HybridParts | null {
  if (reranked === null) return null;
  const cosine = near?.get(row) ?? 0;
  const byWords = fusion === null ? fused : (fused - semanticShare(fusion, cosine)) * fusion.words;
  const count = phrased.get(row) ?? 0;
  return reranked.get(row) ?? unrerankedParts(roundScore(byWords - PHRASE_SCORE * count), count);
}

function explainRow(query: PreparedQuery, row: number, fused: number, making: Making): Explanation {
  const { mode, reranked, near, fusion, phrased, phraseScore } = making;
  const terms = termParts(query, row);
  const bm25 = roundScore(terms.reduce((sum, { part }) => sum + part, 0));
  const parts = hybridParts(making, row, fused);
  const phrases = reranked === null ? phraseScore * (phrased.get(row) ?? 0) : 0;
  const cosine = near?.get(row) ?? 0;
  const semantic = near === null ? {} : { semantic: cosine };
  const explained = { bm25, fused, parts, phrases, terms, ...semantic };
  if (mode === 'semantic') return { ...explained, addends: { semantic: cosine } };
  if (fusion === null) return { ...explained, addends: parts === null ? { bm25, phrases } : { ...parts } };
  const { words, semantic: highest } = fusion;
  const byWords = parts === null || words === 0 ? 0 : roundScore(sumOfParts(parts) / words);
  const addends = { words: byWords, semantic: roundScore(semanticShare(fusion, cosine)) };
  return { ...explained, addends, maxima: { words, semantic: highest } };
}

/** One row of the answer. */
export function presentRow(query: PreparedQuery, row: number, score: number, shown: Shown): SearchResult {
  const { store } = query;
  const entry = store.fileAt[store.slotOf[row] ?? 0];
  if (entry === undefined) throw new Error('row of no file');
  const ordinal = store.ordinalOf[row] ?? 0;
  const content = rowText(store, entry, ordinal);
  const headings = (): readonly string[] =>
    shown.headings.of(entry.file, store.texts.textOf(entry), entry.analysed.span(ordinal)[0]);
  const snippet = (): string => snippetOf(content, shown.soughtOf);
  return {
    file: entry.file,
    title: entry.title,
    headings: shown.bare ? [] : headings(),
    content,
    snippet: shown.bare ? '' : snippet(),
    score,
    lines: entry.analysed.lines(ordinal),
    hash: entry.hash,
    ...(shown.explain ? { explain: explainRow(query, row, score, shown.making) } : {}),
  };
}
