/**
 * The posting lists of all terms. Most terms are rare, so an object for each would be many times its entries: lists of
 * up to CHUNK_ENTRIES lie in pages of numbers, each as one Chunk with room for some more; only longer ones are objects.
 */
import { grown } from './growable.ts';
import { type Chunk, CHUNK_ENTRIES, lowerBound, PostingList } from './posting-list.ts';

const PAGE_WORDS = 65_536;
/** Of an index of few words. */
const FIRST_PAGE_WORDS = 1_024;
/** Entries for which a block may have room, smallest first. */
const CAPACITIES = Uint16Array.of(1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, CHUNK_ENTRIES);
/** Below this a long list comes back into the pages. */
const SHORT_AGAIN = CHUNK_ENTRIES / 2;

/** In the place of a class: the list is an object, and its block is its place among those, + 1. */
const LONG = 255;

function classFor(entries: number): number {
  return CAPACITIES.findIndex((capacity) => capacity >= entries);
}

function wordsOf(capacityClass: number): number {
  return 1 + (CAPACITIES[capacityClass] ?? 0) * 2;
}

export class Postings {
  #pages: Uint32Array[] = [];
  /** Words of the last page that were given out. */
  #used = PAGE_WORDS;
  /** By term id: where its block begins, over all pages, + 1; 0 = none. */
  #blocks = new Uint32Array(0);
  #classes = new Uint8Array(0);
  #long: (PostingList | undefined)[] = [];
  #freeLong: number[] = [];
  #longEntries = 0;
  /** By capacity: blocks that nobody uses. */
  #free: number[][] = Array.from(CAPACITIES, () => []);
  #freeWords = 0;
  #terms = 0;

  /** Terms that some row has. */
  get terms(): number {
    return this.#terms;
  }

  /** In memory. */
  get bytes(): number {
    const pages = this.#pages.reduce((sum, { byteLength }) => sum + byteLength, 0);
    return pages + this.#blocks.byteLength + this.#classes.byteLength + this.#longBytes;
  }

  get #longBytes(): number {
    return (this.#long.length - this.#freeLong.length) * 400 + this.#longEntries * 10;
  }

  /** For reading until the next change; undefined when no row has the term. */
  of(term: number): PostingList | undefined {
    const long = this.#longOf(term);
    if (long !== undefined) return long;
    const chunk = this.#chunkOf(term);
    return chunk === null ? undefined : new PostingList([chunk], chunk[0] ?? 0);
  }

  /** Room for so many entries of a term that has none yet. */
  reserve(term: number, entries: number): void {
    this.#growTo(term);
    if (entries > CHUNK_ENTRIES) this.#setLong(term, new PostingList());
    else this.#allot(term, classFor(entries));
    this.#terms += 1;
  }

