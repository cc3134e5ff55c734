/**
 * Analysed contents as bytes that stand for themselves: what a snapshot is made of, and what another thread hands over.
 * Seven u32 (see HEADER), a directory in JSON, then the length of each record in words, then the records. Texts are not
 * among them: they are kept elsewhere.
 */
import { crc32 } from 'node:zlib';
import { type AnalysedFile, withTerms } from './analysed-file.ts';
import type { AnalysisCache } from './analysis-cache.ts';
import { analysisVersion } from './analysis.ts';
import { grown } from './growable.ts';
import type { TextFormat } from './passages.ts';
import type { TermDictionary } from './term-dictionary.ts';

const HEADER = ['magic', 'format', 'analyser', 'checksum', 'directory', 'lengths', 'records'] as const;
export const HEADER_BYTES = HEADER.length * 4;
const MAGIC = 0x53564249;
const FORMAT = 3;

interface Directory {
  /** Terms of the blocks directly before that this one counts on, and its own, numbered behind them. */
  readonly termsBefore: number;
  readonly terms: readonly string[];
  /** Of each content. */
  readonly formats: readonly TextFormat[];
  readonly hashes: readonly string[];
  readonly titles: readonly (string | null)[];
  /** Of each file: its path and the number of its content. */
  readonly files: readonly string[];
  readonly contents: readonly number[];
  readonly deleted: readonly string[];
}

interface BlockContents {
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
  /** By number: the block in which it was last held against the dictionary. */
  #checked = new Uint32Array(0);
  #block = 1;
  #written = 0;

  constructor(dictionary: TermDictionary) {
    this.#dictionary = dictionary;
  }

