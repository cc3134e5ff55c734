/** The common part of the forms of a word. */
import porterStem from 'wink-porter2-stemmer';
import { arabicStem, isArabic } from './arabic-stem.ts';
import { baseForm, unlikeForms } from './irregular-verbs.ts';
import { ownCopy } from './own-copy.ts';

const MAX_STEMMED_LENGTH = 40;
const STEM_CACHE_LIMIT = 32_768;

const stems = new Map<string, string>();

export function isSmallAscii(unit: number): boolean {
  return unit >= 97 && unit <= 122;
}

function isStemmable(word: string): boolean {
  if (word.length < 3 || word.length > MAX_STEMMED_LENGTH) return false;
  for (let index = 0; index < word.length; index += 1) {
    if (!isSmallAscii(word.charCodeAt(index))) return false;
  }
  return true;
}

const ORDINAL = /^(\d{1,4})(?:st|nd|rd|th)$/;
const LONGEST_ORDINAL = 6;

/** `8th` is `8`: days are written both ways. */
function withoutOrdinalEnding(word: string): string {
  const unit = word.charCodeAt(0);
  const mayBeOne = unit >= 48 && unit <= 57 && word.length <= LONGEST_ORDINAL;
  return mayBeOne ? (ORDINAL.exec(word)?.[1] ?? word) : word;
}

/** The Porter2 stem of a folded lower-case word, or its light Arabic one; of an ordinal number the number; words of other letters stay as they are. */
export function stem(word: string): string {
  return isArabic(word) ? arabicStem(word) : latinStem(word);
}

export function latinStem(word: string): string {
  const known = stems.get(word);
  if (known !== undefined) return known;
  if (!isStemmable(word)) return withoutOrdinalEnding(word);
  const own = ownCopy(word);
  const found = porterStem(baseForm(own));
  if (stems.size >= STEM_CACHE_LIMIT) stems.clear();
  stems.set(own, found);
  return found;
}

/** By ASCII unit: whether a word that begins with it may have one of these stems. Only letters of a verb change at its front. */
export function initialsOf(terms: Iterable<string>): Uint8Array {
  const wanted = new Set(terms);
  const initials = new Uint8Array(128);
  for (const term of wanted) if (term.charCodeAt(0) < 128) initials[term.charCodeAt(0)] = 1;
  for (const form of unlikeForms()) if (wanted.has(latinStem(form))) initials[form.charCodeAt(0)] = 1;
  return initials;
}
