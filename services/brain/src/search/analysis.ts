import { crc32 } from 'node:zlib';
import { foldLetters, foldMarks, isAscii } from './fold-letters.ts';
import { hasLettersSpeltAsTwo, speltAsTwo } from './spelt-as-two.ts';
import { isSmallAscii, stem } from './stem.ts';
import { STOP_WORDS } from './stop-words.ts';

/** Changes whenever the terms or passages of a text change. */
const ANALYSER_VERSION = 9;

/** Of what a text is analysed by; a snapshot of another version is not read. Letters are what Unicode says they are. */
export function analysisVersion(unicode: string | undefined = process.versions.unicode): number {
  return crc32(`${ANALYSER_VERSION} ${unicode ?? ''}`);
}

/** Longer runs are cut to this many UTF-16 units: such text is data, not words, and must not fill the dictionary. */
const MAX_WORD_LENGTH = 64;

const OTHER = 0;
const LOWER = 1;
const UPPER = 2;
const DIGIT = 3;
const CJK = 4;
const JOINER = 5;
const EMOJI = 6;
const UNKNOWN = 255;

/** Character class of each UTF-16 unit, filled on first sight. */
const classes = new Uint8Array(65_536).fill(UNKNOWN);

/** Scripts that are written without blanks between words. */
const UNSPACED = /^[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Hang}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}]$/u;

function classify(character: string): number {
  if (character === '_') return JOINER;
  if (UNSPACED.test(character) && /^[\p{L}\p{N}]$/u.test(character)) return CJK;
  if (/^\p{Extended_Pictographic}$/u.test(character)) return EMOJI;
  if (/^[\p{Lu}\p{Lt}]$/u.test(character)) return UPPER;
  if (/^\p{L}$/u.test(character)) return LOWER;
  return /^\p{N}$/u.test(character) ? DIGIT : OTHER;
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}

/** Both halves of a surrogate pair have the class of the pair; a lone half is OTHER. */
function surrogateClass(text: string, index: number): number {
  const start = isLowSurrogate(text.charCodeAt(index)) ? index - 1 : index;
  const paired = start >= 0 && isHighSurrogate(text.charCodeAt(start)) && isLowSurrogate(text.charCodeAt(start + 1));
  return paired ? classify(text.slice(start, start + 2)) : OTHER;
}

function classAt(text: string, index: number): number {
  const unit = text.charCodeAt(index);
  const known = classes[unit] ?? OTHER;
  if (known !== UNKNOWN) return known;
  if (isHighSurrogate(unit) || isLowSurrogate(unit)) return surrogateClass(text, index);
  const found = classify(String.fromCharCode(unit));
  classes[unit] = found;
  return found;
}

/** Lower case without the final form of sigma, which hangs on the letter's place in its word. */
function lower(word: string): string {
  const small = word.toLowerCase();
  return small.endsWith('ς') ? `${small.slice(0, -1)}σ` : small;
}

function startsPart(text: string, index: number, end: number): boolean {
  if (classAt(text, index) !== UPPER) return false;
  const before = classAt(text, index - 1);
  if (before === LOWER || before === DIGIT) return true;
  return before === UPPER && index + 1 < end && classAt(text, index + 1) === LOWER;
}

function identifierParts(text: string, start: number, end: number): string[] {
  const parts: string[] = [];
  let from = start;
  for (let index = start; index <= end; index += 1) {
    const joiner = index < end && classAt(text, index) === JOINER;
    const boundary = index === end || joiner || (index > from && startsPart(text, index, end));
    if (!boundary) continue;
    if (index > from) parts.push(lower(text.slice(from, index)));
    from = joiner ? index + 1 : index;
  }
  return parts;
}

/** `isRespelt`: it is the word before it in another spelling. */
type WordSink = (word: string, isRespelt: boolean) => void;
type FoldedSink = (word: string) => void;

/** Consumes one run of letters, digits and `_`; a compound gives the whole without `_`, then its parts. */
function scanIdentifier(text: string, start: number, sink: FoldedSink): number {
  let end = start + 1;
  let compound = false;
  for (; end < text.length; end += 1) {
    const found = classAt(text, end);
    if (found === OTHER || found === CJK || found === EMOJI) break;
    compound ||= found === UPPER || found === JOINER;
  }
  if (end - start > MAX_WORD_LENGTH) sink(lower(text.slice(start, start + MAX_WORD_LENGTH)));
  else if (!compound) sink(lower(text.slice(start, end)));
  else {
    const parts = identifierParts(text, start, end);
    sink(parts.join(''));
    if (parts.length > 1) for (const part of parts) sink(part);
  }
  return end;
}

/** Consumes one run of such letters as overlapping pairs; a single letter stands for itself. */
function scanPairs(text: string, start: number, isOfRun: (found: number) => boolean, sink: FoldedSink): number {
  let end = start + 1;
  while (end < text.length && isOfRun(classAt(text, end))) end += 1;
  let previous = '';
  let count = 0;
  for (const letter of text.slice(start, end)) {
    if (count > 0) sink(previous + letter);
    previous = letter;
    count += 1;
  }
  if (count === 1) sink(previous);
  return end;
}

/** About so many UTF-16 units are analysed in a slice's time. */
const PIECE_LENGTH = 16_384;

