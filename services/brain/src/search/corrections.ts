/** What a word that nothing has was probably meant to be. */
import { editDistance } from './edit-distance.ts';
import type { RowStore } from './row-store.ts';
import { lettersOf } from './term-dictionary.ts';
import { rowsOfTerm, type View } from './view.ts';

/**
 * Shorter words are too near to too many. Measured 2026-11-23 on Cranfield, CACM and LoCoMo: one wrong letter in a query
 * costs .010 nDCG@10 instead of .024, and queries as they are .0005; from five letters on it costs .013.
 */
const SHORTEST = 4;
/** From this length on two letters may be wrong. */
const LONG = 8;
const WORD = /^\p{L}+$/u;

/**
 * The nearest term of the admitted rows with the same first letter, then the one that most of them have, then the
 * first in order; null when none is near. Identifiers, numbers and short words are never corrected.
 */
export function correctionOf(store: RowStore, view: View, term: string): string | null {
  if (!isCorrectable(term)) return null;
  const { dictionary } = store.cache;
  const most = mostWrong(term);
  const letters = lettersOf(term);
  // A wrong letter is one that is missing and one too many.
  const mayBeNear = (others: number): boolean => bitsOf(letters ^ others) <= 2 * most;
  let best: Near = { term: '', distance: most, count: 0 };
  const unit = term.charCodeAt(0);
  for (const id of dictionary.idsStarting(unit, term.length - most, term.length + most, mayBeNear)) {
    const other = dictionary.termOf(id);
    const distance = WORD.test(other) ? editDistance(term, other, best.distance) : Infinity;
    if (distance > best.distance) continue;
    const found = { term: other, distance, count: rowsOfTerm(store, view, id) };
    if (found.count > 0 && (best.count === 0 || isNearer(found, best))) best = found;
  }
  return best.count === 0 ? null : best.term;
}

/** Of what several indexes have for a word, the nearest, then the first; null when there is nothing. */
export function nearestMeant(term: string, found: readonly string[]): string | null {
  const most = mostWrong(term);
  const distances = found.map((other) => editDistance(term, other, most));
  return found[distances.indexOf(Math.min(...distances))] ?? null;
}

function mostWrong(term: string): number {
  return term.length < LONG ? 1 : 2;
}

/** How many are set in 32 of them. */
function bitsOf(bits: number): number {
  const pairs = bits - ((bits >>> 1) & 0x55555555);
  const nibbles = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333);
  return Math.imul((nibbles + (nibbles >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

function isCorrectable(term: string): boolean {
  return term.length >= SHORTEST && WORD.test(term);
}

interface Near {
  readonly term: string;
  readonly distance: number;
  /** Admitted rows that have it. */
  readonly count: number;
}

function isNearer(one: Near, other: Near): boolean {
  if (one.distance !== other.distance) return one.distance < other.distance;
  return one.count === other.count ? one.term < other.term : one.count > other.count;
}
