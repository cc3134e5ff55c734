import type { AnalysedFile } from './analysed-file.ts';
import type { AnalysisCache } from './analysis-cache.ts';
import { analyse } from './analysis.ts';
import { FIELDS, HEADING, PATH, TAGS, TEXT, TITLE, withOccurrence } from './fields.ts';
import { grown } from './growable.ts';
import { Postings } from './postings.ts';
import { TextsAtHand } from './text-shelf.ts';
import { fileTitle } from './title.ts';

/** A file in one index. */
export interface IndexedFile {
  readonly file: string;
  readonly hash: string;
  readonly chain: number;
  readonly slot: number;
  readonly title: string;
  readonly analysed: AnalysedFile;
  /** Row ids in order of the text. */
  readonly rows: readonly number[];
  /** Terms of the path, then of the title when the text names none. Arrays of few numbers take less than typed ones. */
  readonly nameTokens: readonly number[];
  readonly titleFrom: number;
}

/** The terms of the file's title in order. */
export function titleTokens({ analysed, nameTokens, titleFrom }: IndexedFile): ArrayLike<number> {
  return analysed.title === null ? nameTokens.slice(titleFrom) : analysed.titleTerms;
}

/** Which file it is; its text comes as an analysis. */
export interface FileIdentity {
  readonly file: string;
  readonly hash: string;
  readonly chain: number;
}

const BYTES_PER_ROW = 22;
/** Two places in tables, an object, and what is not shared with others of its path, title and hash. */
const BYTES_PER_FILE = 400;
const BYTES_PER_NUMBER = 8;
const TERMS_PER_YIELD = 256;
/** UTF-16 units of the paths of all rows of one file, besides one for each byte of it. */
const PATHS_OF_A_SMALL_FILE = 2_048;
const LEAST_PATH = 16;

function bytesOf({ file, title, rows, nameTokens }: IndexedFile): number {
  return BYTES_PER_FILE + file.length + title.length + (rows.length + nameTokens.length) * BYTES_PER_NUMBER;
}

/** The names of a file are indexed with each of its rows: of a long path over many small rows only the end is. */
function indexedPath(file: string, { textBytes, rows }: AnalysedFile): string {
  const room = Math.floor((textBytes + PATHS_OF_A_SMALL_FILE) / Math.max(rows, 1));
  return room < file.length ? file.slice(-Math.max(room, LEAST_PATH)) : file;
}

/** Sums over the rows of one chain (or of several); integers, so the order of summing does not matter. */
export interface Totals {
  files: number;
  rows: number;
  /** Terms by field number. */
  readonly lengths: Float64Array;
}

export function noTotals(): Totals {
  return { files: 0, rows: 0, lengths: new Float64Array(FIELDS.length) };
}

/** What all rows of a file have, as it is needed for each of them. */
interface FileLabels {
  readonly title: Uint32Array;
  readonly path: Uint32Array;
  readonly tags: Uint32Array;
}

function labelsOf(entry: IndexedFile): FileLabels {
  return {
    title: Uint32Array.from(titleTokens(entry)),
    path: Uint32Array.from(entry.nameTokens.slice(0, entry.titleFrom)),
    tags: entry.analysed.tagTerms,
  };
}

/** The rows of an index in columns, their postings, and the totals of each chain. Costs of a change follow the file's size. */
export class RowStore {
  readonly cache: AnalysisCache;
  readonly files = new Map<string, IndexedFile>();
  /** By file slot. */
  readonly fileAt: (IndexedFile | undefined)[] = [];
  readonly chains = new Map<number, Totals>();
  readonly postings = new Postings();
  /** Rises with each change. */
  changes = 0;
  readonly texts = new TextsAtHand();
  /** Columns by row id. */
  slotOf = new Uint32Array(0);
  chainOf = new Uint32Array(0);
  ordinalOf = new Uint32Array(0);
  /** Terms of each field: at row * FIELDS.length + field number. */
  lengths = new Uint16Array(0);
  /** Every row id is below this bound. */
  rowBound = 0;
  readonly #freeRows: number[] = [];
  readonly #freeSlots: number[] = [];
  /** Of the row that was gathered last: its distinct terms, and by term id their packed frequencies. */
  #terms = new Uint32Array(0);
  #termCount = 0;
  #packed = new Uint32Array(0);
  #fileBytes = 0;

  constructor(cache: AnalysisCache) {
    this.cache = cache;
  }

