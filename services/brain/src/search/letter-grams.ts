import { foldMarks, isWordUnit } from './analysis.ts';
import { B, K1 } from './bm25.ts';

const SPACE = 32;

/** The 4-gram as one integer; different grams may meet, which is harmless and the same everywhere. */
function mix(a: number, b: number, c: number, d: number): number {
  return Math.imul(Math.imul(Math.imul(a, 0x01000193) ^ b, 0x01000193) ^ c, 0x01000193) ^ d;
}

/** Calls `sink` with the letter 4-grams of each word, a word having one blank before and one behind it. */
function scanGrams(text: string, sink: (gram: number) => void): void {
  const folded = foldMarks(text).toLowerCase();
  let a = 0;
  let b = 0;
  let c = SPACE;
  let length = 0;
  for (let index = 0; index <= folded.length; index += 1) {
    const isWord = index < folded.length && isWordUnit(folded, index);
    if (!isWord && length === 0) continue;
    const unit = isWord ? folded.charCodeAt(index) : SPACE;
    length += 1;
    if (length >= 3) sink(mix(a, b, c, unit));
    [a, b, c] = [b, c, unit];
    if (!isWord) length = 0;
  }
}

/** A query word as written (folded, lower case) and the idf of its term. */
export interface WeightedWord {
  readonly word: string;
  readonly idf: number;
}

/** Each gram of the words, weighted by the highest idf among its words. */
function gramWeights(words: readonly WeightedWord[]): Map<number, number> {
  const weights = new Map<number, number>();
  for (const { word, idf } of words) {
    scanGrams(word, (gram) => weights.set(gram, Math.max(weights.get(gram) ?? 0, idf)));
  }
  return weights;
}

/**
 * BM25 over letter 4-grams of the texts, lengths relative to these texts alone. A gram's idf is that of its query
 * word: grams have no document frequencies of their own.
 */
export function gramScores(texts: readonly string[], words: readonly WeightedWord[]): number[] {
  const weights = gramWeights(words);
  const sieve = new Uint8Array(4_096);
  for (const gram of weights.keys()) sieve[gram & 4_095] = 1;
  const counted = texts.map((text) => {
    const counts = new Map<number, number>();
    let length = 0;
    scanGrams(text, (gram) => {
      length += 1;
      if (sieve[gram & 4_095] === 1 && weights.has(gram)) counts.set(gram, (counts.get(gram) ?? 0) + 1);
    });
    return { counts, length };
  });
  const average = counted.reduce((sum, { length }) => sum + length, 0) / Math.max(texts.length, 1);
  return counted.map(({ counts, length }) => {
    const norm = K1 * (1 - B + (B * length) / Math.max(average, 1));
    let score = 0;
    for (const [gram, weight] of weights) {
      const count = counts.get(gram) ?? 0;
      if (count > 0) score += (weight * count * (K1 + 1)) / (count + norm);
    }
    return score;
  });
}
