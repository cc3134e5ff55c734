/**
 * The embedder that needs neither a model nor a network: what a text is made of, hashed into a fixed number of
 * dimensions. Stems and their pairs carry most, letter grams bring near what is spelled alike. The same text gives the
 * same vector on every node and version.
 */
import { LRUCache } from 'lru-cache';
import { scanBasicWords } from '../../search/analysis.ts';
import { latinStem } from '../../search/stem.ts';
import { ownCopy } from '../../search/own-copy.ts';
import { cosineOf, rounded } from './cosine.ts';
import { FeatureCounts } from './feature-counts.ts';

export const BUILTIN_MODEL = 'builtin-512-v1';
export const DIMENSIONS = 512;

const PAIR_WEIGHT = 0.5;
const GRAM_WEIGHT = 0.4;
const GRAM_LENGTHS = [3, 4] as const;

/** What the text in hand is made of, by its hash. */
const features = new FeatureCounts();

/** Rounded to six decimals; of length 1, or all zeros for a text without words. */
export function embed(text: string): number[] {
  return [...directionOf(text)].map(rounded);
}

/** The cosine, -1 to 1, rounded to six decimals; 0 when one of them has no words. */
export function similarity(textA: string, textB: string): number {
  return rounded(cosineOf(directionOf(textA), directionOf(textB)));
}

/** Of length 1, or all zeros for a text without words. */
export function directionOf(text: string): Float64Array {
  const vector = new Float64Array(DIMENSIONS);
  countFeatures(text);
  features.drain((hash, weight, count) => {
    // The lowest bits choose the dimension, another one the sign, so that what meets by chance cancels out.
    const at = hash % DIMENSIONS;
    const share = weight * (1 + Math.log(count));
    vector[at] = (vector[at] ?? 0) + (hash & 0x10000 ? share : -share);
  });
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
  return length > 0 ? vector.map((value) => value / length) : vector;
}

function countFeatures(text: string): void {
  let before: string | null = null;
  scanBasicWords(text, (word) => {
    const { term, stemHash, grams, gramWeight } = wordFeatures(word);
    features.add(stemHash, 1);
    if (before !== null) features.add(hashOf(`p${before} ${term}`), PAIR_WEIGHT);
    before = term;
    for (const gram of grams) features.add(gram, gramWeight);
  });
}

interface WordFeatures {
  readonly term: string;
  readonly stemHash: number;
  readonly grams: Uint32Array;
  readonly gramWeight: number;
}

/** Few words make up most of all texts. */
const known = new LRUCache<string, WordFeatures>({ max: 20_000 });

function wordFeatures(word: string): WordFeatures {
  const found = known.get(word);
  if (found !== undefined) return found;
  const own = ownCopy(word);
  const term = latinStem(own);
  const letters = Array.from(` ${own} `);
  // All grams of a word together weigh less than its stem, however long it is.
  const gramWeight = GRAM_WEIGHT / Math.sqrt(letters.length);
  const made = { term, stemHash: hashOf(`s${term}`), grams: gramsOf(letters), gramWeight };
  known.set(own, made);
  return made;
}

function gramsOf(letters: readonly string[]): Uint32Array {
  const grams: number[] = [];
  for (const length of GRAM_LENGTHS)
    for (let from = 0; from + length <= letters.length; from += 1)
      grams.push(hashOf(`g${letters.slice(from, from + length).join('')}`));
  return Uint32Array.from(grams);
}

/** FNV-1a over UTF-16 units, with its bits mixed so that also the lowest ones depend on all. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