  /** Takes over the caller's hold on `analysed`. The file must not be in the store. */
  add(source: FileIdentity, analysed: AnalysedFile): void {
    const entry = this.#place(source, analysed);
    const labels = labelsOf(entry);
    for (const [ordinal, row] of entry.rows.entries()) {
      this.#gather(entry, labels, ordinal);
      for (let at = 0; at < this.#termCount; at += 1) {
        const term = this.#terms[at] ?? 0;
        this.postings.insert(term, row, this.#takePacked(term));
      }
    }
    this.#count(entry, 1);
  }

  /**
   * As `add` for each, in much less time; only of an empty store. It may be left at each yield, but until it is done
   * nobody may search or change the store.
   */
  *addAll(files: Iterable<readonly [FileIdentity, AnalysedFile]>): Generator<void, void> {
    const entries: IndexedFile[] = [];
    let counts = new Uint32Array(0);
    for (const [source, analysed] of files) {
      const entry = this.#place(source, analysed);
      entries.push(entry);
      counts = grown(counts, this.cache.dictionary.idBound);
      this.#countRows(entry, counts);
      this.#count(entry, 1);
      yield;
    }
    for (const [term, rows] of counts.entries()) {
      if (rows > 0) this.postings.reserve(term, rows);
      if (term % TERMS_PER_YIELD === 0) yield;
    }
    for (const entry of entries) {
      this.#appendRows(entry);
      yield;
    }
  }

  #countRows(entry: IndexedFile, counts: Uint32Array): void {
    const labels = labelsOf(entry);
    for (let ordinal = 0; ordinal < entry.rows.length; ordinal += 1) {
      this.#gather(entry, labels, ordinal);
      for (let at = 0; at < this.#termCount; at += 1) {
        const term = this.#terms[at] ?? 0;
        counts[term] = (counts[term] ?? 0) + 1;
        this.#packed[term] = 0;
      }
    }
  }

  /** Of an empty store the rows come in ascending order. */
  #appendRows(entry: IndexedFile): void {
    const labels = labelsOf(entry);
    for (const [ordinal, row] of entry.rows.entries()) {
      this.#gather(entry, labels, ordinal);
      for (let at = 0; at < this.#termCount; at += 1) {
        const term = this.#terms[at] ?? 0;
        this.postings.append(term, row, this.#takePacked(term));
      }
    }
  }

