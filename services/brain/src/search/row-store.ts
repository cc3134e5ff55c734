import { bodyTokens, headingTokens } from './analysis-cache.ts';
import type { AnalysedFile, AnalysisCache } from './analysis-cache.ts';
import { analyse } from './analysis.ts';
import { FIELDS, HEADING, PATH, TAGS, TEXT, TITLE, withOccurrence } from './fields.ts';
import { grown } from './growable.ts';
import { PostingList } from './posting-list.ts';

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
  readonly titleTokens: Uint32Array;
  readonly pathTokens: Uint32Array;
  readonly tagTokens: Uint32Array;
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

function fileName(file: string): string {
  const name = file.slice(file.lastIndexOf('/') + 1);
  const dot = name.lastIndexOf('.');
  return dot > 0 ? name.slice(0, dot) : name;
}

/** A row's term ids by field number. */
function fieldTokens(entry: IndexedFile, ordinal: number): Uint32Array[] {
  const fields: Uint32Array[] = [];
  fields[TITLE] = entry.titleTokens;
  fields[PATH] = entry.pathTokens;
  fields[TAGS] = entry.tagTokens;
  fields[HEADING] = headingTokens(entry.analysed, ordinal);
  fields[TEXT] = bodyTokens(entry.analysed, ordinal);
  return fields;
}

/** The rows of an index in columns, their postings, and the totals of each chain. Costs of a change follow the file's size. */
export class RowStore {
  readonly cache: AnalysisCache;
  readonly files = new Map<string, IndexedFile>();
  /** By file slot. */
  readonly fileAt: (IndexedFile | undefined)[] = [];
  readonly chains = new Map<number, Totals>();
  /** By term id. */
  readonly postings: (PostingList | undefined)[] = [];
  /** Columns by row id. */
  slotOf = new Uint32Array(0);
  chainOf = new Uint32Array(0);
  ordinalOf = new Uint32Array(0);
  /** Terms of each field: at row * FIELDS.length + field number. */
  lengths = new Uint16Array(0);
  /** Every row id is below this bound. */
  rowBound = 0;
  /** Terms that occur in some row. */
  terms = 0;
  readonly #freeRows: number[] = [];
  readonly #freeSlots: number[] = [];
  #packed = new Uint32Array(0);

  constructor(cache: AnalysisCache) {
    this.cache = cache;
  }

  /** Takes over the caller's hold on `analysed`. The file must not be in the store. */
  add(source: { file: string; hash: string; chain: number }, analysed: AnalysedFile): void {
    const { dictionary } = this.cache;
    const title = analysed.title ?? fileName(source.file);
    const entry: IndexedFile = {
      ...source,
      slot: this.#freeSlots.pop() ?? this.fileAt.length,
      title,
      analysed,
      rows: Uint32Array.from({ length: analysed.rows }, () => this.#freeRows.pop() ?? this.rowBound++),
      titleTokens:
        analysed.title === null
          ? dictionary.retainAll(analyse(title))
          : analysed.tokens.subarray(analysed.titleFrom, analysed.tagsFrom),
      pathTokens: dictionary.retainAll(analyse(source.file)),
      tagTokens: analysed.tokens.subarray(analysed.tagsFrom),
    };
    this.files.set(entry.file, entry);
    this.fileAt[entry.slot] = entry;
    this.#growColumns();
    entry.rows.forEach((row, ordinal) => this.#addRow(entry, row, ordinal));
    this.#count(entry, 1);
  }

  /** True when the file was there. */
  remove(file: string): boolean {
    const entry = this.files.get(file);
    if (entry === undefined) return false;
    this.files.delete(file);
    this.fileAt[entry.slot] = undefined;
    this.#count(entry, -1);
    entry.rows.forEach((row, ordinal) => {
      this.#eachTerm(entry, ordinal, (term) => this.#unpost(term, row));
      this.#freeRows.push(row);
    });
    this.#freeSlots.push(entry.slot);
    this.cache.dictionary.release(entry.pathTokens);
    if (entry.analysed.title === null) this.cache.dictionary.release(entry.titleTokens);
    this.cache.release(entry.analysed);
    return true;
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

  /** Typed arrays exactly, objects and strings by rule of thumb. O(terms + files). */
  estimatedBytes(): number {
    let bytes = this.rowBound * 22 + this.cache.dictionary.size * 80;
    for (const list of this.postings) {
      if (list === undefined) continue;
      bytes += 96;
      for (const chunk of list.chunks) bytes += chunk.byteLength + 64;
    }
    for (const { analysed, rows, pathTokens } of this.files.values()) {
      bytes += analysed.content.length + analysed.tokens.byteLength + analysed.layout.byteLength;
      bytes += rows.byteLength + pathTokens.byteLength + 1_000;
    }
    return bytes;
  }

  #addRow(entry: IndexedFile, row: number, ordinal: number): void {
    this.slotOf[row] = entry.slot;
    this.chainOf[row] = entry.chain;
    this.ordinalOf[row] = ordinal;
    const fields = fieldTokens(entry, ordinal);
    fields.forEach((tokens, field) => {
      this.lengths[row * FIELDS.length + field] = tokens.length;
    });
    this.#eachTerm(entry, ordinal, (term, packed) => this.#post(term, row, packed));
  }

  #post(term: number, row: number, packed: number): void {
    let list = this.postings[term];
    if (list === undefined) {
      list = new PostingList();
      this.postings[term] = list;
      this.terms += 1;
    }
    list.insert(row, packed);
  }

  #unpost(term: number, row: number): void {
    const list = this.postings[term];
    list?.remove(row);
    if (list?.count !== 0) return;
    this.postings[term] = undefined;
    this.terms -= 1;
  }

  /** Calls `sink` with each distinct term of a row and its packed frequencies. */
  #eachTerm(entry: IndexedFile, ordinal: number, sink: (term: number, packed: number) => void): void {
    this.#packed = grown(this.#packed, this.cache.dictionary.idBound);
    const packed = this.#packed;
    const seen: number[] = [];
    fieldTokens(entry, ordinal).forEach((tokens, field) => {
      for (const term of tokens) {
        const before = packed[term] ?? 0;
        if (before === 0) seen.push(term);
        packed[term] = withOccurrence(before, field);
      }
    });
    for (const term of seen) {
      sink(term, packed[term] ?? 0);
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