  numberOf(id: number): number {
    const known = this.#numbers[id] ?? 0;
    if (known > 0 && this.#isStill(known - 1, id)) return known - 1;
    const number = this.#terms.push(this.#dictionary.termOf(id)) - 1;
    this.#numbers = grown(this.#numbers, this.#dictionary.idBound);
    this.#checked = grown(this.#checked, this.#terms.length);
    this.#numbers[id] = number + 1;
    this.#checked[number] = this.#block;
    return number;
  }

  /** What no block has written so far. */
  takeNew(): { termsBefore: number; terms: string[] } {
    const termsBefore = this.#written;
    this.#written = this.#terms.length;
    this.#block += 1;
    return { termsBefore, terms: this.#terms.slice(termsBefore) };
  }

  /** Between two blocks an id may have become another term's. */
  #isStill(number: number, id: number): boolean {
    if (this.#checked[number] === this.#block) return true;
    if (this.#terms[number] !== this.#dictionary.termOf(id)) return false;
    this.#checked[number] = this.#block;
    return true;
  }
}

/** All of it at once: a few milliseconds for each megabyte. The first of a run of blocks has new `numbers`. */
export function encodeBlock(numbers: TermNumbers, { analyses, files, deleted }: BlockContents): Uint8Array {
  const records = analyses.map(({ record }) => withTerms(record, (term) => numbers.numberOf(term)));
  const places = new Map(analyses.map((analysed, place) => [analysed, place]));
  const directory: Directory = {
    ...numbers.takeNew(),
    formats: analyses.map(({ format }) => format),
    hashes: analyses.map(({ hash }) => hash),
    titles: analyses.map(({ title }) => title),
    files: files.map(({ file }) => file),
    contents: files.map(({ analysed }) => places.get(analysed) ?? 0),
    deleted,
  };
  const json = Buffer.from(JSON.stringify(directory));
  const words = records.reduce((sum, { length }) => sum + length, 0);
  const sizes = [padded(json.length), records.length * 4, words * 4];
  const block = new Uint8Array(HEADER_BYTES + sizes.reduce((sum, size) => sum + size, 0)).fill(32, HEADER_BYTES);
  block.set(json, HEADER_BYTES);
  const numbersOf = new Uint32Array(block.buffer, HEADER_BYTES + padded(json.length));
  let at = records.length;
  for (const [place, record] of records.entries()) {
    numbersOf[place] = record.length;
    numbersOf.set(record, at);
    at += record.length;
  }
  const checksum = crc32(block.subarray(HEADER_BYTES));
  new Uint32Array(block.buffer, 0, HEADER.length).set([MAGIC, FORMAT, analysisVersion(), checksum, ...sizes]);
  return block;
}

/** Bytes of the block that starts with this header, null when none of this format and version does. */
export function blockLength(header: Uint8Array, analyserVersion: number = analysisVersion()): number | null {
  if (header.length < HEADER_BYTES) return null;
  const [magic, format, analyser, _checksum, ...sizes] = new Uint32Array(
    header.buffer.slice(header.byteOffset, header.byteOffset + HEADER_BYTES),
  );
  if (magic !== MAGIC || format !== FORMAT || analyser !== analyserVersion) return null;
  return HEADER_BYTES + sizes.reduce((sum, size) => sum + size, 0);
}

/** A block whose checksum was right. */
export class Block {
  readonly files: readonly string[];
  readonly deleted: readonly string[];
  /** Number of contents. */
  readonly size: number;
  readonly #directory: Directory;
  readonly #lengths: Uint32Array;
  readonly #records: Uint32Array;

  /** Null when it is damaged. */
  static read(bytes: Uint8Array): Block | null {
    // The numbers need alignment.
    const whole = bytes.byteOffset % 4 === 0 ? bytes : Uint8Array.from(bytes);
    if (blockLength(whole) !== whole.length) return null;
    const header = new Uint32Array(whole.buffer, whole.byteOffset, HEADER.length);
    return crc32(whole.subarray(HEADER_BYTES)) === header[3] ? new Block(whole, header) : null;
  }

  private constructor({ buffer, byteOffset }: Uint8Array, header: Uint32Array) {
    const [directory = 0, lengths = 0, records = 0] = header.subarray(4);
    const at = byteOffset + HEADER_BYTES;
    this.#directory = JSON.parse(Buffer.from(buffer, at, directory).toString()) as Directory;
    this.#lengths = new Uint32Array(buffer, at + directory, lengths / 4);
    this.#records = new Uint32Array(buffer, at + directory + lengths, records / 4);
    this.files = this.#directory.files;
    this.deleted = this.#directory.deleted;
    this.size = this.#directory.hashes.length;
  }

  /** Its own terms, and how many of its run lie before them. */
  get terms(): Pick<Directory, 'terms' | 'termsBefore'> {
    return this.#directory;
  }

  /** Number of a file's content. */
  contentOf(file: number): number {
    return this.#directory.contents[file] ?? 0;
  }

  /** The hash under which a content was analysed. */
  hashOf(content: number): string {
    return this.#directory.hashes[content] ?? '';
  }

  /** Takes the wanted contents into a cache, one hold each. `terms` has seen the blocks of its run before it. */
  restore(cache: AnalysisCache, terms: RestoredTerms, wanted: (content: number) => boolean): Map<number, AnalysedFile> {
    const { ids, areNumbers } = terms.take(this);
    const { formats, hashes, titles } = this.#directory;
    const restored = new Map<number, AnalysedFile>();
    let at = 0;
    for (const [content, length] of this.#lengths.entries()) {
      if (wanted(content)) {
        const saved = this.#records.subarray(at, at + length);
        // A copy of its own: a view would keep the whole block in memory for as long as one content of it is there.
        const record = areNumbers ? saved.slice() : withTerms(saved, (number) => ids[number] ?? 0);
        const [format = 'text', hash = '', title = null] = [formats[content], hashes[content], titles[content]];
        restored.set(content, cache.restore({ format, hash, title, record }));
      }
      at += length;
    }
    return restored;
  }
}

/** The ids of the terms of a run of blocks, in use until they are released. */
export class RestoredTerms {
  readonly #dictionary: TermDictionary;
  #ids = new Uint32Array(0);
  #count = 0;
  #areNumbers = true;

  constructor(dictionary: TermDictionary) {
    this.#dictionary = dictionary;
  }

  /**
   * Ids by number; takes in the terms of the block, which must be the next of its run or the first of another. In a
   * dictionary that was empty before, each id is the number itself, and the records need not be written anew.
   */
  take(block: Block): { readonly ids: Uint32Array; readonly areNumbers: boolean } {
    const { termsBefore, terms } = block.terms;
    if (termsBefore === 0) this.release();
    this.#count = termsBefore + terms.length;
    this.#ids = grown(this.#ids, this.#count);
    for (const [place, term] of terms.entries()) {
      const [number, id] = [termsBefore + place, this.#dictionary.retain(term)];
      this.#ids[number] = id;
      this.#areNumbers &&= id === number;
    }
    return { ids: this.#ids, areNumbers: this.#areNumbers };
  }

  /** The contents that were restored hold their terms. */
  release(): void {
    this.#dictionary.release(this.#ids.subarray(0, this.#count));
    this.#count = 0;
    this.#areNumbers = true;
  }
}
