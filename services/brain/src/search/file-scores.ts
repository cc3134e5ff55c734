/** BM25 of whole files, for those whose passages are reranked. */
import { B, K1 } from './bm25.ts';
import { BODY_ONLY_BOUND, FIELD_WEIGHTS, FIELDS, frequencyOf, HEADING, TEXT } from './fields.ts';
import { LOOKUP_COST, type PostingList } from './posting-list.ts';
import type { IndexedFile, RowStore } from './row-store.ts';
import type { PreparedQuery } from './scoring.ts';

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
 * Adds one term's occurrences, weighted by field, to each file's sum: by looking up the files' rows or by reading the
 * whole list, whichever is less. The sums are exact, so that their order does not matter.
 */
class Frequencies {
  readonly #store: RowStore;
  readonly #files: readonly IndexedFile[];
  readonly #rows: number;
  /** By slot: a file's number + 1. */
  readonly #numbers: Uint32Array;

  constructor(store: RowStore, files: readonly IndexedFile[], numbers: Uint32Array) {
    this.#store = store;
    this.#files = files;
    this.#rows = files.reduce((sum, { rows }) => sum + rows.length, 0);
    this.#numbers = numbers;
  }

  of(postings: PostingList): Float64Array {
    const sums = new Float64Array(this.#files.length);
    if (this.#rows * LOOKUP_COST < postings.count) this.#lookUp(postings, sums);
    else this.#read(postings, sums);
    return sums;
  }

  #lookUp(postings: PostingList, sums: Float64Array): void {
    for (const [number, { rows }] of this.#files.entries()) {
      for (const row of rows) {
        const packed = postings.get(row);
        const before = sums[number] ?? 0;
        if (packed !== 0) sums[number] = before + fileShare(packed, before === 0);
      }
    }
  }

  #read(postings: PostingList, sums: Float64Array): void {
    const { slotOf } = this.#store;
    for (const chunk of postings.chunks) {
      const end = (chunk[0] ?? 0) * 2;
      for (let at = 1; at < end; at += 2) {
        const number = (this.#numbers[slotOf[chunk[at] ?? 0] ?? 0] ?? 0) - 1;
        if (number < 0) continue;
        const before = sums[number] ?? 0;
        sums[number] = before + fileShare(chunk[at + 1] ?? 0, before === 0);
      }
    }
  }
}

/**
 * BM25 of each of these admitted files: occurrences weighted by field, the length is that of all bodies and headings,
 * and the idf is the rows' one. `numbers` is working memory by slot, all zeros before and after.
 */
export function fileScores(query: PreparedQuery, files: readonly IndexedFile[], numbers: Uint32Array): Float64Array {
  const { store, view, terms } = query;
  const average = ((view.totals.lengths[TEXT] ?? 0) + (view.totals.lengths[HEADING] ?? 0)) / view.totals.files;
  const scores = new Float64Array(files.length);
  files.forEach(({ slot }, number) => {
    numbers[slot] = number + 1;
  });
  const frequencies = new Frequencies(store, files, numbers);
  for (const { postings, count, idf } of terms) {
    if (postings === undefined) continue;
    frequencies.of(postings).forEach((sum, number) => {
      const length = files[number]?.analysed.titleFrom ?? 0;
      const frequency = sum / (1 - B + (B * length) / Math.max(average, 1));
      scores[number] = (scores[number] ?? 0) + (count * idf * (K1 + 1) * frequency) / (K1 + frequency);
    });
  }
  for (const { slot } of files) numbers[slot] = 0;
  return scores;
}
