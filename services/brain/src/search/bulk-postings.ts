import { type Chunk, CHUNK_ENTRIES, PostingList } from './posting-list.ts';

/** Words of a list of so many entries: two each, and one per chunk. */
function wordsOf(entries: number): number {
  return entries * 2 + Math.ceil(entries / CHUNK_ENTRIES);
}

/**
 * The posting lists of many rows at once, all in one piece of memory: first every occurrence is counted, then, in
 * ascending order of the rows, every one is put in its place.
 */
export class BulkPostings {
  /** By term id: entries to come, then entries put. */
  readonly #counts: Uint32Array;
  readonly #filled: Uint32Array;
  readonly #starts: Float64Array;
  #words = new Uint32Array(0);

  constructor(idBound: number) {
    this.#counts = new Uint32Array(idBound);
    this.#filled = new Uint32Array(idBound);
    this.#starts = new Float64Array(idBound);
  }

  count(term: number): void {
    this.#counts[term] = (this.#counts[term] ?? 0) + 1;
  }

  /** Between the last `count` and the first `put`. */
  layOut(): void {
    let words = 0;
    for (const [term, entries] of this.#counts.entries()) {
      this.#starts[term] = words;
      words += wordsOf(entries);
    }
    this.#words = new Uint32Array(words);
  }

  put(term: number, row: number, packed: number): void {
    const entry = this.#filled[term] ?? 0;
    this.#filled[term] = entry + 1;
    // Before it lie its predecessors and the first word of each chunk up to its own.
    const at = (this.#starts[term] ?? 0) + entry * 2 + Math.floor(entry / CHUNK_ENTRIES) + 1;
    this.#words[at] = row;
    this.#words[at + 1] = packed;
  }

  /** The list of a term, null when no row has it. */
  listOf(term: number): PostingList | null {
    const entries = this.#counts[term] ?? 0;
    if (entries === 0) return null;
    const chunks: Chunk[] = [];
    let at = this.#starts[term] ?? 0;
    for (let from = 0; from < entries; from += CHUNK_ENTRIES) {
      const used = Math.min(CHUNK_ENTRIES, entries - from);
      this.#words[at] = used;
      chunks.push(this.#words.subarray(at, at + 1 + used * 2));
      at += 1 + used * 2;
    }
    return new PostingList(chunks, entries);
  }
}
