/**
 * Many records of some numbers each, in a few pages of memory instead of an object for each. A page of which half is
 * dead is emptied into the open one, so that all pages together are never more than twice their living records, and
 * no change costs more than the move of one page.
 */
import { grown } from './growable.ts';

const PAGE_WORDS = 32_768;
const FIRST_PAGE_WORDS = 256;
/** Before each record: its number + 1 (0 = dead), and its length. */
const HEADER_WORDS = 2;

interface Page {
  words: Uint32Array;
  used: number;
  dead: number;
}

export class RecordPages {
  readonly #pages: (Page | null)[] = [];
  #freePages: number[] = [];
  /** Number of the page that takes in; -1 = none does. */
  #open = -1;
  /** By record number. */
  #pageOf = new Uint32Array(0);
  #startOf = new Uint32Array(0);
  #bound = 0;
  #free: number[] = [];
  #words = 0;

  /** In memory. */
  get bytes(): number {
    return this.#words * 4 + this.#pageOf.byteLength + this.#startOf.byteLength;
  }

  /** Number of the copied record, until it is dropped. */
  place(record: Uint32Array): number {
    const number = this.#free.pop() ?? this.#bound++;
    this.#pageOf = grown(this.#pageOf, this.#bound);
    this.#startOf = grown(this.#startOf, this.#bound);
    this.#put(number, record);
    return number;
  }

  /** In place; to be used at once, because any change may move it. */
  of(number: number): Uint32Array {
    const start = this.#startOf[number] ?? 0;
    const words = this.#pages[this.#pageOf[number] ?? 0]?.words ?? new Uint32Array(0);
    return words.subarray(start, start + (words[start - 1] ?? 0));
  }

  drop(number: number): void {
    const at = this.#pageOf[number] ?? 0;
    const page = this.#pages[at];
    if (page === undefined || page === null) return;
    const start = this.#startOf[number] ?? 0;
    page.words[start - HEADER_WORDS] = 0;
    page.dead += HEADER_WORDS + (page.words[start - 1] ?? 0);
    this.#free.push(number);
    if (this.#free.length === this.#bound) this.#clear();
    else if (at !== this.#open) this.#tidy(at, page);
  }

  #clear(): void {
    this.#pages.length = 0;
    this.#freePages = [];
    this.#open = -1;
    this.#pageOf = new Uint32Array(0);
    this.#startOf = new Uint32Array(0);
    this.#bound = 0;
    this.#free = [];
    this.#words = 0;
  }

  #put(number: number, record: Uint32Array): void {
    const needed = HEADER_WORDS + record.length;
    const at = needed > PAGE_WORDS ? this.#newPage(needed) : this.#openFor(needed);
    const page = this.#pages[at];
    if (page === undefined || page === null) throw new Error('no page');
    const start = page.used + HEADER_WORDS;
    page.used += needed;
    if (page.words.length < page.used) this.#widen(page);
    page.words[start - HEADER_WORDS] = number + 1;
    page.words[start - 1] = record.length;
    page.words.set(record, start);
    this.#pageOf[number] = at;
    this.#startOf[number] = start;
  }

  #openFor(words: number): number {
    const open = this.#pages[this.#open];
    if (open !== undefined && open !== null && open.used + words <= PAGE_WORDS) return this.#open;
    const closed = this.#open;
    this.#open = this.#newPage(this.#words === 0 ? FIRST_PAGE_WORDS : PAGE_WORDS);
    if (open !== undefined && open !== null) this.#tidy(closed, open);
    // Emptying the closed page may have filled the new one.
    return this.#openFor(words);
  }

  #newPage(words: number): number {
    const at = this.#freePages.pop() ?? this.#pages.length;
    this.#pages[at] = { words: new Uint32Array(words), used: 0, dead: 0 };
    this.#words += words;
    return at;
  }

  #widen(page: Page): void {
    const words = new Uint32Array(Math.min(Math.max(page.used, page.words.length * 2), PAGE_WORDS));
    words.set(page.words);
    this.#words += words.length - page.words.length;
    page.words = words;
  }

  #tidy(at: number, page: Page): void {
    if (page.dead * 2 <= page.used) return;
    this.#pages[at] = null;
    this.#freePages.push(at);
    this.#words -= page.words.length;
    for (let start = HEADER_WORDS; start - HEADER_WORDS < page.used; ) {
      const length = page.words[start - 1] ?? 0;
      const owner = page.words[start - HEADER_WORDS] ?? 0;
      if (owner > 0) this.#put(owner - 1, page.words.subarray(start, start + length));
      start += length + HEADER_WORDS;
    }
  }
}
