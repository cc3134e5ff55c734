/** What is known of one content once it is split and analysed. Its text is kept elsewhere: git and the disk have it. */
import { hash as digestOf } from 'node:crypto';
import type { TextFormat } from './passages.ts';
import type { RecordPages } from './record-pages.ts';

/**
 * A record in words: these, then ROW_STRIDE for each row, then the term ids as bytes, seven bits in each, the highest
 * set when more follow. First the terms of each row's body and headings, then those of the title, then of the tags.
 */
const DIGEST = 0;
const DIGEST_WORDS = 4;
const TEXT_BYTES = 4;
const ROWS = 5;
/** Number of the terms before the title's. */
const TITLE_FROM = 6;
/** Where the title's and the tags' terms begin and end among the bytes. */
const TITLE = 7;
const TAGS = 8;
const TERMS_END = 9;
const HEAD_WORDS = 10;

/** Of each row; START and END are UTF-16 indexes in its text, BODY and HEADINGS places among the bytes. */
const START = 0;
const END = 1;
const FIRST_LINE = 2;
const LAST_LINE = 3;
const BODY = 4;
const HEADINGS = 5;
const NAME = 6;
const NAME_WORDS = 4;
const ROW_STRIDE = 10;

const DIGEST_BYTES = DIGEST_WORDS * 4;

/** The first bytes of the SHA-256 of a text. */
function digestWords(text: string): Uint32Array {
  const words = new Uint32Array(DIGEST_WORDS);
  digestOf('sha256', text, 'buffer').copy(new Uint8Array(words.buffer), 0, 0, DIGEST_BYTES);
  return words;
}

export interface RowDraft {
  readonly start: number;
  readonly end: number;
  readonly lines: readonly [first: number, last: number];
  readonly text: string;
  /** Where its terms begin in `tokens`, and behind its body's those of its headings. */
  readonly body: number;
  readonly headings: number;
}

interface RecordDraft {
  readonly content: string;
  readonly rows: readonly RowDraft[];
  readonly tokens: readonly number[];
  readonly titleFrom: number;
  readonly tagsFrom: number;
}

/** The terms of a record as bytes, and where they came to lie. */
class TermWriter {
  #bytes: Uint8Array;
  length = 0;

  constructor(room: number) {
    this.#bytes = new Uint8Array(room);
  }

