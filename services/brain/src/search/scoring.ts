import type { QueryWord } from './analysis.ts';
import { B, inverseFrequency, K1 } from './bm25.ts';
import { BODY_ONLY_BOUND, FIELD_WEIGHTS, FIELDS, frequencyOf, HEADING, TEXT } from './fields.ts';
import type { PostingList } from './posting-list.ts';
import { noTotals } from './row-store.ts';
import type { RowStore, Totals } from './row-store.ts';

/** Of a longer query only its rarest distinct terms count. */
const MAX_QUERY_TERMS = 128;

/** What a query may see: the admitted chains and their totals. */
export interface View {
  /** By chain; 1 = admitted. null = every row is. */
  readonly mask: Uint8Array | null;
  readonly totals: Totals;
}

/** A distinct term of a query; `postings` is undefined when no row has it. */
export interface QueryTerm {
  readonly term: string;
  readonly id: number;
  /** Occurrences in the query. */
  readonly count: number;
  readonly idf: number;
  readonly postings: PostingList | undefined;
}

function viewOf(store: RowStore, admitted: ReadonlySet<number> | null): View {
  const totals = noTotals();
  const visible = [...store.chains].filter(([chain]) => admitted === null || admitted.has(chain));
  for (const [, part] of visible) {
    totals.files += part.files;
    totals.rows += part.rows;
    part.lengths.forEach((length, field) => {
      totals.lengths[field] = (totals.lengths[field] ?? 0) + length;
    });
  }
  if (visible.length === store.chains.size) return { mask: null, totals };
  const mask = new Uint8Array(Math.max(...store.chains.keys()) + 1);
  for (const [chain] of visible) mask[chain] = 1;
  return { mask, totals };
}

function admittedRows(store: RowStore, postings: PostingList, mask: Uint8Array | null): number {
  if (mask === null) return postings.count;
  const { chainOf } = store;
  let count = 0;
  for (const chunk of postings.chunks) {
    const end = (chunk[0] ?? 0) * 2;
    for (let at = 1; at < end; at += 2) count += mask[chainOf[chunk[at] ?? 0] ?? 0] ?? 0;
  }
  return count;
}

/** A query made ready for one view of a store. */
export interface PreparedQuery {
  readonly store: RowStore;
  readonly view: View;
  readonly words: readonly QueryWord[];
  /** Distinct terms in order of first appearance, idf over the view. */
  readonly terms: readonly QueryTerm[];
}

export function prepareQuery(
  store: RowStore,
  admitted: ReadonlySet<number> | null,
  words: readonly QueryWord[],
): PreparedQuery {
  const view = viewOf(store, admitted);
  const counts = new Map<string, number>();
  for (const { term } of words) counts.set(term, (counts.get(term) ?? 0) + 1);
  const terms = [...counts].map(([term, count]): QueryTerm => {
    const id = store.cache.dictionary.find(term) ?? -1;
    const list = store.postings.of(id);
    const frequency = list === undefined ? 0 : admittedRows(store, list, view.mask);
    const idf = inverseFrequency(view.totals.rows, frequency);
    return { term, id, count, idf, postings: frequency > 0 ? list : undefined };
  });
  const kept = new Set(terms.toSorted((a, b) => b.idf - a.idf).slice(0, MAX_QUERY_TERMS));
  return { store, view, words, terms: terms.filter((term) => kept.has(term)) };
}

/**
 * A field's share of tf': its frequency, weighted, over its length's norm 1 - b + b * length / average. 0 when the
 * field lacks the term.
 */
export function fieldFrequency(store: RowStore, view: View, row: number, packed: number, field: number): number {
  const tf = frequencyOf(packed, field);
  if (tf === 0) return 0;
  const average = (view.totals.lengths[field] ?? 0) / view.totals.rows;
  const length = store.lengths[row * FIELDS.length + field] ?? 0;
  return ((FIELD_WEIGHTS[field] ?? 0) * tf) / (1 - B + (B * length) / average);
}

