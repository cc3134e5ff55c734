/**
 * Analysed contents as bytes that stand for themselves: what a snapshot is made of, and what another thread hands over.
 * Nine u32 (see HEADER), a directory in JSON, then the numbers, then the texts.
 */
import { crc32 } from 'node:zlib';
import type { AnalysedFile, AnalysisCache } from './analysis-cache.ts';
import { ANALYSER_VERSION } from './analysis.ts';
import { grown } from './growable.ts';
import type { TermDictionary } from './term-dictionary.ts';

const HEADER = ['magic', 'format', 'analyser', 'checksum', 'directory', 'heads', 'layouts', 'tokens', 'texts'] as const;
export const HEADER_BYTES = HEADER.length * 4;
const MAGIC = 0x53564249;
const FORMAT = 2;
/** Numbers of one content among the heads: text bytes, rows, length of layout and tokens, titleFrom, tagsFrom. */
const HEAD_STRIDE = 6;

interface Directory {
  /** Terms of the blocks directly before that this one counts on, and its own, numbered behind them. */
  readonly termsBefore: number;
  readonly terms: readonly string[];
  /** Of each content. */
  readonly keys: readonly string[];
  readonly titles: readonly (string | null)[];
  /** Of each file: its path and the number of its content. */
  readonly files: readonly string[];
  readonly contents: readonly number[];
  readonly deleted: readonly string[];
}

export interface BlockContents {
  /** Distinct. */
  readonly analyses: readonly AnalysedFile[];
  readonly files: readonly { readonly file: string; readonly analysed: AnalysedFile }[];
  /** Paths that were in an earlier block. */
  readonly deleted: readonly string[];
}

/** Section sizes are multiples of four, so that the numbers can be viewed in place. */
function padded(length: number): number {
  return Math.ceil(length / 4) * 4;
}

/** Numbers of the dictionary's terms as a run of blocks counts them, given in order of first use. */
export class TermNumbers {
  readonly #dictionary: TermDictionary;
  readonly #terms: string[] = [];
  /** By term id: number + 1. */
  #numbers = new Uint32Array(0);
  #written = 0;

  constructor(dictionary: TermDictionary) {
    this.#dictionary = dictionary;
  }

