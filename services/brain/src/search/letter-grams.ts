import { B, K1 } from './bm25.ts';

const SPACE = 32;

/** The 4-gram as one integer; different grams may meet, which is harmless and the same everywhere. */
function mix(a: number, b: number, c: number, d: number): number {
  return Math.imul(Math.imul(Math.imul(a, 0x01000193) ^ b, 0x01000193) ^ c, 0x01000193) ^ d;
}

/** Calls `sink` with the letter 4-grams of a term with a blank before and behind it; returns how many there are. */
function scanGrams(term: string, sink: (gram: number) => void): number {
  let [a, b, c] = [0, 0, SPACE];
  for (let index = 0; index <= term.length; index += 1) {
    const unit = index < term.length ? term.charCodeAt(index) : SPACE;
    if (index >= 2) sink(mix(a, b, c, unit));
    [a, b, c] = [b, c, unit];
  }
  return Math.max(term.length - 1, 0);
}

/** A distinct term of a query and its idf. */
export interface WeightedTerm {
  readonly term: string;
  readonly idf: number;
}

/** The grams of the terms, numbered, each weighted by the highest idf among its terms. */
class QueryGrams {
  readonly weights: number[] = [];
  readonly #numbers = new Map<number, number>();

  constructor(terms: readonly WeightedTerm[]) {
    for (const { term, idf } of terms) {
      scanGrams(term, (gram) => {
        const number = this.#numbers.get(gram) ?? this.weights.length;
        this.#numbers.set(gram, number);
        this.weights[number] = Math.max(this.weights[number] ?? 0, idf);
      });
    }
  }

  /** The numbers of those that a term has, and how many grams it has at all. */
  of(term: string): TermGrams {
    const shared: number[] = [];
    const length = scanGrams(term, (gram) => {
      const number = this.#numbers.get(gram);
      if (number !== undefined) shared.push(number);
    });
    return { shared, length };
  }
}

interface TermGrams {
  readonly shared: readonly number[];
  readonly length: number;
}

/**
 * BM25 over letter 4-grams of the terms of the texts, lengths relative to these texts alone. A gram's idf is that of
 * its query term: grams have no document frequencies of their own. Each distinct term of the texts is looked at once.
 * `numbers` is working memory: room for every term id, all zeros before and after.
 */
export function gramScores(
  texts: readonly Uint32Array[],
  terms: readonly WeightedTerm[],
  { termOf, numbers }: { readonly termOf: (id: number) => string; readonly numbers: Uint32Array },
): number[] {
  const grams = new QueryGrams(terms);
  const known: TermGrams[] = [];
  const counted = texts.map((tokens) => {
    const counts = new Float64Array(grams.weights.length);
    let length = 0;
    for (const id of tokens) {
      if (numbers[id] === 0) numbers[id] = known.push(grams.of(termOf(id)));
      const found = known[(numbers[id] ?? 0) - 1];
      if (found === undefined) continue;
      length += found.length;
      for (const number of found.shared) counts[number] = (counts[number] ?? 0) + 1;
    }
    return { counts, length };
  });
  for (const tokens of texts) for (const id of tokens) numbers[id] = 0;
  const average = counted.reduce((sum, { length }) => sum + length, 0) / Math.max(texts.length, 1);
  return counted.map(({ counts, length }) => {
    const norm = K1 * (1 - B + (B * length) / Math.max(average, 1));
    let score = 0;
    counts.forEach((count, number) => {
      if (count > 0) score += ((grams.weights[number] ?? 0) * count * (K1 + 1)) / (count + norm);
    });
    return score;
  });
}