/** tf' of a row: the sum over its fields. */
export function rowFrequency(store: RowStore, view: View, row: number, packed: number): number {
  if (packed < BODY_ONLY_BOUND) return fieldFrequency(store, view, row, packed, TEXT);
  let sum = 0;
  for (let field = 0; field < FIELDS.length; field += 1) sum += fieldFrequency(store, view, row, packed, field);
  return sum;
}

/** Row scores of one query; cleared by the next. Rows with a score above 0 are rows[0, count). */
export interface RowScores {
  readonly scores: Float64Array;
  readonly rows: Uint32Array;
  count: number;
}

/** Adds one term's BM25F part to each admitted row that has it. */
function addTerm(store: RowStore, view: View, postings: PostingList, weight: number, into: RowScores): void {
  const { scores, rows } = into;
  const { chainOf } = store;
  const { mask } = view;
  let count = into.count;
  for (const chunk of postings.chunks) {
    const end = (chunk[0] ?? 0) * 2;
    for (let at = 1; at < end; at += 2) {
      const row = chunk[at] ?? 0;
      const packed = chunk[at + 1] ?? 0;
      if (mask !== null && mask[chainOf[row] ?? 0] === 0) continue;
      const frequency = rowFrequency(store, view, row, packed);
      const before = scores[row] ?? 0;
      if (before === 0) rows[count++] = row;
      scores[row] = before + (weight * frequency) / (K1 + frequency);
    }
  }
  into.count = count;
}

/** BM25F of every admitted row with a query term. Terms are added in query order, so sums are the same in every index. */
export function scoreRows({ store, view, terms }: PreparedQuery, into: RowScores): void {
  for (const { postings, count, idf } of terms) {
    if (postings !== undefined) addTerm(store, view, postings, count * idf * (K1 + 1), into);
  }
}

/** Adds one term's occurrences, weighted by field, to the files that have it; returns those files' slots. */
function addFileFrequencies(store: RowStore, view: View, postings: PostingList, into: Float64Array): number[] {
  const { slotOf, chainOf } = store;
  const { mask } = view;
  const slots: number[] = [];
  for (const chunk of postings.chunks) {
    const end = (chunk[0] ?? 0) * 2;
    for (let at = 1; at < end; at += 2) {
      const row = chunk[at] ?? 0;
      if (mask !== null && mask[chainOf[row] ?? 0] === 0) continue;
      const slot = slotOf[row] ?? 0;
      const packed = chunk[at + 1] ?? 0;
      const before = into[slot] ?? 0;
      if (before === 0) slots.push(slot);
      into[slot] = before + fileShare(packed, before === 0);
    }
  }
  return slots;
}

/** A row's share of its file's weighted frequency; title, path and tags belong to the file and count once. */
function fileShare(packed: number, isFirst: boolean): number {
  if (packed < BODY_ONLY_BOUND) return packed;
  let sum = 0;
  for (let field = isFirst ? 0 : HEADING; field < FIELDS.length; field += 1) {
    sum += (FIELD_WEIGHTS[field] ?? 0) * frequencyOf(packed, field);
  }
  return sum;
}

/**
 * BM25 of whole files, by slot: occurrences weighted by field, the length is that of all bodies and headings, and
 * the idf is the rows' one. `frequencies` is all zeros before and after.
 */
export function scoreFiles(query: PreparedQuery, scores: Float64Array, frequencies: Float64Array): void {
  const { store, view, terms } = query;
  const average = ((view.totals.lengths[TEXT] ?? 0) + (view.totals.lengths[HEADING] ?? 0)) / view.totals.files;
  for (const { postings, count, idf } of terms) {
    if (postings === undefined) continue;
    for (const slot of addFileFrequencies(store, view, postings, frequencies)) {
      const length = store.fileAt[slot]?.analysed.titleFrom ?? 0;
      const frequency = (frequencies[slot] ?? 0) / (1 - B + (B * length) / Math.max(average, 1));
      scores[slot] = (scores[slot] ?? 0) + (count * idf * (K1 + 1) * frequency) / (K1 + frequency);
      frequencies[slot] = 0;
    }
  }
}
