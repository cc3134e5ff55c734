/** Working memory of one index, which grows with it; all zeros between queries unless said otherwise. */
import { TEXT } from './fields.ts';
import { grown } from './growable.ts';
import type { PostingList } from './posting-list.ts';
import type { RowStore } from './row-store.ts';
import { bodyNorms } from './row-scores.ts';
import type { PreparedQuery } from './scoring.ts';
import type { View } from './view.ts';

/** Fewer than this share of all rows are cleared one by one. */
const CLEARED_ONE_BY_ONE = 1 / 16;

interface BodyNorms {
  readonly average: number;
  readonly table: Float64Array;
}

export class Workspace {
  /** By row. */
  scores = new Float64Array(0);
  /** What is behind the rows of the query under way is of no meaning. */
  rows = new Uint32Array(0);
  /** By file slot. */
  fileNumbers = new Uint32Array(0);
  /** By term id. */
  termNumbers = new Uint32Array(0);
  /** By file slot, a bit each: whether it was counted. */
  #counted = new Uint32Array(0);
  #norms: BodyNorms = { average: NaN, table: new Float64Array(0) };

  /** Room for so many of each. */
  reserve(rows: number, slots: number, terms: number): void {
    this.scores = grown(this.scores, rows);
    this.rows = grown(this.rows, rows);
    this.fileNumbers = grown(this.fileNumbers, slots);
    this.#counted = grown(this.#counted, Math.ceil(slots / 32));
    this.termNumbers = grown(this.termNumbers, terms);
  }

  /** How many files have these rows and the admitted ones of these lists. */
  countFiles({ store, view }: PreparedQuery, rows: Uint32Array, lists: readonly PostingList[] = []): number {
    this.#counted.fill(0);
    let count = 0;
    for (let index = 0; index < rows.length; index += 1) count += this.#countFile(store.slotOf[rows[index] ?? 0] ?? 0);
    for (const list of lists) count += this.#countListed(store, view, list);
    return count;
  }

  #countListed({ slotOf, chainOf }: RowStore, { mask }: View, { chunks }: PostingList): number {
    let count = 0;
    for (const chunk of chunks) {
      const end = (chunk[0] ?? 0) * 2;
      for (let at = 1; at < end; at += 2) {
        const row = chunk[at] ?? 0;
        if (mask === null || mask[chainOf[row] ?? 0] !== 0) count += this.#countFile(slotOf[row] ?? 0);
      }
    }
    return count;
  }

  /** 1 when it is the first time. */
  #countFile(slot: number): number {
    const before = this.#counted[slot >>> 5] ?? 0;
    const bit = 1 << (slot & 31);
    this.#counted[slot >>> 5] = before | bit;
    return (before & bit) === 0 ? 1 : 0;
  }

  /** K1 times the norm of a body, by its length. */
  bodyNorms({ averages }: View): Float64Array {
    const average = averages[TEXT] ?? 0;
    if (average !== this.#norms.average) this.#norms = { average, table: bodyNorms(average) };
    return this.#norms.table;
  }

  clearScores(rows: Uint32Array): void {
    const { scores } = this;
    if (rows.length > scores.length * CLEARED_ONE_BY_ONE) scores.fill(0);
    else for (const row of rows) scores[row] = 0;
  }
}
