import type { QueryWord } from './analysis.ts';
import { B, inverseFrequency } from './bm25.ts';
import { correctionOf } from './corrections.ts';
import { BODY_ONLY_BOUND, FIELD_WEIGHTS, FIELDS, frequencyOf, TEXT } from './fields.ts';
import type { PostingList } from './posting-list.ts';
import type { RowStore } from './row-store.ts';
import type { Correction, MeantWord } from './search-answer.ts';
import { idsOfPrefix, idsOfTerm, unionOf } from './term-union.ts';
import { admittedRows, rowsOfTerm, type View, viewOf } from './view.ts';

/** Of a longer query only its rarest distinct terms count. */
const MAX_QUERY_TERMS = 128;

/** A distinct term of a query; `postings` is undefined when no row has it. */
interface QueryTerm {
  readonly term: string;
  readonly id: number;
  /** Those that it stands for. */
  readonly ids: readonly number[];
  /** Occurrences in the query. */
  readonly count: number;
  readonly idf: number;
  readonly postings: PostingList | undefined;
}

/** A query made ready for one view of a store. */
export interface PreparedQuery {
  readonly store: RowStore;
  readonly view: View;
  readonly words: readonly QueryWord[];
  /** Distinct terms in order of first appearance, idf over the view. */
  readonly terms: readonly QueryTerm[];
  /** Words that no admitted row has, and the term that is looked for instead. */
  readonly corrected: readonly Correction[];
  /** Words that no admitted row has, corrected or not. */
  readonly absent: readonly string[];
}

/** Terms of a query beside its words, each a union of several. */
interface TermGroups {
  readonly any: readonly (readonly string[])[];
  readonly prefixes: readonly string[];
}

const NO_GROUPS: TermGroups = { any: [], prefixes: [] };

/** Only so many words of a query are corrected. */
const MOST_CORRECTED = 8;

export function prepareQuery(
  store: RowStore,
  admitted: ReadonlySet<number> | null,
  words: readonly QueryWord[],
  { any, prefixes }: TermGroups = NO_GROUPS,
  meant?: readonly MeantWord[],
): PreparedQuery {
  const view = viewOf(store, admitted);
  const absent = new Map(words.flatMap(({ word, term }) => (hasTerm(store, view, term) ? [] : [[word, term]])));
  const corrections = meant === undefined ? correctionsOf(store, view, absent) : meaningsOf(meant);
  const corrected = Array.from(corrections, ([word, as]) => ({ word, as }));
  const read = words.map((word) => readAs(word, corrections.get(word.word)));
  const { dictionary } = store.cache;
  const counts = new Map<string, number>();
  for (const { term } of read) counts.set(term, (counts.get(term) ?? 0) + 1);
  const termFor = (term: string, count: number, ids: readonly number[]): QueryTerm => {
    const list = unionOf(store, ids);
    const frequency = list === undefined ? 0 : admittedRows(store, list, view.mask);
    const idf = inverseFrequency(view.totals.rows, frequency);
    const id = dictionary.find(term) ?? -1;
    return { term, id, ids, count, idf, postings: frequency > 0 ? list : undefined };
  };
  const idsOf = (term: string): number[] => idsOfTerm(store, term);
  const terms = [
    ...[...counts].map(([term, count]) => termFor(term, count, idsOf(term))),
    ...any.map((group) => termFor(group.join(' OR '), 1, group.flatMap(idsOf))),
    ...prefixes.map((prefix) => termFor(`${prefix}*`, 1, idsOfPrefix(store, view, prefix))),
  ];
  const kept = new Set(terms.toSorted((a, b) => b.idf - a.idf).slice(0, MAX_QUERY_TERMS));
  return {
    store,
    view,
    words: read,
    terms: terms.filter((term) => kept.has(term)),
    corrected,
    absent: [...absent.keys()],
  };
}

/** The terms that are looked for in the place of words that no admitted row has. */
function correctionsOf(store: RowStore, view: View, absent: ReadonlyMap<string, string>): Map<string, string> {
  return new Map(
    [...absent].slice(0, MOST_CORRECTED).flatMap(([word, term]): [string, string][] => {
      const meant = correctionOf(store, view, term);
      return meant === null ? [] : [[word, meant]];
    }),
  );
}

function meaningsOf(meant: readonly MeantWord[]): Map<string, string> {
  return new Map(meant.flatMap(({ word, as }): [string, string][] => (as === null ? [] : [[word, as]])));
}

function readAs(word: QueryWord, meant: string | undefined): QueryWord {
  return meant === undefined ? word : { word: meant, term: meant };
}

function hasTerm(store: RowStore, view: View, term: string): boolean {
  return rowsOfTerm(store, view, store.cache.dictionary.find(term) ?? -1) > 0;
}

/**
 * A field's share of tf': its frequency, weighted, over its length's norm 1 - b + b * length / average. 0 when the
 * field lacks the term.
 */
export function fieldFrequency(store: RowStore, view: View, row: number, packed: number, field: number): number {
  const tf = frequencyOf(packed, field);
  if (tf === 0) return 0;
  const length = store.lengths[row * FIELDS.length + field] ?? 0;
  return ((FIELD_WEIGHTS[field] ?? 0) * tf) / (1 - B + (B * length) / (view.averages[field] ?? 0));
}

/** tf' of a row: the sum over its fields. */
export function rowFrequency(store: RowStore, view: View, row: number, packed: number): number {
  if (packed < BODY_ONLY_BOUND) return fieldFrequency(store, view, row, packed, TEXT);
  let sum = 0;
  for (let field = 0; field < FIELDS.length; field += 1) sum += fieldFrequency(store, view, row, packed, field);
  return sum;
}
