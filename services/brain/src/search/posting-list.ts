/** Entries per full chunk: bounds the work of one insert or removal, however common the term. */
export const CHUNK_ENTRIES = 256;

/** Looking up one row costs about as much as reading so many entries of a list. */
export const LOOKUP_COST = 8;

/** [used entries, row, packed, row, packed, …], rows ascending. */
export type Chunk = Uint32Array;

function entriesOf(chunk: Chunk): number {
  return chunk[0] ?? 0;
}

function resized(chunk: Chunk, entries: number): Chunk {
  const copy = new Uint32Array(1 + entries * 2);
  copy.set(chunk.subarray(0, 1 + Math.min(entries, entriesOf(chunk)) * 2));
  return copy;
}

function sliceOf(chunk: Chunk, from: number, to: number): Chunk {
  const copy = new Uint32Array(1 + CHUNK_ENTRIES * 2);
  copy[0] = to - from;
  copy.set(chunk.subarray(1 + from * 2, 1 + to * 2), 1);
  return copy;
}

/** -1 without any. */
function lastRow(chunk: Chunk | undefined): number {
  return chunk === undefined ? -1 : (chunk[entriesOf(chunk) * 2 - 1] ?? -1);
}

/** First entry of the chunk whose row is not below `row`. */
export function lowerBound(chunk: Chunk, row: number): number {
  let low = 0;
  let high = entriesOf(chunk);
  if (high > 0 && (chunk[high * 2 - 1] ?? 0) < row) return high;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((chunk[1 + middle * 2] ?? 0) < row) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * The rows that hold one term, each with its packed term frequencies (never 0), in small sorted chunks: an insert or
 * removal moves at most one chunk's bytes, and nothing dead stays behind.
 */
export class PostingList {
  /** Read only for others; see Chunk. */
  readonly chunks: Chunk[];
  /** Number of rows, the term's document frequency. */
  count: number;

  /** Takes over chunks that hold so many entries. */
  constructor(chunks: Chunk[] = [], count = 0) {
    this.chunks = chunks;
    this.count = count;
  }

  copy(): PostingList {
    return new PostingList(
      this.chunks.map((chunk) => chunk.slice()),
      this.count,
    );
  }

  /** Packed frequencies of a row, 0 when the term is not in it. */
  get(row: number): number {
    const chunk = this.chunks[this.#chunkFor(row)];
    if (chunk === undefined) return 0;
    const at = 1 + lowerBound(chunk, row) * 2;
    return at <= entriesOf(chunk) * 2 && chunk[at] === row ? (chunk[at + 1] ?? 0) : 0;
  }

  /** The row must not be in the list. */
  insert(row: number, packed: number): void {
    this.count += 1;
    const last = this.chunks.length - 1;
    const isBehindAll = lastRow(this.chunks[last]) < row;
    const index = isBehindAll ? last : this.#chunkFor(row);
    const chunk = this.chunks[index];
    if (chunk === undefined) {
      this.chunks.push(Uint32Array.of(1, row, packed));
      return;
    }
    const at = lowerBound(chunk, row);
    const used = entriesOf(chunk);
    if (used < CHUNK_ENTRIES) this.chunks[index] = this.#place(chunk, at, row, packed);
    else if (at === used && index === this.chunks.length - 1) this.chunks.push(Uint32Array.of(1, row, packed));
    else {
      const half = CHUNK_ENTRIES / 2;
      this.chunks.splice(index, 1, sliceOf(chunk, 0, half), sliceOf(chunk, half, used));
      this.insert(row, packed);
      this.count -= 1;
    }
  }

  /** Of a row behind all of the list, which many follow. */
  append(row: number, packed: number): void {
    this.count += 1;
    let chunk = this.chunks.at(-1);
    if (chunk === undefined || entriesOf(chunk) * 2 + 1 >= chunk.length) {
      chunk = new Uint32Array(1 + CHUNK_ENTRIES * 2);
      this.chunks.push(chunk);
    }
    const used = entriesOf(chunk);
    chunk[1 + used * 2] = row;
    chunk[2 + used * 2] = packed;
    chunk[0] = used + 1;
  }

  /** The row must be in the list. */
  remove(row: number): void {
    const index = this.#chunkFor(row);
    const chunk = this.chunks[index];
    if (chunk === undefined) return;
    const at = lowerBound(chunk, row);
    const used = entriesOf(chunk);
    chunk.copyWithin(1 + at * 2, 1 + (at + 1) * 2, 1 + used * 2);
    chunk[0] = used - 1;
    this.count -= 1;
    this.#tidy(index, chunk);
  }

  #place(chunk: Chunk, at: number, row: number, packed: number): Chunk {
    const used = entriesOf(chunk);
    const isFull = chunk.length === 1 + used * 2;
    const roomy = isFull ? resized(chunk, Math.min(CHUNK_ENTRIES, Math.ceil(used * 1.5) + 1)) : chunk;
    roomy.copyWithin(1 + (at + 1) * 2, 1 + at * 2, 1 + used * 2);
    roomy[1 + at * 2] = row;
    roomy[2 + at * 2] = packed;
    roomy[0] = used + 1;
    return roomy;
  }

  /** After a removal: drops an empty chunk, joins small neighbours, gives unused room back. */
  #tidy(index: number, chunk: Chunk): void {
    const used = entriesOf(chunk);
    const next = this.chunks[index + 1];
    if (used === 0) this.chunks.splice(index, 1);
    else if (next !== undefined && used + entriesOf(next) <= CHUNK_ENTRIES / 2) {
      const joined = resized(chunk, CHUNK_ENTRIES);
      joined.set(next.subarray(1, 1 + entriesOf(next) * 2), 1 + used * 2);
      joined[0] = used + entriesOf(next);
      this.chunks.splice(index, 2, joined);
    } else if (chunk.length > 16 && used * 8 < chunk.length) this.chunks[index] = resized(chunk, used * 2);
  }

  /** The last chunk whose first row is not above `row`, else the first chunk. */
  #chunkFor(row: number): number {
    let low = 0;
    let high = this.chunks.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if ((this.chunks[middle]?.[1] ?? 0) <= row) low = middle;
      else high = middle - 1;
    }
    return Math.max(low, 0);
  }
}