  write(term: number): void {
    if (this.length + 5 > this.#bytes.length) {
      const wider = new Uint8Array(this.#bytes.length * 2 + 64);
      wider.set(this.#bytes);
      this.#bytes = wider;
    }
    let rest = term;
    for (; rest > 0x7f; rest >>>= 7) this.#bytes[this.length++] = (rest & 0x7f) | 0x80;
    this.#bytes[this.length++] = rest;
  }

  /** With room for `head` words before the bytes. */
  record(head: number): Uint32Array {
    const record = new Uint32Array(head + Math.ceil(this.length / 4));
    new Uint8Array(record.buffer, head * 4).set(this.#bytes.subarray(0, this.length));
    return record;
  }
}

export function makeRecord({ content, rows, tokens, titleFrom, tagsFrom }: RecordDraft): Uint32Array {
  const writer = new TermWriter(tokens.length * 3);
  const places = new Map<number, number>();
  const marks = [...rows.flatMap(({ body, headings }) => [body, headings]), titleFrom, tagsFrom, tokens.length];
  let next = 0;
  for (const mark of marks) {
    for (; next < mark; next += 1) writer.write(tokens[next] ?? 0);
    places.set(mark, writer.length);
  }
  const placeOf = (mark: number): number => places.get(mark) ?? 0;
  const record = writer.record(HEAD_WORDS + rows.length * ROW_STRIDE);
  record.set(digestWords(content), DIGEST);
  record.set(
    [Buffer.byteLength(content), rows.length, titleFrom, placeOf(titleFrom), placeOf(tagsFrom), writer.length],
    TEXT_BYTES,
  );
  for (const [number, { start, end, lines, text, body, headings }] of rows.entries()) {
    const at = HEAD_WORDS + number * ROW_STRIDE;
    record.set([start, end, lines[0], lines[1], placeOf(body), placeOf(headings)], at);
    if (text.trim() !== '') record.set(digestWords(text), at + NAME);
  }
  return record;
}

/** The same record with other numbers for its terms. */
export function withTerms(record: Uint32Array, numberOf: (term: number) => number): Uint32Array {
  const rows = record[ROWS] ?? 0;
  const head = HEAD_WORDS + rows * ROW_STRIDE;
  const bytes = bytesOf(record, rows);
  const writer = new TermWriter(bytes.length + 64);
  let at = 0;
  const upTo = (end: number): number => {
    while (at < end) {
      const [term, behind] = [termAt(bytes, at), behindTerm(bytes, at)];
      writer.write(numberOf(term));
      at = behind;
    }
    return writer.length;
  };
  const marks: number[] = [];
  for (let row = 0; row < rows; row += 1) {
    const place = HEAD_WORDS + row * ROW_STRIDE;
    marks.push(place + BODY, place + HEADINGS);
  }
  marks.push(TITLE, TAGS, TERMS_END);
  const places = marks.map((mark) => upTo(record[mark] ?? 0));
  const made = writer.record(head);
  made.set(record.subarray(0, head));
  for (const [number, mark] of marks.entries()) made[mark] = places[number] ?? 0;
  return made;
}

function termAt(bytes: Uint8Array, at: number): number {
  let byte = bytes[at] ?? 0;
  let term = byte & 0x7f;
  for (let [next, shift] = [at + 1, 7]; byte > 0x7f; next += 1, shift += 7) {
    byte = bytes[next] ?? 0;
    term |= (byte & 0x7f) << shift;
  }
  return term >>> 0;
}

function behindTerm(bytes: Uint8Array, at: number): number {
  let next = at;
  while ((bytes[next] ?? 0) > 0x7f) next += 1;
  return next + 1;
}

function bytesOf(record: Uint32Array, rows: number): Uint8Array {
  const head = (HEAD_WORDS + rows * ROW_STRIDE) * 4;
  return new Uint8Array(record.buffer, record.byteOffset + head, record[TERMS_END] ?? 0);
}

/** Appends the terms of bytes[from, to) to `into`, which has room for them, and answers where they end there. */
function readTerms(bytes: Uint8Array, from: number, to: number, into: Uint32Array, place: number): number {
  let end = place;
  for (let at = from; at < to; ) {
    let byte = bytes[at++] ?? 0;
    let term = byte & 0x7f;
    for (let shift = 7; byte > 0x7f; shift += 7) {
      byte = bytes[at++] ?? 0;
      term |= (byte & 0x7f) << shift;
    }
    into[end++] = term;
  }
  return end;
}

/** Terms of one row, in memory that the next call uses again. */
export interface RowTerms {
  /** Body, then headings. */
  readonly terms: Uint32Array;
  readonly headings: number;
  readonly end: number;
}

let scratch = new Uint32Array(1_024);

/** What keeps the records, and is told when one is no longer held. */
interface AnalysisOwner {
  readonly records: RecordPages;
  release(analysed: AnalysedFile): void;
}

/** One content split and analysed; immutable, shared by every index that holds the same bytes. */
export class AnalysedFile {
  readonly format: TextFormat;
  /** Names the content. */
  readonly hash: string;
  readonly title: string | null;
  /** How many index entries hold it. */
  uses = 1;
  readonly #owner: AnalysisOwner;
  readonly #number: number;

  constructor(
    { format, hash, title }: Pick<AnalysedFile, 'format' | 'hash' | 'title'>,
    record: Uint32Array,
    owner: AnalysisOwner,
  ) {
    this.format = format;
    this.hash = hash;
    this.title = title;
    this.#owner = owner;
    this.#number = owner.records.place(record);
  }

  /** For as long as nobody has released it as often, it may be read. */
  hold(): this {
    this.uses += 1;
    return this;
  }

  release(): void {
    this.#owner.release(this);
  }

  /** Nobody holds it any more. */
  drop(): void {
    this.#owner.records.drop(this.#number);
  }

  /** To be used at once. */
  get record(): Uint32Array {
    return this.#owner.records.of(this.#number);
  }

  get rows(): number {
    return this.record[ROWS] ?? 0;
  }

  /** UTF-8 bytes of its text. */
  get textBytes(): number {
    return this.record[TEXT_BYTES] ?? 0;
  }

  /** In memory. */
  get bytes(): number {
    return this.record.byteLength;
  }

  /** Number of the terms of all bodies and headings. */
  get titleFrom(): number {
    return this.record[TITLE_FROM] ?? 0;
  }

  /** Whether it was made of that text. */
  holds(text: string): boolean {
    return this.isOf(digestWords(text));
  }

  isOf(digest: Uint32Array): boolean {
    const { record } = this;
    return digest.every((word, at) => record[DIGEST + at] === word);
  }

  /** First and last line of a row, 1-based. */
  lines(row: number): [first: number, last: number] {
    const { record } = this;
    const at = HEAD_WORDS + row * ROW_STRIDE;
    return [record[at + FIRST_LINE] ?? 1, record[at + LAST_LINE] ?? 1];
  }

  /** Where the row begins and ends in the text. */
  span(row: number): [start: number, end: number] {
    const { record } = this;
    const at = HEAD_WORDS + row * ROW_STRIDE;
    return [record[at + START] ?? 0, record[at + END] ?? 0];
  }

  /** The first half of the SHA-256 of the row's text in hexadecimal; null = it says nothing. */
  passageName(row: number): string | null {
    const at = HEAD_WORDS + row * ROW_STRIDE + NAME;
    const words = this.record.slice(at, at + NAME_WORDS);
    return words.some((word) => word !== 0) ? Buffer.from(words.buffer).toString('hex') : null;
  }

  /** Of the body and, behind them, the headings of a row; to be used at once. */
  rowTerms(row: number): RowTerms {
    const { record } = this;
    const rows = record[ROWS] ?? 0;
    const at = HEAD_WORDS + row * ROW_STRIDE;
    const [body = 0, headings = 0] = [record[at + BODY], record[at + HEADINGS]];
    const to = (row + 1 < rows ? record[at + ROW_STRIDE + BODY] : record[TITLE]) ?? 0;
    if (scratch.length < to - body) scratch = new Uint32Array((to - body) * 2);
    const bytes = bytesOf(record, rows);
    const headingsAt = readTerms(bytes, body, headings, scratch, 0);
    return { terms: scratch, headings: headingsAt, end: readTerms(bytes, headings, to, scratch, headingsAt) };
  }

  get titleTerms(): Uint32Array {
    const { record } = this;
    return this.#terms(record[TITLE] ?? 0, record[TAGS] ?? 0);
  }

  get tagTerms(): Uint32Array {
    const { record } = this;
    return this.#terms(record[TAGS] ?? 0, record[TERMS_END] ?? 0);
  }

  /** All. */
  get terms(): Uint32Array {
    return this.#terms(0, this.record[TERMS_END] ?? 0);
  }

  #terms(from: number, to: number): Uint32Array {
    const { record } = this;
    const terms = new Uint32Array(to - from);
    return terms.subarray(0, readTerms(bytesOf(record, record[ROWS] ?? 0), from, to, terms, 0));
  }
}

/** Body term ids of a row in text order. */
export function bodyTokens(analysed: AnalysedFile, row: number): Uint32Array {
  const { terms, headings } = analysed.rowTerms(row);
  return terms.slice(0, headings);
}