  /** The row must not be in the term's list. */
  insert(term: number, row: number, packed: number): void {
    const long = this.#longOf(term);
    if (long !== undefined) return this.#insertLong(long, row, packed);
    this.#fillGaps();
    this.#growTo(term);
    if (this.#append(term, row, packed)) return;
    const chunk = this.#chunkOf(term) ?? this.#first(term);
    const used = chunk[0] ?? 0;
    if (used === CHUNK_ENTRIES) return this.#insertLong(this.#lengthen(term, chunk), row, packed);
    const roomy = used * 2 + 1 < chunk.length ? chunk : this.#moved(term, chunk, classFor(used + 1));
    const at = lowerBound(roomy, row);
    roomy.copyWithin(3 + at * 2, 1 + at * 2, 1 + used * 2);
    roomy[1 + at * 2] = row;
    roomy[2 + at * 2] = packed;
    roomy[0] = used + 1;
  }

  /** Of a row behind all of the term's, for which room was reserved. */
  append(term: number, row: number, packed: number): void {
    const long = this.#longOf(term);
    if (long === undefined) {
      if (!this.#append(term, row, packed)) this.insert(term, row, packed);
      return;
    }
    long.append(row, packed);
    this.#longEntries += 1;
  }

  /** The row must be in the term's list. */
  remove(term: number, row: number): void {
    const long = this.#longOf(term);
    if (long !== undefined) return this.#removeLong(term, long, row);
    const chunk = this.#chunkOf(term);
    if (chunk === null) return;
    const at = lowerBound(chunk, row);
    const used = (chunk[0] ?? 0) - 1;
    chunk.copyWithin(1 + at * 2, 3 + at * 2, 3 + used * 2);
    chunk[0] = used;
    if (used === 0) this.#forget(term);
    else if (used * 4 < (CAPACITIES[this.#classes[term] ?? 0] ?? 0)) this.#moved(term, chunk, classFor(used));
    this.#fillGaps();
  }

  /** All of `other`, which must not change until it is done. */
  *copyFrom(other: Postings): Generator<void, void> {
    for (const page of other.#pages) {
      this.#pages.push(page.slice());
      yield;
    }
    for (const list of other.#long) {
      this.#long.push(list?.copy());
      yield;
    }
    this.#used = other.#used;
    this.#blocks = other.#blocks.slice();
    this.#classes = other.#classes.slice();
    this.#freeLong = other.#freeLong.slice();
    this.#longEntries = other.#longEntries;
    this.#free = other.#free.map((blocks) => blocks.slice());
    this.#freeWords = other.#freeWords;
    this.#terms = other.#terms;
  }

  clear(): void {
    this.#pages = [];
    this.#used = PAGE_WORDS;
    this.#blocks = new Uint32Array(0);
    this.#classes = new Uint8Array(0);
    this.#long = [];
    this.#freeLong = [];
    this.#longEntries = 0;
    this.#free = Array.from(CAPACITIES, () => []);
    this.#freeWords = 0;
    this.#terms = 0;
  }

  #fillGaps(): void {
    if (this.#freeWords > PAGE_WORDS && this.#freeWords * 3 > this.#pages.length * PAGE_WORDS) this.#moveTogether();
  }

  /** Lists that grew side by side leave blocks behind that are too small for all of them. */
  #moveTogether(): void {
    const before = this.#pages;
    this.#pages = [];
    this.#used = PAGE_WORDS;
    this.#free = Array.from(CAPACITIES, () => []);
    this.#freeWords = 0;
    for (const [term, block] of this.#blocks.entries()) {
      if (block === 0 || this.#classes[term] === LONG) continue;
      const page = before[Math.floor((block - 1) / PAGE_WORDS)] ?? new Uint32Array(1);
      const at = (block - 1) % PAGE_WORDS;
      const used = page[at] ?? 0;
      this.#allot(term, classFor(used)).set(page.subarray(at, at + 1 + used * 2));
    }
  }

  /** The common case, without a view of the block: behind all its entries, and there is room. */
  #append(term: number, row: number, packed: number): boolean {
    const block = (this.#blocks[term] ?? 0) - 1;
    const page = block < 0 ? undefined : this.#pages[Math.floor(block / PAGE_WORDS)];
    if (page === undefined) return false;
    const at = block % PAGE_WORDS;
    const used = page[at] ?? 0;
    const isBehindAll = used === 0 || (page[at + used * 2 - 1] ?? 0) < row;
    if (!isBehindAll || used === CAPACITIES[this.#classes[term] ?? 0]) return false;
    page[at + used * 2 + 1] = row;
    page[at + used * 2 + 2] = packed;
    page[at] = used + 1;
    return true;
  }

  #first(term: number): Chunk {
    this.#terms += 1;
    return this.#allot(term, 0);
  }

  #forget(term: number): void {
    this.#release(term);
    this.#terms -= 1;
    if (this.#terms === 0) this.clear();
  }

  #insertLong(list: PostingList, row: number, packed: number): void {
    list.insert(row, packed);
    this.#longEntries += 1;
  }

  #removeLong(term: number, list: PostingList, row: number): void {
    list.remove(row);
    this.#longEntries -= 1;
    if (list.count > SHORT_AGAIN) return;
    this.#dropLong(term);
    this.#longEntries -= list.count;
    const chunk = this.#allot(term, classFor(list.count));
    for (const part of list.chunks) {
      const used = chunk[0] ?? 0;
      chunk.set(part.subarray(1, 1 + (part[0] ?? 0) * 2), 1 + used * 2);
      chunk[0] = used + (part[0] ?? 0);
    }
  }

  #lengthen(term: number, chunk: Chunk): PostingList {
    const list = new PostingList([chunk.slice()], CHUNK_ENTRIES);
    this.#release(term);
    this.#setLong(term, list);
    this.#longEntries += CHUNK_ENTRIES;
    return list;
  }

  #longOf(term: number): PostingList | undefined {
    return this.#classes[term] === LONG ? this.#long[(this.#blocks[term] ?? 0) - 1] : undefined;
  }

  #setLong(term: number, list: PostingList): void {
    const place = this.#freeLong.pop() ?? this.#long.length;
    this.#long[place] = list;
    this.#blocks[term] = place + 1;
    this.#classes[term] = LONG;
  }

  /** Its block and class are given anew. */
  #dropLong(term: number): void {
    const place = (this.#blocks[term] ?? 0) - 1;
    this.#long[place] = undefined;
    this.#freeLong.push(place);
  }

  #growTo(term: number): void {
    this.#blocks = grown(this.#blocks, term + 1);
    this.#classes = grown(this.#classes, term + 1);
  }