  numbersOf(ids: Uint32Array): Uint32Array {
    this.#numbers = grown(this.#numbers, this.#dictionary.idBound);
    return ids.map((id) => this.#numberOf(id));
  }

  /** What no block has written so far. */
  takeNew(): { termsBefore: number; terms: string[] } {
    const termsBefore = this.#written;
    this.#written = this.#terms.length;
    return { termsBefore, terms: this.#terms.slice(termsBefore) };
  }

  #numberOf(id: number): number {
    const known = this.#numbers[id] ?? 0;
    const term = this.#dictionary.termOf(id);
    // Between two blocks an id may have become another term's.
    if (known > 0 && this.#terms[known - 1] === term) return known - 1;
    this.#numbers[id] = this.#terms.push(term);
    return this.#terms.length - 1;
  }
}

function writeNumbers(target: Uint32Array, columns: readonly Uint32Array[]): void {
  let at = 0;
  for (const column of columns) {
    target.set(column, at);
    at += column.length;
  }
}

function lengthOf(columns: readonly { readonly length: number }[]): number {
  return columns.reduce((sum, { length }) => sum + length, 0);
}

/** All of it at once: a few milliseconds for each megabyte. The first of a run of blocks has new `numbers`. */
export function encodeBlock(numbers: TermNumbers, { analyses, files, deleted }: BlockContents): Uint8Array {
  const tokens = analyses.map((analysed) => numbers.numbersOf(analysed.tokens));
  const layouts = analyses.map(({ layout }) => layout);
  const heads = analyses.map(({ text, rows, layout, tokens: own, titleFrom, tagsFrom }) =>
    Uint32Array.of(text.length, rows, layout.length, own.length, titleFrom, tagsFrom),
  );
  const places = new Map(analyses.map((analysed, place) => [analysed, place]));
  const directory: Directory = {
    ...numbers.takeNew(),
    keys: analyses.map(({ key }) => key),
    titles: analyses.map(({ title }) => title),
    files: files.map(({ file }) => file),
    contents: files.map(({ analysed }) => places.get(analysed) ?? 0),
    deleted,
  };
  const json = Buffer.from(JSON.stringify(directory));
  const texts = analyses.map(({ text }) => text);
  const sizes = [
    padded(json.length),
    lengthOf(heads) * 4,
    lengthOf(layouts) * 4,
    lengthOf(tokens) * 4,
    padded(lengthOf(texts)),
  ];
  const block = new Uint8Array(HEADER_BYTES + sizes.reduce((sum, size) => sum + size, 0)).fill(32, HEADER_BYTES);
  block.set(json, HEADER_BYTES);
  const numbersAt = HEADER_BYTES + padded(json.length);
  writeNumbers(new Uint32Array(block.buffer, numbersAt), [...heads, ...layouts, ...tokens]);
  let at = block.length - padded(lengthOf(texts));
  for (const text of texts) {
    block.set(text, at);
    at += text.length;
  }
  const checksum = crc32(block.subarray(HEADER_BYTES));
  new Uint32Array(block.buffer, 0, HEADER.length).set([MAGIC, FORMAT, ANALYSER_VERSION, checksum, ...sizes]);
  return block;
}

/** Bytes of the block that starts with this header, null when none of this format and version does. */
export function blockLength(header: Uint8Array, analyserVersion: number = ANALYSER_VERSION): number | null {
  if (header.length < HEADER_BYTES) return null;
  const [magic, format, analyser, _checksum, ...sizes] = new Uint32Array(
    header.buffer.slice(header.byteOffset, header.byteOffset + HEADER_BYTES),
  );
  if (magic !== MAGIC || format !== FORMAT || analyser !== analyserVersion) return null;
  return HEADER_BYTES + sizes.reduce((sum, size) => sum + size, 0);
}

/** A block whose checksum was right. What is restored from it is changed in place, so it is restored once. */
export class Block {
  readonly files: readonly string[];
  readonly deleted: readonly string[];
  /** Number of contents. */
  readonly size: number;
  readonly #directory: Directory;
  readonly #heads: Uint32Array;
  readonly #layouts: Uint32Array;
  readonly #tokens: Uint32Array;
  readonly #texts: Buffer;

  /** Null when it is damaged. */
  static read(bytes: Uint8Array): Block | null {
    // The numbers need alignment.
    const whole = bytes.byteOffset % 4 === 0 ? bytes : Uint8Array.from(bytes);
    if (blockLength(whole) !== whole.length) return null;
    const header = new Uint32Array(whole.buffer, whole.byteOffset, HEADER.length);
    return crc32(whole.subarray(HEADER_BYTES)) === header[3] ? new Block(whole, header) : null;
  }

  private constructor({ buffer, byteOffset }: Uint8Array, header: Uint32Array) {
    const [directory = 0, heads = 0, layouts = 0, tokens = 0, texts = 0] = header.subarray(4);
    let at = byteOffset + HEADER_BYTES;
    const json = Buffer.from(buffer, at, directory).toString();
    at += directory;
    this.#heads = new Uint32Array(buffer, at, heads / 4);
    at += heads;
    this.#layouts = new Uint32Array(buffer, at, layouts / 4);
    at += layouts;
    this.#tokens = new Uint32Array(buffer, at, tokens / 4);
    this.#texts = Buffer.from(buffer, at + tokens, texts);
    this.#directory = JSON.parse(json) as Directory;
    this.files = this.#directory.files;
    this.deleted = this.#directory.deleted;
    this.size = this.#directory.keys.length;
  }

  /** Its own terms, and how many of its run lie before them. */
  get terms(): Pick<Directory, 'terms' | 'termsBefore'> {
    return this.#directory;
  }

  /** Number of a file's content. */
  contentOf(file: number): number {
    return this.#directory.contents[file] ?? 0;
  }

  keyOf(content: number): string {
    return this.#directory.keys[content] ?? '';
  }

  /** The hash under which a content was analysed. */
  hashOf(content: number): string {
    const key = this.keyOf(content);
    return key.slice(key.indexOf(':') + 1);
  }

  /**
   * Takes the wanted contents into a cache, one hold each. They stay views of the block's memory, unless that would
   * keep much of it for little. `terms` has seen the blocks of its run before it.
   */
  restore(cache: AnalysisCache, terms: RestoredTerms, wanted: (content: number) => boolean): Map<number, AnalysedFile> {
    const ids = terms.ids(this);
    const tokens = this.#tokens;
    for (let at = 0; at < tokens.length; at += 1) tokens[at] = ids[tokens[at] ?? 0] ?? 0;
    const isView = this.#freshBytes(cache, wanted) * 2 > this.#texts.length;
    const restored = new Map<number, AnalysedFile>();
    for (const [content, entry] of this.#entries()) {
      if (wanted(content)) restored.set(content, cache.restore(isView ? entry : ownCopy(entry)));
    }
    return restored;
  }

  #freshBytes(cache: AnalysisCache, wanted: (content: number) => boolean): number {
    let bytes = 0;
    for (let content = 0; content < this.size; content += 1) {
      if (wanted(content) && !cache.has(this.keyOf(content))) bytes += this.#heads[content * HEAD_STRIDE] ?? 0;
    }
    return bytes;
  }

  *#entries(): Generator<[content: number, entry: Omit<AnalysedFile, 'uses'>]> {
    let [textAt, layoutAt, tokensAt] = [0, 0, 0];
    for (let content = 0; content < this.size; content += 1) {
      const head = this.#heads.subarray(content * HEAD_STRIDE);
      const [bytes = 0, rows = 0, layout = 0, tokens = 0, titleFrom = 0, tagsFrom = 0] = head;
      const entry = {
        key: this.keyOf(content),
        text: this.#texts.subarray(textAt, textAt + bytes),
        title: this.#directory.titles[content] ?? null,
        rows,
        layout: this.#layouts.subarray(layoutAt, layoutAt + layout),
        tokens: this.#tokens.subarray(tokensAt, tokensAt + tokens),
        titleFrom,
        tagsFrom,
      };
      yield [content, entry];
      textAt += bytes;
      layoutAt += layout;
      tokensAt += tokens;
    }
  }
}

/** The ids of the terms of a run of blocks, in use until they are released. */
export class RestoredTerms {
  readonly #dictionary: TermDictionary;
  #ids = new Uint32Array(0);
  #count = 0;

  constructor(dictionary: TermDictionary) {
    this.#dictionary = dictionary;
  }

  /** By number; takes in the terms of the block, which must be the next of its run or the first of another. */
  ids(block: Block): Uint32Array {
    const { termsBefore, terms } = block.terms;
    if (termsBefore === 0) this.release();
    this.#count = termsBefore + terms.length;
    this.#ids = grown(this.#ids, this.#count);
    for (const [number, term] of terms.entries()) this.#ids[termsBefore + number] = this.#dictionary.retain(term);
    return this.#ids;
  }

  /** The contents that were restored hold their terms. */
  release(): void {
    this.#dictionary.release(this.#ids.subarray(0, this.#count));
    this.#count = 0;
  }
}

function ownCopy(entry: Omit<AnalysedFile, 'uses'>): Omit<AnalysedFile, 'uses'> {
  return { ...entry, text: Buffer.from(entry.text), layout: entry.layout.slice(), tokens: entry.tokens.slice() };
}
