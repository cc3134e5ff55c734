import { scanWords } from './analysis.ts';
import { ownCopy } from './own-copy.ts';
import { splitFile } from './passages.ts';
import type { SplitFile, TextFormat } from './passages.ts';
import { TermDictionary } from './term-dictionary.ts';

/** Numbers per row of AnalysedFile.layout; START and END are byte offsets in its text. */
export const ROW_STRIDE = 6;
export const START = 0;
export const END = 1;
export const FIRST_LINE = 2;
export const LAST_LINE = 3;
/** The row's body terms are tokens[BODY .. HEADINGS), its heading terms follow up to the next row's BODY. */
export const BODY = 4;
export const HEADINGS = 5;

/** One content split and analysed; immutable, shared by every index that holds the same bytes. */
export interface AnalysedFile {
  /** Format and content hash. */
  readonly key: string;
  /** UTF-8. */
  readonly text: Buffer;
  readonly title: string | null;
  readonly rows: number;
  /** ROW_STRIDE numbers per row. */
  readonly layout: Uint32Array;
  /** Term ids: each row's body and headings in order, then the title's, then the tags'. */
  readonly tokens: Uint32Array;
  readonly titleFrom: number;
  readonly tagsFrom: number;
  /** How many index entries hold it. */
  uses: number;
}

/** Body term ids of a row in text order. */
export function bodyTokens(analysed: AnalysedFile, row: number): Uint32Array {
  const at = row * ROW_STRIDE;
  return analysed.tokens.subarray(analysed.layout[at + BODY], analysed.layout[at + HEADINGS]);
}

/** Where a row's body terms and, behind them, its heading terms are. */
export function tokenSpans({ layout, rows, titleFrom }: AnalysedFile, row: number) {
  const at = row * ROW_STRIDE;
  const end = row + 1 < rows ? (layout[at + ROW_STRIDE + BODY] ?? 0) : titleFrom;
  return { body: layout[at + BODY] ?? 0, headings: layout[at + HEADINGS] ?? 0, end };
}

/**
 * Analysed files by content hash, and the dictionary of their terms. Several indexes (the branches of one brain)
 * share one cache; an entry lives as long as an index holds it.
 */
export class AnalysisCache {
  readonly dictionary = new TermDictionary();
  readonly #files = new Map<string, AnalysedFile>();

  /** Number of distinct analysed contents. */
  get size(): number {
    return this.#files.size;
  }

  /** The analysis of `content`, held until `release`. `hash` only finds it; other bytes under it are kept apart. */
  acquire(format: TextFormat, hash: string, content: string): AnalysedFile {
    const key = contentKey(format, hash);
    const text = Buffer.from(content);
    const known = this.#files.get(key);
    if (known?.text.equals(text) === true) {
      known.uses += 1;
      return known;
    }
    const analysed = this.#analyse(key, format, { content, text });
    if (known === undefined) this.#files.set(key, analysed);
    return analysed;
  }

  /** Whether some analysis is held under the key. */
  has(key: string): boolean {
    return this.#files.has(key);
  }

  /** Takes in an entry made elsewhere (a snapshot) whose tokens are ids of this dictionary; held until `release`. */
  restore(entry: Omit<AnalysedFile, 'uses'>): AnalysedFile {
    const known = this.#files.get(entry.key);
    if (known?.text.equals(entry.text) === true) {
      known.uses += 1;
      return known;
    }
    const analysed = { ...entry, uses: 1 };
    this.dictionary.hold(entry.tokens);
    if (known === undefined) this.#files.set(entry.key, analysed);
    return analysed;
  }

  release(analysed: AnalysedFile): void {
    analysed.uses -= 1;
    if (analysed.uses > 0) return;
    if (this.#files.get(analysed.key) === analysed) this.#files.delete(analysed.key);
    this.dictionary.release(analysed.tokens);
  }

  /** Forgets every analysis, whoever holds it; the terms stay, so that the words of other texts are known. */
  shed(): void {
    this.#files.clear();
  }

  #analyse(
    key: string,
    format: TextFormat,
    { content, text }: { readonly content: string; readonly text: Buffer },
  ): AnalysedFile {
    const split = splitFile(format, content);
    const tokens: number[] = [];
    const addTerm = (word: string): void => {
      tokens.push(this.dictionary.retainWord(word));
    };
    const read = (part: string): void => scanWords(part, addTerm);
    const byteAt = bytePositions(content, text.length);
    const layout = new Uint32Array(split.passages.length * ROW_STRIDE);
    split.passages.forEach((passage, row) => {
      const body = tokens.length;
      read(passage.text);
      const { start, end, lines } = passage;
      layout.set([byteAt(start), byteAt(end), lines[0], lines[1], body, tokens.length], row * ROW_STRIDE);
      passage.headings.forEach(read);
    });
    const marks = this.#readLabels(split, tokens, read);
    const { passages } = split;
    const title = split.title === null ? null : ownCopy(split.title);
    return { key, text, title, rows: passages.length, layout, tokens: Uint32Array.from(tokens), ...marks, uses: 1 };
  }

  #readLabels(split: SplitFile, tokens: readonly number[], read: (text: string) => void) {
    const titleFrom = tokens.length;
    read(split.title ?? '');
    const tagsFrom = tokens.length;
    split.tags.forEach(read);
    return { titleFrom, tagsFrom };
  }
}

/** What names one analysis: the same bytes are split differently under another format. */
export function contentKey(format: TextFormat, hash: string): string {
  return `${format}:${hash}`;
}

/** From a place in the content to one in its `bytes` bytes of UTF-8; asked in ascending order. */
function bytePositions(content: string, bytes: number): (index: number) => number {
  if (bytes === content.length) return (index) => index;
  let at = 0;
  let byte = 0;
  return (index) => {
    byte += Buffer.byteLength(content.slice(at, index));
    at = index;
    return byte;
  };
}