/** The text cut at blanks, so that the words of the pieces are those of the text. Only a run without blanks is longer. */
export function* textPieces(text: string): Generator<string> {
  for (let from = 0; from < text.length; ) {
    let to = Math.min(from + PIECE_LENGTH, text.length);
    while (to < text.length && text.charCodeAt(to) > 32) to += 1;
    yield text.slice(from, to);
    from = to;
  }
}

/** How many small letters of ASCII a piece begins with, if behind them are only marks that end words: its one word. Else 0. */
export function plainWordLength(piece: string): number {
  let length = 0;
  while (length < piece.length && isSmallAscii(piece.charCodeAt(length))) length += 1;
  for (let index = length; index < piece.length; index += 1) if (!'.,;:!?)'.includes(piece.charAt(index))) return 0;
  return length;
}

/**
 * Calls `sink` with each folded, lower-case, unstemmed word of a text in order; a word with a letter that many spell as
 * two (`ü`) is followed by itself spelt so. Linear in the text.
 */
export function scanWords(text: string, sink: WordSink): void {
  const first = (word: string): void => sink(word, false);
  if (isAscii(text)) {
    scanFolded(text, first);
    return;
  }
  if (!hasLettersSpeltAsTwo(text)) {
    scanFolded(foldLetters(text), first);
    return;
  }
  for (const [piece] of text.matchAll(/\S+/g)) {
    if (hasLettersSpeltAsTwo(piece)) scanRespelt(piece, sink);
    else scanFolded(foldLetters(piece), first);
  }
}

function foldedWords(text: string): string[] {
  const words: string[] = [];
  scanFolded(foldLetters(text), (word) => words.push(word));
  return words;
}

function scanRespelt(piece: string, sink: WordSink): void {
  const [words, others] = [foldedWords(piece), foldedWords(speltAsTwo(piece))];
  // Two letters in the place of a capital one can make other parts of an identifier.
  const isAligned = words.length === others.length;
  for (const [at, word] of words.entries()) {
    sink(word, false);
    const other = others[at] ?? word;
    if (isAligned && other !== word) sink(other, true);
  }
  const known = new Set(words);
  if (!isAligned) for (const other of others) if (!known.has(other)) sink(other, false);
}

/**
 * As `scanWords`, each word once and by marks alone, emoji in pairs as other letters: what was once made of it stays the
 * same over versions.
 */
export function scanBasicWords(text: string, sink: FoldedSink): void {
  const folded = foldMarks(text);
  scanRuns(folded, sink, (index) => scanPairs(folded, index, isLetterOrEmoji, sink));
}

function isLetterOrEmoji(found: number): boolean {
  return found === CJK || found === EMOJI;
}

function isCjk(found: number): boolean {
  return found === CJK;
}

function scanFolded(folded: string, sink: FoldedSink): void {
  scanRuns(folded, sink, (index) => {
    if (classAt(folded, index) === CJK) return scanPairs(folded, index, isCjk, sink);
    const emoji = String.fromCodePoint(folded.codePointAt(index) ?? 0);
    sink(emoji);
    return index + emoji.length;
  });
}

/** `scanUnspaced` consumes what begins with a letter of an unspaced script or an emoji, and answers where that ends. */
function scanRuns(folded: string, sink: FoldedSink, scanUnspaced: (index: number) => number): void {
  let index = 0;
  while (index < folded.length) {
    const found = classAt(folded, index);
    if (found === OTHER || found === JOINER) index += 1;
    else if (found === CJK || found === EMOJI) index = scanUnspaced(index);
    else index = scanIdentifier(folded, index, sink);
  }
}

/** A letter of a script without blanks between words, by itself: other words are pairs of such. */
export function isUnspacedLetter(term: string): boolean {
  return term.length === (isHighSurrogate(term.charCodeAt(0)) ? 2 : 1) && classAt(term, 0) === CJK;
}

/** The terms of a text in order, repeated as often as they occur. */
export function analyse(text: string): string[] {
  const terms: string[] = [];
  scanWords(text, (word) => terms.push(stem(word)));
  return terms;
}

/** Of each place in it, the terms of which one has to stand there: spellings of one word. */
export type Phrase = readonly (readonly string[])[];

export function analysePhrase(text: string): Phrase {
  const places: string[][] = [];
  scanWords(text, (word, isRespelt) => {
    if (isRespelt) places.at(-1)?.push(stem(word));
    else places.push([stem(word)]);
  });
  return places;
}

export interface QueryWord {
  /** Folded lower-case surface form. */
  readonly word: string;
  readonly term: string;
}

/** The words of a query in order. */
export function wordsOfQuery(query: string): QueryWord[] {
  const words: QueryWord[] = [];
  scanWords(query, (word) => words.push({ word, term: stem(word) }));
  return words;
}

/** Those that carry a topic; all where none does. */
export function telling(words: readonly QueryWord[]): readonly QueryWord[] {
  const content = words.filter(({ word }) => !STOP_WORDS.has(word));
  return content.length > 0 ? content : words;
}

/** The words of a query in order, without stop words unless nothing else is left. */
export function analyseQuery(query: string): readonly QueryWord[] {
  return telling(wordsOfQuery(query));
}