  /** The term's block with all its room. */
  #chunkOf(term: number): Chunk | null {
    const block = this.#blocks[term] ?? 0;
    if (block === 0 || this.#classes[term] === LONG) return null;
    const at = (block - 1) % PAGE_WORDS;
    const page = this.#pages[Math.floor((block - 1) / PAGE_WORDS)];
    return page?.subarray(at, at + wordsOf(this.#classes[term] ?? 0)) ?? null;
  }

  /** The same entries in a block of another size. */
  #moved(term: number, chunk: Chunk, capacityClass: number): Chunk {
    // The new block is taken first: the old one is still read.
    const [block, before] = [this.#blocks[term] ?? 0, this.#classes[term] ?? 0];
    const moved = this.#allot(term, capacityClass);
    moved.set(chunk.subarray(0, 1 + (chunk[0] ?? 0) * 2));
    this.#give(block, before);
    return moved;
  }

  #release(term: number): void {
    this.#give(this.#blocks[term] ?? 0, this.#classes[term] ?? 0);
    this.#blocks[term] = 0;
  }

  #give(block: number, capacityClass: number): void {
    this.#free[capacityClass]?.push(block);
    this.#freeWords += wordsOf(capacityClass);
  }

  /** Gives the term an empty block. */
  #allot(term: number, capacityClass: number): Chunk {
    const given = this.#free[capacityClass]?.pop();
    if (given !== undefined) this.#freeWords -= wordsOf(capacityClass);
    this.#blocks[term] = given ?? this.#newBlock(wordsOf(capacityClass));
    this.#classes[term] = capacityClass;
    const chunk = this.#chunkOf(term);
    if (chunk === null) throw new Error('a block of no page');
    chunk[0] = 0;
    return chunk;
  }

  #newBlock(words: number): number {
    if (this.#used + words > PAGE_WORDS) {
      this.#pages.push(new Uint32Array(this.#pages.length === 0 ? FIRST_PAGE_WORDS : PAGE_WORDS));
      this.#used = 0;
    }
    const last = this.#pages.length - 1;
    const block = last * PAGE_WORDS + this.#used + 1;
    this.#used += words;
    this.#pages[last] = roomyPage(this.#pages[last] ?? new Uint32Array(0), this.#used);
    return block;
  }
}

function roomyPage(page: Uint32Array, words: number): Uint32Array {
  if (page.length >= words) return page;
  const copy = new Uint32Array(Math.min(Math.max(words, page.length * 2), PAGE_WORDS));
  copy.set(page);
  return copy;
}
