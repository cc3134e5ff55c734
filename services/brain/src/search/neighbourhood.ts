import { inverseFrequency } from './bm25.ts';
import type { TextTerms } from './text-terms.ts';

/** Measured 2026-11-26 on Cranfield, CACM and LoCoMo: mean nDCG@10 of hybrid .6110; .6092 with 15, .6057 with 10. */
const NEAREST = 20;
/** So many of the best say what is looked for. */
const BEST = 5;
/**
 * Terms that a larger share of the texts have hardly tell them apart, and cost most. Measured 2026-11-23 on Cranfield, CACM and
 * LoCoMo: mean nDCG@10 of hybrid .5960; .5954 with all terms, .5943 with .5.
 */
const COMMON_SHARE = 0.7;

/** The terms of the texts in order of first appearance, each with the texts that hold it and its weight in each. */
interface Columns {
  readonly count: number;
  /** By term: where its entries begin; those of the last end at the last. */
  readonly starts: Uint32Array;
  /** By entry, in the order of the texts. */
  readonly holders: Uint32Array;
  /** By entry: (1 + ln tf) * idf among these texts. */
  readonly weights: Float64Array;
}

function columnsOf({ texts, ids, starts: of, terms, counts }: TextTerms): Columns {
  const count = ids.length;
  const starts = new Uint32Array(count + 1);
  for (let entry = 0; entry < terms.length; entry += 1) {
    const next = valueAt(terms, entry) + 1;
    starts[next] = valueAt(starts, next) + 1;
  }
  for (let term = 0; term < count; term += 1) starts[term + 1] = valueAt(starts, term) + valueAt(starts, term + 1);
  const ends = starts.slice();
  const holders = new Uint32Array(terms.length);
  const weights = new Float64Array(terms.length);
  for (let text = 0; text < texts; text += 1) {
    const last = valueAt(of, text + 1);
    for (let entry = valueAt(of, text); entry < last; entry += 1) {
      const term = valueAt(terms, entry);
      const at = valueAt(ends, term);
      holders[at] = text;
      weights[at] = valueAt(counts, entry);
      ends[term] = at + 1;
    }
  }
  weigh({ count, starts, weights }, texts);
  return { count, starts, holders, weights };
}

/** Makes weights of frequencies. */
function weigh({ count, starts, weights }: Omit<Columns, 'holders'>, texts: number): void {
  const idfs = Float64Array.from({ length: texts + 1 }, (_, frequency) => inverseFrequency(texts, frequency));
  for (let term = 0; term < count; term += 1) {
    const [from, to] = [valueAt(starts, term), valueAt(starts, term + 1)];
    const idf = valueAt(idfs, to - from);
    for (let at = from; at < to; at += 1) {
      const tf = valueAt(weights, at);
      weights[at] = tf === 1 ? idf : (1 + Math.log(tf)) * idf;
    }
  }
}

function valueAt(values: Float64Array | Uint32Array | readonly number[], index: number): number {
  return values[index] ?? 0;
}

/** Adds a term's products to the upper triangle of the matrix. */
function addProducts({ starts, holders, weights }: Columns, term: number, size: number, matrix: Float64Array): void {
  const to = valueAt(starts, term + 1);
  for (let left = valueAt(starts, term); left < to; left += 1) {
    const base = valueAt(holders, left) * size;
    const weight = valueAt(weights, left);
    for (let right = left; right < to; right += 1) {
      const at = base + valueAt(holders, right);
      matrix[at] = valueAt(matrix, at) + weight * valueAt(weights, right);
    }
  }
}

/** Cosine of each pair of texts, row by row in one square matrix. */
function cosines(texts: TextTerms): Float64Array {
  const size = texts.texts;
  const matrix = new Float64Array(size * size);
  const common = Math.max(NEAREST, size * COMMON_SHARE);
  const columns = columnsOf(texts);
  for (let term = 0; term < columns.count; term += 1) {
    const holders = valueAt(columns.starts, term + 1) - valueAt(columns.starts, term);
    if (holders <= common) addProducts(columns, term, size, matrix);
  }
  const lengths = Float64Array.from({ length: size }, (_, index) => Math.sqrt(valueAt(matrix, index * size + index)));
  for (let left = 0; left < size; left += 1) {
    for (let right = left; right < size; right += 1) {
      const scale = valueAt(lengths, left) * valueAt(lengths, right);
      const cosine = scale > 0 ? valueAt(matrix, left * size + right) / scale : 0;
      matrix[left * size + right] = cosine;
      matrix[right * size + left] = cosine;
    }
  }
  return matrix;
}

/** Indexes of the (at most) NEAREST highest cosines above 0 in other groups, best first, the lower index on a tie. */
function nearestOf(row: Float64Array, self: number, groups: readonly number[]): number[] {
  const nearest: number[] = [];
  let least = 0;
  for (let other = 0; other < row.length; other += 1) {
    const cosine = valueAt(row, other);
    if (cosine <= least || groups[other] === groups[self]) continue;
    let at = nearest.length;
    while (at > 0 && valueAt(row, nearest[at - 1] ?? 0) < cosine) at -= 1;
    if (at < NEAREST) nearest.splice(at, 0, other);
    if (nearest.length > NEAREST) nearest.pop();
    if (nearest.length === NEAREST) least = valueAt(row, nearest[NEAREST - 1] ?? 0);
  }
  return nearest;
}

/** Indexes of the BEST highest, the lower index on a tie. */
function bestOf(scores: Float64Array): number[] {
  const order = [...scores.keys()].sort((left, right) => (scores[right] ?? 0) - (scores[left] ?? 0) || left - right);
  return order.slice(0, BEST);
}

/** Which of a few texts have words in common: everything is measured among these alone. */
export class Neighbourhood {
  readonly #size: number;
  readonly #matrix: Float64Array;
  readonly #groups: readonly number[];

  /** `groups`, of each text: those of one group say nothing of each other. */
  constructor(texts: TextTerms, groups: readonly number[]) {
    this.#size = texts.texts;
    this.#matrix = cosines(texts);
    this.#groups = groups;
  }

  /**
   * For each text: the mean score of its (at most) 20 nearest among those of other groups, weighted by cosine and,
   * where there are fewer, the less for it: a single neighbour says little.
   */
  nearestMeans(scores: Float64Array): Float64Array {
    return scores.map((_, index) => {
      const row = this.#rowOf(index);
      let [sum, weight] = [0, 0];
      const nearest = nearestOf(row, index, this.#groups);
      for (let place = 0; place < nearest.length; place += 1) {
        const other = nearest[place] ?? 0;
        const cosine = row[other] ?? 0;
        sum += cosine * (scores[other] ?? 0);
        weight += cosine;
      }
      return weight > 0 ? (sum / weight) * (nearest.length / NEAREST) : 0;
    });
  }

  /** For each text: how much it is like the five best of all, those of its own group left out; weighted by their scores. */
  likeness(scores: Float64Array): Float64Array {
    const best = bestOf(scores);
    return scores.map((_, index) => {
      const row = this.#rowOf(index);
      let [sum, count] = [0, 0];
      for (const other of best) {
        if (this.#groups[other] === this.#groups[index]) continue;
        sum += (scores[other] ?? 0) * (row[other] ?? 0);
        count += 1;
      }
      return count === 0 ? 0 : sum / count;
    });
  }

  #rowOf(text: number): Float64Array {
    return this.#matrix.subarray(text * this.#size, (text + 1) * this.#size);
  }
}
