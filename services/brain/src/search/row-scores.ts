/** BM25F of the rows that have a word of a query. */
import { B, K1 } from './bm25.ts';
import { BODY_ONLY_BOUND, FIELDS, TEXT } from './fields.ts';
import { LOOKUP_COST, type PostingList } from './posting-list.ts';
import { rowOrder } from './row-order.ts';
import { type PreparedQuery, rowFrequency } from './scoring.ts';
import { lowestOfBest, topRows } from './top-rows.ts';

/** Row scores of one query; cleared by the next. Rows with a score above 0 are rows[0, count). */
export interface RowScores {
  readonly scores: Float64Array;
  readonly rows: Uint32Array;
  count: number;
  /** Of the query's view. */
  readonly norms: Float64Array;
}

/** Bodies of fewer terms than so many have their norm in a table. */
const TABLED_LENGTHS = 1024;

/** K1 times the norm of a body, by its length. */
export function bodyNorms(average: number): Float64Array {
  return Float64Array.from({ length: TABLED_LENGTHS }, (_, length) => K1 * (1 - B + (B * length) / average));
}

/** tf' / (K1 + tf'). Most rows have a term in their body alone. */
function saturation({ store, view }: PreparedQuery, row: number, packed: number, norms: Float64Array): number {
  const length = store.lengths[row * FIELDS.length + TEXT] ?? 0;
  if (packed < BODY_ONLY_BOUND && length < TABLED_LENGTHS) return packed / ((norms[length] ?? 0) + packed);
  const frequency = rowFrequency(store, view, row, packed);
  return frequency / (K1 + frequency);
}

/** Adds one term's BM25F part to each admitted row that has it. */
function addTerm(query: PreparedQuery, { postings, weight }: WeightedList, into: RowScores): void {
  const { scores, rows, norms } = into;
  const { chainOf } = query.store;
  const { mask } = query.view;
  let count = into.count;
  for (const chunk of postings.chunks) {
    const end = (chunk[0] ?? 0) * 2;
    for (let at = 1; at < end; at += 2) {
      const row = chunk[at] ?? 0;
      const packed = chunk[at + 1] ?? 0;
      if (mask !== null && mask[chainOf[row] ?? 0] === 0) continue;
      const before = scores[row] ?? 0;
      if (before === 0) rows[count++] = row;
      scores[row] = before + weight * saturation(query, row, packed, norms);
    }
  }
  into.count = count;
}

/** As `addTerm`, of rows that have a score already. */
function addToScored(query: PreparedQuery, { postings, weight }: WeightedList, { scores, norms }: RowScores): void {
  for (const chunk of postings.chunks) {
    const end = (chunk[0] ?? 0) * 2;
    for (let at = 1; at < end; at += 2) {
      const row = chunk[at] ?? 0;
      const before = scores[row] ?? 0;
      // What is not admitted has none.
      if (before !== 0) scores[row] = before + weight * saturation(query, row, chunk[at + 1] ?? 0, norms);
    }
  }
}

interface WeightedList {
  readonly postings: PostingList;
  /** More than it can add to any score. */
  readonly weight: number;
}

/** What has to be right: the first so many rows, and if `files` is not 0 the first rows of so many files. */
export interface Enough {
  readonly rows: number;
  readonly files: number;
}

/** Lists with fewer entries together are read sooner than it is known that they cannot matter. */
const WORTH_SKIPPING = 2_000;
/** Sums of a few numbers are nearer to each other than this whatever their order. */
const MARGIN = 1e-6;

/** The lowest score of those that have to be right, as far as it is known; 0 = there are not so many yet. */
function lowestWanted(query: PreparedQuery, { scores, rows, count }: RowScores, enough: Enough): number {
  if (count < enough.rows) return 0;
  if (enough.files === 0) return lowestOfBest(scores, rows.subarray(0, count), enough.rows);
  const best = topRows(rows.subarray(0, count), enough.rows, rowOrder(query.store, scores));
  const files = new Set<number>();
  const last = best.find((row) => files.add(query.store.slotOf[row] ?? 0).size === enough.files);
  return last === undefined ? 0 : (scores[last] ?? 0);
}

/** Whether it is certain that rows of the lists that are left cannot be among the first. */
class Certainty {
  readonly #query: PreparedQuery;
  readonly #into: RowScores;
  readonly #enough: Enough;
  /** The lowest score wanted when it was looked for last, and what can have been added to any score since. */
  #lowest = 0;
  #added = 0;

  constructor(query: PreparedQuery, into: RowScores, enough: Enough) {
    this.#query = query;
    this.#into = into;
    this.#enough = enough;
  }

  /** After a list was added: the scores below which a row may be forgotten; null = none yet. */
  after({ weight }: WeightedList, others: readonly WeightedList[]): number | null {
    this.#added += weight;
    const entries = others.reduce((sum, { postings }) => sum + postings.count, 0);
    if (entries < Math.max(WORTH_SKIPPING, this.#into.count)) return null;
    const most = others.reduce((sum, list) => sum + list.weight, 0) + MARGIN;
    // Looking for the lowest costs as much as a long list, so only where it can have risen far enough.
    if (most >= this.#lowest + this.#added) return null;
    this.#lowest = lowestWanted(this.#query, this.#into, this.#enough);
    this.#added = 0;
    return most < this.#lowest ? this.#lowest - most : null;
  }
}

/** Adds to rows that can still be among the first what these lists say of them; others keep less than they have. */
function addTheRest(query: PreparedQuery, lists: readonly WeightedList[], lowest: number, into: RowScores): void {
  const { scores, norms } = into;
  const open = into.rows.subarray(0, into.count).filter((row) => (scores[row] ?? 0) >= lowest);
  for (const list of lists) {
    const { postings, weight } = list;
    if (open.length * LOOKUP_COST >= postings.count) {
      addToScored(query, list, into);
      continue;
    }
    for (const row of open) {
      const packed = postings.get(row);
      if (packed !== 0) scores[row] = (scores[row] ?? 0) + weight * saturation(query, row, packed, norms);
    }
  }
}

/**
 * Scores every admitted row with a query term. With `enough`, rows that only have terms which cannot bring them among the
 * first are left out once that is certain, and those that cannot come there any more keep a lower score; answers the lists
 * of those terms. The heaviest terms are added first, by the view alone, so that the sums are the same in every index.
 */
export function scoreRows(query: PreparedQuery, into: RowScores, enough: Enough | null): PostingList[] {
  const lists = query.terms
    .flatMap(({ postings, count, idf }) => (postings === undefined ? [] : { postings, weight: count * idf * (K1 + 1) }))
    .sort((left, right) => right.weight - left.weight);
  const certainty = enough === null ? null : new Certainty(query, into, enough);
  for (const [place, added] of lists.entries()) {
    addTerm(query, added, into);
    const others = lists.slice(place + 1);
    const lowest = certainty?.after(added, others) ?? null;
    if (lowest === null) continue;
    addTheRest(query, others, lowest, into);
    return others.map(({ postings }) => postings);
  }
  return [];
}
