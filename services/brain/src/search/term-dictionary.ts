import { stem } from './stem.ts';
import { grown } from './growable.ts';
import { ownCopy } from './own-copy.ts';

const REMEMBERED_WORDS = 16_384;
const FIRST_SLOTS = 64;
/** Less than this much of vanished terms is not worth moving the others for. */
const SPARE_BYTES = 8_192;
/** Added to the length of a term that has two bytes for each of its UTF-16 units instead of one. */
const WIDE = 0x8000;

/**
 * Terms and their small integer ids, counted so that ids of vanished terms are used again. A term costs its own bytes
 * and about thirty: all of them lie in one piece of memory and are found by their hashes.
 */
export class TermDictionary {
  /** Open addressing: id + 1, 0 = free. */
  #slots = new Uint32Array(FIRST_SLOTS);
  /** By id. */
  #hashes = new Uint32Array(0);
  #starts = new Uint32Array(0);
  #lengths = new Uint16Array(0);
  #uses = new Uint32Array(0);
  #letters = new Uint32Array(0);
  #bytes: Buffer = Buffer.alloc(0);
  #units = new Uint16Array(32);
  #bytesUsed = 0;
  #bytesDead = 0;
  #idBound = 0;
  #size = 0;
  #free: number[] = [];
  /** Ids of the stems of words, as long as no id has become another term's. */
  #words = new Map<string, number>();

  /** Number of terms in use. */
  get size(): number {
    return this.#size;
  }

  /** Every id is below this bound. */
  get idBound(): number {
    return this.#idBound;
  }

  /** In memory. */
  get bytes(): number {
    const { byteLength } = this.#slots;
    return byteLength + this.#idBound * 18 + this.#bytes.byteLength + this.#words.size * 80;
  }

  find(term: string): number | undefined {
    const id = this.#slots[this.#slotOf(term, hashOf(term))] ?? 0;
    return id === 0 ? undefined : id - 1;
  }

  termOf(id: number): string {
    const length = this.#lengths[id] ?? 0;
    const start = this.#starts[id] ?? 0;
    return length < WIDE
      ? this.#bytes.toString('latin1', start, start + length)
      : this.#bytes.toString('utf16le', start, start + (length - WIDE) * 2);
  }

  /** UTF-16 units, in memory that the next call uses again. */
  unitsOf(id: number): Uint16Array {
    const told = this.#lengths[id] ?? 0;
    const isWide = told >= WIDE;
    const length = isWide ? told - WIDE : told;
    this.#units = grown(this.#units, length);
    const start = this.#starts[id] ?? 0;
    for (let index = 0; index < length; index += 1) {
      const at = start + (isWide ? 2 * index : index);
      this.#units[index] = (this.#bytes[at] ?? 0) + (isWide ? (this.#bytes[at + 1] ?? 0) * 256 : 0);
    }
    return this.#units.subarray(0, length);
  }

