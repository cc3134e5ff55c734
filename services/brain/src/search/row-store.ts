import { tokenSpans } from './analysis-cache.ts';
import type { AnalysedFile, AnalysisCache } from './analysis-cache.ts';
import { analyse } from './analysis.ts';
import { FIELDS, HEADING, PATH, TAGS, TEXT, TITLE, withOccurrence } from './fields.ts';
import { grown } from './growable.ts';
import { Postings } from './postings.ts';
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
  readonly rows: Uint32Array;
  /** Terms of the path, then of the title when the text names none. */
  readonly nameTokens: Uint32Array;
  readonly titleFrom: number;
}

/** Which file it is; its text comes as an analysis. */
export interface FileIdentity {
  readonly file: string;
  readonly hash: string;
  readonly chain: number;
}

type TermSink = (term: number, row: number, packed: number) => void;

const BYTES_PER_ROW = 22;
const BYTES_PER_FILE = 1_000;
const TERMS_PER_YIELD = 256;
/** UTF-16 units of the paths of all rows of one file, besides one for each byte of it. */
const PATHS_OF_A_SMALL_FILE = 2_048;
const LEAST_PATH = 16;

function bytesOf({ analysed, rows, nameTokens }: IndexedFile): number {
  const { text, tokens, layout } = analysed;
  return text.length + tokens.byteLength + layout.byteLength + rows.byteLength + nameTokens.byteLength + BYTES_PER_FILE;
}

