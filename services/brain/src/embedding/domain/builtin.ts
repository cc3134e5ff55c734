/**
 * The embedder that needs neither a model nor a network: what a text is made of, hashed into a fixed number of
 * dimensions. Stems and their pairs carry most, letter grams bring near what is spelled alike. The same text gives the
 * same vector on every node and version.
 */
import { scanWords, stem } from '../../search/analysis.ts';

export const BUILTIN_MODEL = 'builtin-512-v1';
export const DIMENSIONS = 512;

const PAIR_WEIGHT = 0.5;
const GRAM_WEIGHT = 0.4;
const GRAM_LENGTHS = [3, 4] as const;
const DIGITS = 1e6;

/** What a text is made of, with its weight. */
type Features = Map<string, number>;

/** Rounded to six decimals; of length 1, or all zeros for a text without words. */
export function embed(text: string): number[] {
  return [...directionOf(text)].map(rounded);
}

/** The cosine, -1 to 1, rounded to six decimals; 0 when one of them has no words. */
export function similarity(textA: string, textB: string): number {
  const b = directionOf(textB);
  return rounded(
    Math.max(
      -1,
      Math.min(
        1,
        directionOf(textA).reduce((sum, value, at) => sum + value * (b[at] ?? 0), 0),
      ),
    ),
  );
}

function directionOf(text: string): Float64Array {
  const vector = new Float64Array(DIMENSIONS);
  for (const [feature, weight] of featuresOf(text)) {
    const hash = hashOf(feature);
    // The lowest bits choose the dimension, another one the sign, so that what meets by chance cancels out.
    const at = hash % DIMENSIONS;
    vector[at] = (vector[at] ?? 0) + (hash & 0x10000 ? weight : -weight);
  }
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
  return length > 0 ? vector.map((value) => value / length) : vector;
}

function featuresOf(text: string): Features {
  const counts: Features = new Map();
  const weights: Features = new Map();
  const add = (feature: string, weight: number): void => {
    counts.set(feature, (counts.get(feature) ?? 0) + 1);
    weights.set(feature, weight);
  };
  let before: string | null = null;
  scanWords(text, (word) => {
    const term = stem(word);
    add(`s${term}`, 1);
    if (before !== null) add(`p${before} ${term}`, PAIR_WEIGHT);
    before = term;
    addGrams(` ${word} `, add);
  });
  for (const [feature, count] of counts) weights.set(feature, (weights.get(feature) ?? 0) * (1 + Math.log(count)));
  return weights;
}

/** All grams of a word together weigh less than its stem, however long it is. */
function addGrams(word: string, add: (feature: string, weight: number) => void): void {
  const letters = Array.from(word);
  const weight = GRAM_WEIGHT / Math.sqrt(letters.length);
  for (const length of GRAM_LENGTHS)
    for (let from = 0; from + length <= letters.length; from += 1)
      add(`g${letters.slice(from, from + length).join('')}`, weight);
}

/** FNV-1a over UTF-16 units, with its bits mixed so that also the lowest ones depend on all. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

function rounded(value: number): number {
  return Math.round(value * DIGITS) / DIGITS + 0; // no negative zero
}