  /** All of `other`, of the same cache; false when that changed meanwhile: then this store must not be used. */
  *copyFrom(other: RowStore): Generator<void, boolean> {
    const { changes } = other;
    for (const _step of this.postings.copyFrom(other.postings)) {
      yield;
      if (other.changes !== changes) return false;
    }
    this.slotOf = other.slotOf.slice();
    this.chainOf = other.chainOf.slice();
    this.ordinalOf = other.ordinalOf.slice();
    this.lengths = other.lengths.slice();
    this.rowBound = other.rowBound;
    for (const row of other.#freeRows) this.#freeRows.push(row);
    for (const slot of other.#freeSlots) this.#freeSlots.push(slot);
    this.#fileBytes = other.#fileBytes;
    for (const [chain, { files, rows, lengths }] of other.chains) {
      this.chains.set(chain, { files, rows, lengths: lengths.slice() });
    }
    for (const entry of other.fileAt) {
      this.fileAt.push(entry);
      if (entry === undefined) continue;
      this.files.set(entry.file, entry);
      entry.analysed.hold();
      this.cache.dictionary.hold(entry.nameTokens);
      yield;
      if (other.changes === changes) continue;
      yield* this.dissolve();
      return false;
    }
    return true;
  }

  #place(source: FileIdentity, analysed: AnalysedFile): IndexedFile {
    this.changes += 1;
    const { dictionary } = this.cache;
    const title = analysed.title ?? fileTitle(source.file);
    const path = analyse(indexedPath(source.file, analysed));
    const names = analysed.title === null ? [...path, ...analyse(title)] : path;
    const entry: IndexedFile = {
      ...source,
      slot: this.#freeSlots.pop() ?? this.fileAt.length,
      title,
      analysed,
      rows: Array.from({ length: analysed.rows }, () => this.#freeRows.pop() ?? this.rowBound++),
      nameTokens: names.map((term) => dictionary.retain(term)),
      titleFrom: path.length,
    };
    this.files.set(entry.file, entry);
    this.fileAt[entry.slot] = entry;
    this.#growColumns();
    for (const [ordinal, row] of entry.rows.entries()) {
      this.slotOf[row] = entry.slot;
      this.chainOf[row] = entry.chain;
      this.ordinalOf[row] = ordinal;
    }
    this.#fileBytes += bytesOf(entry);
    return entry;
  }

  /** True when the file was there. */
  remove(file: string): boolean {
    const entry = this.files.get(file);
    if (entry === undefined) return false;
    this.changes += 1;
    this.files.delete(file);
    this.fileAt[entry.slot] = undefined;
    this.#count(entry, -1);
    this.#fileBytes -= bytesOf(entry);
    const labels = labelsOf(entry);
    for (const [ordinal, row] of entry.rows.entries()) {
      this.#gather(entry, labels, ordinal);
      for (let at = 0; at < this.#termCount; at += 1) {
        const term = this.#terms[at] ?? 0;
        this.postings.remove(term, row);
        this.#packed[term] = 0;
      }
      this.#freeRows.push(row);
    }
    this.#freeSlots.push(entry.slot);
    this.cache.dictionary.release(entry.nameTokens);
    this.cache.release(entry.analysed);
    return true;
  }

  /** Gives back what the files hold of the cache; from the first step on the store must not be used any more. */
  *dissolve(): Generator<void, void> {
    this.changes += 1;
    for (const { nameTokens, analysed } of this.files.values()) {
      this.cache.dictionary.release(nameTokens);
      this.cache.release(analysed);
      yield;
    }
    this.files.clear();
    this.fileAt.length = 0;
    this.postings.clear();
    this.chains.clear();
    this.#fileBytes = 0;
  }

  /** Costs follow the number of the file's rows. */
  rechain(file: string, chain: number): void {
    const entry = this.files.get(file);
    if (entry === undefined || entry.chain === chain) return;
    this.changes += 1;
    this.#count(entry, -1);
    const moved: IndexedFile = { ...entry, chain };
    this.files.set(file, moved);
    this.fileAt[moved.slot] = moved;
    for (const row of moved.rows) this.chainOf[row] = chain;
    this.#count(moved, 1);
  }

  /** With the cache, which other indexes may share; objects by rule of thumb, at no cost. */
  estimatedBytes(): number {
    return this.rowBound * BYTES_PER_ROW + this.cache.bytes + this.postings.bytes + this.#fileBytes;
  }

  /** Finds the distinct terms of a row and their packed frequencies, and notes how long its fields are. */
  #gather({ analysed, rows }: IndexedFile, { title, path, tags }: FileLabels, ordinal: number): void {
    this.#packed = grown(this.#packed, this.cache.dictionary.idBound);
    this.#termCount = 0;
    const { terms, headings, end } = analysed.rowTerms(ordinal);
    this.#terms = grown(this.#terms, end + title.length + path.length + tags.length);
    this.#addTerms(TITLE, title, 0, title.length);
    this.#addTerms(PATH, path, 0, path.length);
    this.#addTerms(TAGS, tags, 0, tags.length);
    this.#addTerms(HEADING, terms, headings, end);
    this.#addTerms(TEXT, terms, 0, headings);
    const at = (rows[ordinal] ?? 0) * FIELDS.length;
    this.lengths[at + TITLE] = title.length;
    this.lengths[at + PATH] = path.length;
    this.lengths[at + TAGS] = tags.length;
    this.lengths[at + HEADING] = end - headings;
    this.lengths[at + TEXT] = headings;
  }

  #addTerms(field: number, tokens: Uint32Array, from: number, to: number): void {
    const packed = this.#packed;
    const terms = this.#terms;
    let count = this.#termCount;
    for (let at = from; at < to; at += 1) {
      const term = tokens[at] ?? 0;
      const before = packed[term] ?? 0;
      if (before === 0) terms[count++] = term;
      packed[term] = withOccurrence(before, field);
    }
    this.#termCount = count;
  }

  #takePacked(term: number): number {
    const packed = this.#packed[term] ?? 0;
    this.#packed[term] = 0;
    return packed;
  }

  #growColumns(): void {
    this.slotOf = grown(this.slotOf, this.rowBound);
    this.chainOf = grown(this.chainOf, this.rowBound);
    this.ordinalOf = grown(this.ordinalOf, this.rowBound);
    this.lengths = grown(this.lengths, this.rowBound * FIELDS.length);
  }

  #count(entry: IndexedFile, sign: 1 | -1): void {
    const { analysed, chain } = entry;
    const totals = this.chains.get(chain) ?? noTotals();
    totals.files += sign;
    totals.rows += sign * analysed.rows;
    for (const row of entry.rows) {
      for (let field = 0; field < FIELDS.length; field += 1) {
        const length = this.lengths[row * FIELDS.length + field] ?? 0;
        totals.lengths[field] = (totals.lengths[field] ?? 0) + sign * length;
      }
    }
    if (totals.files === 0) this.chains.delete(chain);
    else this.chains.set(chain, totals);
  }
}