/** The names of a file are indexed with each of its rows: of a long path over many small rows only the end is. */
function indexedPath(file: string, { text, rows }: AnalysedFile): string {
  const room = Math.floor((text.length + PATHS_OF_A_SMALL_FILE) / Math.max(rows, 1));
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

/** The terms of one field of a row: tokens[from, to). */
type FieldSink = (field: number, tokens: Uint32Array, from: number, to: number) => void;

function eachField({ analysed, nameTokens, titleFrom }: IndexedFile, ordinal: number, sink: FieldSink): void {
  const { tokens, tagsFrom } = analysed;
  if (analysed.title === null) sink(TITLE, nameTokens, titleFrom, nameTokens.length);
  else sink(TITLE, tokens, analysed.titleFrom, tagsFrom);
  sink(PATH, nameTokens, 0, titleFrom);
  sink(TAGS, tokens, tagsFrom, tokens.length);
  const { body, headings, end } = tokenSpans(analysed, ordinal);
  sink(HEADING, tokens, headings, end);
  sink(TEXT, tokens, body, headings);
}

/** The rows of an index in columns, their postings, and the totals of each chain. Costs of a change follow the file's size. */
export class RowStore {
  readonly cache: AnalysisCache;
  readonly files = new Map<string, IndexedFile>();
  /** By file slot. */
  readonly fileAt: (IndexedFile | undefined)[] = [];
  readonly chains = new Map<number, Totals>();
  readonly postings = new Postings();
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
  /** Working memory of #eachTerm. */
  #packed = new Uint32Array(0);
  readonly #seen: number[] = [];
  #fileBytes = 0;

  constructor(cache: AnalysisCache) {
    this.cache = cache;
  }

  /** Takes over the caller's hold on `analysed`. The file must not be in the store. */
  add(source: FileIdentity, analysed: AnalysedFile): void {
    const entry = this.#place(source, analysed);
    entry.rows.forEach((_row, ordinal) => this.#eachTerm(entry, ordinal, this.#post));
  }

  /**
   * As `add` for each, in much less time; only of an empty store. It may be left at each yield, but until it is done
   * nobody may search or change the store.
   */
  *addAll(files: Iterable<readonly [FileIdentity, AnalysedFile]>): Generator<void, void> {
    const entries: IndexedFile[] = [];
    for (const [source, analysed] of files) {
      entries.push(this.#place(source, analysed));
      yield;
    }
    const counts = new Uint32Array(this.cache.dictionary.idBound);
    const eachTermOf = function* (store: RowStore, sink: TermSink): Generator<void, void> {
      for (const entry of entries) {
        entry.rows.forEach((_row, ordinal) => store.#eachTerm(entry, ordinal, sink));
        yield;
      }
    };
    yield* eachTermOf(this, (term) => {
      counts[term] = (counts[term] ?? 0) + 1;
    });
    for (const [term, entries] of counts.entries()) {
      if (entries > 0) this.postings.reserve(term, entries);
      if (term % TERMS_PER_YIELD === 0) yield;
    }
    yield* eachTermOf(this, this.#post);
  }

  #place(source: FileIdentity, analysed: AnalysedFile): IndexedFile {
    const { dictionary } = this.cache;
    const title = analysed.title ?? fileTitle(source.file);
    const path = analyse(indexedPath(source.file, analysed));
    const entry: IndexedFile = {
      ...source,
      slot: this.#freeSlots.pop() ?? this.fileAt.length,
      title,
      analysed,
      rows: Uint32Array.from({ length: analysed.rows }, () => this.#freeRows.pop() ?? this.rowBound++),
      nameTokens: dictionary.retainAll(analysed.title === null ? [...path, ...analyse(title)] : path),
      titleFrom: path.length,
    };
    this.files.set(entry.file, entry);
    this.fileAt[entry.slot] = entry;
    this.#growColumns();
    entry.rows.forEach((row, ordinal) => this.#setColumns(entry, row, ordinal));
    this.#count(entry, 1);
    this.#fileBytes += bytesOf(entry);
    return entry;
  }

  /** True when the file was there. */
  remove(file: string): boolean {
    const entry = this.files.get(file);
    if (entry === undefined) return false;
    this.files.delete(file);
    this.fileAt[entry.slot] = undefined;
    this.#count(entry, -1);
    this.#fileBytes -= bytesOf(entry);
    entry.rows.forEach((row, ordinal) => {
      this.#eachTerm(entry, ordinal, this.#unpost);
      this.#freeRows.push(row);
    });
    this.#freeSlots.push(entry.slot);
    this.cache.dictionary.release(entry.nameTokens);
    this.cache.release(entry.analysed);
    return true;
  }

  /** Gives back what the files hold of the cache; from the first step on the store must not be used any more. */
  *dissolve(): Generator<void, void> {
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
    this.#count(entry, -1);
    const moved: IndexedFile = { ...entry, chain };
    this.files.set(file, moved);
    this.fileAt[moved.slot] = moved;
    for (const row of moved.rows) this.chainOf[row] = chain;
    this.#count(moved, 1);
  }

  /** With the dictionary, which other indexes may share; objects by rule of thumb, at no cost. */
  estimatedBytes(): number {
    return this.rowBound * BYTES_PER_ROW + this.cache.dictionary.bytes + this.postings.bytes + this.#fileBytes;
  }

  #setColumns(entry: IndexedFile, row: number, ordinal: number): void {
    this.slotOf[row] = entry.slot;
    this.chainOf[row] = entry.chain;
    this.ordinalOf[row] = ordinal;
    eachField(entry, ordinal, (field, _tokens, from, to) => {
      this.lengths[row * FIELDS.length + field] = to - from;
    });
  }

  readonly #post: TermSink = (term, row, packed) => this.postings.insert(term, row, packed);
  readonly #unpost: TermSink = (term, row) => this.postings.remove(term, row);

  /** Calls `sink` with each distinct term of a row and its packed frequencies. */
  #eachTerm(entry: IndexedFile, ordinal: number, sink: TermSink): void {
    this.#packed = grown(this.#packed, this.cache.dictionary.idBound);
    const packed = this.#packed;
    const seen = this.#seen;
    seen.length = 0;
    eachField(entry, ordinal, (field, tokens, from, to) => {
      for (let at = from; at < to; at += 1) {
        const term = tokens[at] ?? 0;
        const before = packed[term] ?? 0;
        if (before === 0) seen.push(term);
        packed[term] = withOccurrence(before, field);
      }
    });
    const row = entry.rows[ordinal] ?? 0;
    for (const term of seen) {
      sink(term, row, packed[term] ?? 0);
      packed[term] = 0;
    }
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
