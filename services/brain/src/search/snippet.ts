/** The sentences of a passage that say most of what was asked. */
import { plainWordLength, scanWords } from './analysis.ts';
import { sentenceSpans } from './sentences.ts';

const SNIPPET_LENGTH = 240;
/** Text without blanks is looked at in pieces of this many units. */
const PIECE_LENGTH = 32;

/** What is asked for; `idf` = what it is worth to be shown. */
export interface SoughtTerm {
  readonly idf: number;
}

/** What of the query a word of the text stands for. */
export type SoughtOf = (word: string) => SoughtTerm | undefined;

interface Hit {
  readonly start: number;
  readonly end: number;
  readonly sought: readonly SoughtTerm[];
}

interface Sentence {
  readonly start: number;
  readonly end: number;
  readonly hits: readonly Hit[];
}

/** A part of the text, and what it is worth: the idf of all that it shows, each once. */
interface Part {
  readonly start: number;
  readonly end: number;
  readonly gain: number;
}

const NO_TERMS: readonly SoughtTerm[] = [];
const NOTHING: Part = { start: 0, end: 0, gain: 0 };

function soughtIn(piece: string, soughtOf: SoughtOf): readonly SoughtTerm[] {
  const length = plainWordLength(piece);
  if (length > 0) {
    const found = soughtOf(length === piece.length ? piece : piece.slice(0, length));
    return found === undefined ? NO_TERMS : [found];
  }
  const sought: SoughtTerm[] = [];
  scanWords(piece, (word) => {
    const found = soughtOf(word);
    if (found !== undefined) sought.push(found);
  });
  return sought;
}

function hitsIn(text: string, start: number, end: number, soughtOf: SoughtOf): Hit[] {
  const hits: Hit[] = [];
  for (const match of text.slice(start, end).matchAll(/\S+/g)) {
    for (let from = 0; from < match[0].length; from += PIECE_LENGTH) {
      const piece = match[0].slice(from, from + PIECE_LENGTH);
      const sought = soughtIn(piece, soughtOf);
      const at = start + match.index + from;
      if (sought.length > 0) hits.push({ start: at, end: at + piece.length, sought });
    }
  }
  return hits;
}

/** Counts each sought term once. */
class Gain {
  readonly #seen = new Set<SoughtTerm>();
  sum = 0;

  add({ sought }: Hit): void {
    for (const term of sought) {
      if (!this.#seen.has(term)) this.sum += term.idf;
      this.#seen.add(term);
    }
  }
}

/** The whole sentences in a row that are worth most, then the shortest, then the first; NOTHING when none has a hit. */
function bestSentences(sentences: readonly Sentence[]): Part {
  let best = NOTHING;
  for (const [first, { start }] of sentences.entries()) {
    const gain = new Gain();
    for (let next = first; next < sentences.length; next += 1) {
      const { end, hits } = sentences[next] ?? { end: Infinity, hits: [] };
      if (end - start > SNIPPET_LENGTH) break;
      for (const hit of hits) gain.add(hit);
      const isShorter = gain.sum === best.gain && end - start < best.end - best.start;
      if (gain.sum > best.gain || isShorter) best = { start, end, gain: gain.sum };
    }
  }
  return best;
}

/** Of one sentence, from hit to hit: what is worth most, the first on a tie. */
function bestWindow(hits: readonly Hit[]): Part {
  let best = NOTHING;
  for (const [first, { start }] of hits.entries()) {
    const gain = new Gain();
    for (let next = first; next < hits.length; next += 1) {
      const hit = hits[next];
      if (hit === undefined || hit.end - start > SNIPPET_LENGTH) break;
      gain.add(hit);
      if (gain.sum > best.gain) best = { start, end: hit.end, gain: gain.sum };
    }
  }
  return best;
}

function isBlank(text: string, index: number): boolean {
  return index < 0 || index >= text.length || /\s/.test(text.charAt(index));
}

/** Moves a cut inwards to the next word limit, at most PIECE_LENGTH units, else off the middle of a surrogate pair. */
function wordLimit(text: string, at: number, step: 1 | -1): number {
  for (let moved = 0; moved <= PIECE_LENGTH; moved += 1) {
    const index = at + moved * step;
    if (index <= 0 || index >= text.length || isBlank(text, index) || isBlank(text, index - 1)) return index;
  }
  const unit = text.charCodeAt(at);
  return unit >= 0xdc00 && unit <= 0xdfff ? at + step : at;
}

function shown(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}

/** About 240 units around a part of a sentence that is longer. */
function cutSentence(sentence: string, { start, end }: Part): string {
  const spare = Math.max(SNIPPET_LENGTH - (end - start), 0);
  const lead = Math.min(start, Math.floor(spare / 3));
  const latest = Math.max(sentence.length - SNIPPET_LENGTH, 0);
  const from = Math.min(start - lead, latest);
  const to = Math.min(from + SNIPPET_LENGTH, sentence.length);
  const cutFrom = from > 0 ? Math.min(wordLimit(sentence, from, 1), start) : 0;
  const cutTo = to < sentence.length ? Math.max(wordLimit(sentence, to, -1), end) : sentence.length;
  const isEnd = cutTo === sentence.length;
  return `${cutFrom > 0 ? '…' : ''}${shown(sentence.slice(cutFrom, cutTo))}${isEnd ? '' : '…'}`;
}

/** With the sentences behind it that there is room for, then those before it. */
function withNeighbours(text: string, { start, end }: Part, sentences: readonly Sentence[]): string {
  let [from, to] = [start, end];
  for (const next of sentences) if (next.start >= to && next.end - from <= SNIPPET_LENGTH) to = next.end;
  for (const before of sentences.toReversed())
    if (before.end <= from && to - before.start <= SNIPPET_LENGTH) from = before.start;
  return shown(text.slice(from, to));
}

/**
 * Of a passage whole sentences, together at most 240 units, that have the most of what was asked; of a longer sentence
 * about so many units of it, with `…` where it is cut. White space as single blanks.
 */
export function snippetOf(text: string, soughtOf: SoughtOf): string {
  const sentences = Array.from(sentenceSpans(text), ([start, end]): Sentence => {
    return { start, end, hits: hitsIn(text, start, end, soughtOf) };
  });
  let best = bestSentences(sentences);
  let cut: Sentence | null = null;
  for (const sentence of sentences) {
    const part = sentence.end - sentence.start > SNIPPET_LENGTH ? bestWindow(sentence.hits) : NOTHING;
    if (part.gain > best.gain) [best, cut] = [part, sentence];
  }
  const [first] = sentences;
  if (cut === null && best.gain > 0) return withNeighbours(text, best, sentences);
  if (cut === null && first !== undefined && first.end - first.start <= SNIPPET_LENGTH)
    return withNeighbours(text, { ...first, gain: 0 }, sentences);
  const { start, end } = cut ?? first ?? NOTHING;
  const part = { start: Math.max(best.start - start, 0), end: Math.max(best.end - start, 0), gain: best.gain };
  return cutSentence(text.slice(start, end), part);
}