  /**
   * The terms in use with that first UTF-16 unit and so many of them whose `lettersOf` may be right, by looking at every
   * term.
   */
  idsStarting(unit: number, least: number, most: number, mayHave: (letters: number) => boolean): number[] {
    const ids: number[] = [];
    for (let id = 0; id < this.#idBound; id += 1) {
      const length = this.#lengths[id] ?? 0;
      const units = length < WIDE ? length : length - WIDE;
      if (length === 0 || units < least || units > most) continue;
      if (mayHave(this.#letters[id] ?? 0) && this.#firstUnit(id) === unit) ids.push(id);
    }
    return ids;
  }

  /** The terms in use of at most so many UTF-16 units that have this text in them, by looking at every term. */
  idsHolding(text: string, most: number): number[] {
    const letters = lettersOf(text);
    const ids: number[] = [];
    for (let id = 0; id < this.#idBound; id += 1) {
      const length = this.#lengths[id] ?? 0;
      const units = length < WIDE ? length : length - WIDE;
      if (length === 0 || units > most || (letters & ~(this.#letters[id] ?? 0)) !== 0) continue;
      if (this.termOf(id).includes(text)) ids.push(id);
    }
    return ids;
  }

  #firstUnit(id: number): number | undefined {
    const start = this.#starts[id] ?? 0;
    const low = this.#bytes[start];
    return (this.#lengths[id] ?? 0) < WIDE ? low : (low ?? 0) + (this.#bytes[start + 1] ?? 0) * 256;
  }

  /** The term's id, with one use more. */
  retain(term: string): number {
    const hash = hashOf(term);
    const found = this.#slots[this.#slotOf(term, hash)] ?? 0;
    const id = found === 0 ? this.#add(term, hash) : found - 1;
    this.#uses[id] = (this.#uses[id] ?? 0) + 1;
    return id;
  }

  /** As `retain` of the word's stem, with one look-up for a word that was seen lately. */
  retainWord(word: string): number {
    const known = this.#words.get(word);
    if (known === undefined) {
      const id = this.retain(stem(word));
      if (this.#words.size >= REMEMBERED_WORDS) this.#words = new Map();
      this.#words.set(ownCopy(word), id);
      return id;
    }
    this.#uses[known] = (this.#uses[known] ?? 0) + 1;
    return known;
  }

  /** One use fewer for each id of the list. */
  release(ids: Iterable<number>): void {
    for (const id of ids) {
      const left = (this.#uses[id] ?? 0) - 1;
      this.#uses[id] = left;
      if (left === 0) this.#drop(id);
    }
    if (this.#size === 0) this.#clear();
    else if (this.#bytesDead > SPARE_BYTES && this.#bytesDead * 2 > this.#bytesUsed) this.#moveTogether();
  }

  /** One use more for each id of the list; the ids must be in use. */
  hold(ids: ArrayLike<number>): void {
    for (let at = 0; at < ids.length; at += 1) {
      const id = ids[at] ?? 0;
      this.#uses[id] = (this.#uses[id] ?? 0) + 1;
    }
  }

  /** Where the term is, or the free slot where it has to go. */
  #slotOf(term: string, hash: number): number {
    const mask = this.#slots.length - 1;
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const id = (this.#slots[slot] ?? 0) - 1;
      if (id < 0 || (this.#hashes[id] === hash && this.#holds(id, term))) return slot;
    }
  }

  #holds(id: number, term: string): boolean {
    const length = this.#lengths[id] ?? 0;
    const start = this.#starts[id] ?? 0;
    const bytes = this.#bytes;
    if (length >= WIDE) return length - WIDE === term.length && this.termOf(id) === term;
    if (length !== term.length) return false;
    for (let index = 0; index < length; index += 1) {
      if (bytes[start + index] !== term.charCodeAt(index)) return false;
    }
    return true;
  }

  #add(term: string, hash: number): number {
    if ((this.#size + 1) * 3 > this.#slots.length * 2) this.#growSlots();
    const id = this.#free.pop() ?? this.#idBound++;
    this.#hashes = grown(this.#hashes, id + 1);
    this.#starts = grown(this.#starts, id + 1);
    this.#lengths = grown(this.#lengths, id + 1);
    this.#uses = grown(this.#uses, id + 1);
    this.#letters = grown(this.#letters, id + 1);
    const start = this.#bytesUsed;
    const isWide = /[^\0-\xff]/.test(term);
    this.#bytesUsed += isWide ? term.length * 2 : term.length;
    this.#bytes = roomyBuffer(this.#bytes, this.#bytesUsed);
    this.#bytes.write(term, start, isWide ? 'utf16le' : 'latin1');
    this.#hashes[id] = hash;
    this.#letters[id] = lettersOf(term);
    this.#starts[id] = start;
    this.#lengths[id] = isWide ? term.length + WIDE : term.length;
    this.#slots[this.#slotOf(term, hash)] = id + 1;
    this.#size += 1;
    return id;
  }

  #drop(id: number): void {
    const mask = this.#slots.length - 1;
    let gap = (this.#hashes[id] ?? 0) & mask;
    while (this.#slots[gap] !== id + 1) gap = (gap + 1) & mask;
    // Whoever would not be found over the gap moves into it.
    for (let slot = (gap + 1) & mask; this.#slots[slot] !== 0; slot = (slot + 1) & mask) {
      const other = this.#slots[slot] ?? 0;
      const home = (this.#hashes[other - 1] ?? 0) & mask;
      if (((slot - home) & mask) < ((slot - gap) & mask)) continue;
      this.#slots[gap] = other;
      gap = slot;
    }
    this.#slots[gap] = 0;
    this.#bytesDead += bytesOfLength(this.#lengths[id] ?? 0);
    this.#lengths[id] = 0;
    this.#size -= 1;
    this.#free.push(id);
    if (this.#words.size > 0) this.#words = new Map();
  }

  #growSlots(): void {
    const before = this.#slots;
    this.#slots = new Uint32Array(before.length * 2);
    const mask = this.#slots.length - 1;
    for (const entry of before) {
      if (entry === 0) continue;
      let slot = (this.#hashes[entry - 1] ?? 0) & mask;
      while (this.#slots[slot] !== 0) slot = (slot + 1) & mask;
      this.#slots[slot] = entry;
    }
  }

  #moveTogether(): void {
    const moved = Buffer.alloc(this.#bytesUsed - this.#bytesDead);
    let at = 0;
    for (let id = 0; id < this.#idBound; id += 1) {
      const start = this.#starts[id] ?? 0;
      this.#starts[id] = at;
      at += this.#bytes.copy(moved, at, start, start + bytesOfLength(this.#lengths[id] ?? 0));
    }
    this.#bytes = moved;
    this.#bytesUsed = at;
    this.#bytesDead = 0;
  }

  #clear(): void {
    this.#slots = new Uint32Array(FIRST_SLOTS);
    this.#hashes = new Uint32Array(0);
    this.#starts = new Uint32Array(0);
    this.#lengths = new Uint16Array(0);
    this.#uses = new Uint32Array(0);
    this.#letters = new Uint32Array(0);
    this.#bytes = Buffer.alloc(0);
    this.#bytesUsed = 0;
    this.#bytesDead = 0;
    this.#idBound = 0;
    this.#free = [];
    this.#words = new Map();
  }
}

function bytesOfLength(length: number): number {
  return length < WIDE ? length : (length - WIDE) * 2;
}

/** Which letters a term has, as bits that some letters share: terms without them in common are told apart at once. */
export function lettersOf(term: string): number {
  let letters = 0;
  for (let index = 0; index < term.length; index += 1) letters |= 1 << (term.charCodeAt(index) & 31);
  return letters >>> 0;
}

/** FNV-1a over UTF-16 units, mixed so that the low bits differ too. */
function hashOf(term: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < term.length; index += 1) hash = Math.imul(hash ^ term.charCodeAt(index), 0x01000193);
  hash ^= hash >>> 15;
  hash = Math.imul(hash, 0x2c1b3c6d);
  return (hash ^ (hash >>> 13)) >>> 0;
}

function roomyBuffer(buffer: Buffer, bytes: number): Buffer {
  if (buffer.length >= bytes) return buffer;
  const copy = Buffer.alloc(Math.max(bytes, Math.ceil(buffer.length * 1.5), 1_024));
  buffer.copy(copy);
  return copy;
}
