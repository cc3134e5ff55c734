import { B, K1 } from './bm25.ts';
import { grown } from './growable.ts';
import type { TextTerms } from './text-terms.ts';

const SPACE = 32;
/** Bits of the sieve through which a gram goes before it is looked up: most grams of a text are none of the query's. */
const SIEVE = 4096;

/** The 4-gram as one integer; different grams may meet, which is harmless and the same everywhere. */
function mix(a: number, b: number, c: number, d: number): number {
  return Math.imul(Math.imul(Math.imul(a, 0x01000193) ^ b, 0x01000193) ^ c, 0x01000193) ^ d;
}

/** Writes the letter 4-grams of a term with a blank before and behind it; returns how many there are. */
function readGrams(units: ArrayLike<number>, into: Int32Array): number {
  const { length } = units;
  let [a, b, c] = [0, 0, SPACE];
  for (let index = 0; index <= length; index += 1) {
    const unit = index < length ? (units[index] ?? 0) : SPACE;
    if (index >= 2) into[index - 2] = mix(a, b, c, unit);
    a = b;
    b = c;
    c = unit;
  }
  return Math.max(length - 1, 0);
}

function unitsOfText(text: string): number[] {
  return Array.from({ length: text.length }, (_, index) => text.charCodeAt(index));
}

/** A distinct term of a query and its idf. */
export interface WeightedTerm {
  readonly term: string;
  readonly idf: number;
}

/** The grams of a query's terms, numbered, each weighted by the highest idf among its terms, and which of them other terms have. */
class QueryGrams {
  readonly weights: number[] = [];
  readonly #numbers = new Map<number, number>();
  readonly #sieve = new Uint8Array(SIEVE);
  /** Of the terms that were looked at, one behind the other: the numbers of the query's grams that they have. */
  shared = new Uint32Array(1024);
  #used = 0;
  /** By term: where its numbers begin in `shared`; those of the last end at the last. */
  readonly starts: Uint32Array;
  /** By term: how many grams it has at all. */
  readonly lengths: Uint32Array;
  #terms = 0;
  #grams = new Int32Array(64);

  /** `most` = other terms that are looked at. */
  constructor(terms: readonly WeightedTerm[], most: number) {
    this.starts = new Uint32Array(most + 1);
    this.lengths = new Uint32Array(most);
    for (const { term, idf } of terms) {
      for (const gram of this.#gramsOf(unitsOfText(term))) {
        const number = this.#numbers.get(gram) ?? this.weights.length;
        this.#numbers.set(gram, number);
        this.#sieve[gram & (SIEVE - 1)] = 1;
        this.weights[number] = Math.max(this.weights[number] ?? 0, idf);
      }
    }
  }

  /** The terms have places in the order in which they are looked at. */
  look(units: ArrayLike<number>): void {
    const place = this.#terms++;
    const grams = this.#gramsOf(units);
    this.shared = grown(this.shared, this.#used + grams.length);
    for (let index = 0; index < grams.length; index += 1) {
      const gram = grams[index] ?? 0;
      if (this.#sieve[gram & (SIEVE - 1)] === 0) continue;
      const number = this.#numbers.get(gram);
      if (number !== undefined) this.shared[this.#used++] = number;
    }
    this.lengths[place] = grams.length;
    this.starts[this.#terms] = this.#used;
  }

  /** To be used at once. */
  #gramsOf(units: ArrayLike<number>): Int32Array {
    this.#grams = grown(this.#grams, units.length);
    return this.#grams.subarray(0, readGrams(units, this.#grams));
  }
}

/** By the query's grams, how often one text has each, and how many grams it has at all. */
interface CountedGrams {
  readonly counts: Float64Array;
  readonly length: number;
}

function gramsOfText({ starts: of, terms, counts: times }: TextTerms, text: number, grams: QueryGrams): CountedGrams {
  const { weights, shared, starts, lengths } = grams;
  const counts = new Float64Array(weights.length);
  let length = 0;
  const last = of[text + 1] ?? 0;
  for (let entry = of[text] ?? 0; entry < last; entry += 1) {
    const place = terms[entry] ?? 0;
    const often = times[entry] ?? 0;
    length += often * (lengths[place] ?? 0);
    const end = starts[place + 1] ?? 0;
    for (let at = starts[place] ?? 0; at < end; at += 1) {
      const number = shared[at] ?? 0;
      counts[number] = (counts[number] ?? 0) + often;
    }
  }
  return { counts, length };
}

/**
 * BM25 over letter 4-grams of the terms of the texts, lengths relative to these texts alone. A gram's idf is that of
 * its query term: grams have no document frequencies of their own. Each distinct term of the texts is looked at once.
 * `unitsOf`: the UTF-16 units of a term, used at once.
 */
export function gramScores(
  texts: TextTerms,
  terms: readonly WeightedTerm[],
  unitsOf: (id: number) => ArrayLike<number>,
): number[] {
  const grams = new QueryGrams(terms, texts.ids.length);
  for (const id of texts.ids) grams.look(unitsOf(id));
  const counted = Array.from({ length: texts.texts }, (_, text) => gramsOfText(texts, text, grams));
  const average = counted.reduce((sum, { length }) => sum + length, 0) / Math.max(texts.texts, 1);
  return counted.map(({ counts, length }) => {
    const norm = K1 * (1 - B + (B * length) / Math.max(average, 1));
    let score = 0;
    for (let number = 0; number < counts.length; number += 1) {
      const count = counts[number] ?? 0;
      if (count > 0) score += ((grams.weights[number] ?? 0) * count * (K1 + 1)) / (count + norm);
    }
    return score;
  });
}
