import { inverseFrequency } from './bm25.ts';

const NEAREST = 10;
/**
 * Terms that a larger share of the texts have hardly tell them apart, and cost most. Measured 2026-11-23 on Cranfield, CACM and
 * LoCoMo: mean nDCG@10 of hybrid .5960; .5954 with all terms, .5943 with .5.
 */
const COMMON_SHARE = 0.7;

/** A term of the texts with the texts that hold it and its weight in each. */
interface Column {
  readonly texts: number[];
  readonly weights: number[];
}

/** Term columns in order of first appearance, weights (1 + ln tf) * idf among these texts. */
function columnsOf(texts: readonly Uint32Array[], numbers: Uint32Array): Column[] {
  const columns: Column[] = [];
  texts.forEach((tokens, text) => {
    for (const id of tokens) {
      if (numbers[id] === 0) numbers[id] = columns.push({ texts: [], weights: [] });
      const column = columns[(numbers[id] ?? 0) - 1];
      if (column !== undefined) countTerm(column, text);
    }
  });
  for (const tokens of texts) for (const id of tokens) numbers[id] = 0;
  for (const { texts: holders, weights } of columns) {
    const idf = inverseFrequency(texts.length, holders.length);
    weights.forEach((tf, index) => {
      weights[index] = (1 + Math.log(tf)) * idf;
    });
  }
  return columns;
}

function countTerm({ texts, weights }: Column, text: number): void {
  const last = texts.length - 1;
  if (texts[last] === text) weights[last] = (weights[last] ?? 0) + 1;
  else {
    texts.push(text);
    weights.push(1);
  }
}

function valueAt(values: Float64Array | readonly number[], index: number): number {
  return values[index] ?? 0;
}

/** Adds a term's products to the upper triangle of the matrix. */
function addProducts({ texts, weights }: Column, size: number, matrix: Float64Array): void {
  for (let left = 0; left < texts.length; left += 1) {
    const base = valueAt(texts, left) * size;
    const weight = valueAt(weights, left);
    for (let right = left; right < texts.length; right += 1) {
      const at = base + valueAt(texts, right);
      matrix[at] = valueAt(matrix, at) + weight * valueAt(weights, right);
    }
  }
}

/** Cosine of each pair of texts, row by row in one square matrix. */
function cosines(texts: readonly Uint32Array[], numbers: Uint32Array): Float64Array {
  const size = texts.length;
  const matrix = new Float64Array(size * size);
  const common = Math.max(NEAREST, size * COMMON_SHARE);
  for (const column of columnsOf(texts, numbers)) {
    if (column.texts.length <= common) addProducts(column, size, matrix);
  }
  const lengths = texts.map((_, index) => Math.sqrt(valueAt(matrix, index * size + index)));
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
  for (let other = 0; other < row.length; other += 1) {
    const cosine = valueAt(row, other);
    if (cosine <= 0 || groups[other] === groups[self]) continue;
    let at = nearest.length;
    while (at > 0 && valueAt(row, nearest[at - 1] ?? 0) < cosine) at -= 1;
    if (at < NEAREST) nearest.splice(at, 0, other);
    if (nearest.length > NEAREST) nearest.pop();
  }
  return nearest;
}

export interface ScoredTexts {
  readonly texts: readonly Uint32Array[];
  /** Of each text: those of one group say nothing of each other. */
  readonly groups: readonly number[];
  readonly scores: readonly number[];
}

/**
 * For each text: the mean score of its (at most) 10 nearest among those of other groups, weighted by cosine and,
 * where there are fewer, the less for it: a single neighbour says little. Everything is measured among the given texts
 * alone.
 * `numbers` is working memory: room for every term id, all zeros before and after.
 */
export function nearestMeans({ texts, groups, scores }: ScoredTexts, numbers: Uint32Array): number[] {
  const size = texts.length;
  const matrix = cosines(texts, numbers);
  return texts.map((_, index) => {
    const row = matrix.subarray(index * size, (index + 1) * size);
    let sum = 0;
    let weight = 0;
    const nearest = nearestOf(row, index, groups);
    for (const other of nearest) {
      sum += valueAt(row, other) * valueAt(scores, other);
      weight += valueAt(row, other);
    }
    return weight > 0 ? (sum / weight) * (nearest.length / NEAREST) : 0;
  });
}
