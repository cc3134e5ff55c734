/** Strict order: does `left` come before `right`? Total over distinct rows. */
type Before = (left: number, right: number) => boolean;

export interface RowOrder {
  readonly before: Before;
  /** By row, where the higher comes first whatever else is; null = something else decides first. */
  readonly scores: Float64Array | null;
}

/** Moves the entry at the heap's root (the worst of those kept) down to its place. */
function sink(heap: number[], before: Before): void {
  let at = 0;
  for (;;) {
    let worst = at;
    for (const child of [2 * at + 1, 2 * at + 2]) {
      if (child < heap.length && before(heap[worst] ?? 0, heap[child] ?? 0)) worst = child;
    }
    if (worst === at) return;
    [heap[at], heap[worst]] = [heap[worst] ?? 0, heap[at] ?? 0];
    at = worst;
  }
}

function rise(heap: number[], before: Before): void {
  let at = heap.length - 1;
  while (at > 0) {
    const parent = (at - 1) >>> 1;
    if (!before(heap[parent] ?? 0, heap[at] ?? 0)) return;
    [heap[at], heap[parent]] = [heap[parent] ?? 0, heap[at] ?? 0];
    at = parent;
  }
}

function heapOf(rows: ArrayLike<number>, count: number, before: Before): number[] {
  const heap: number[] = [];
  for (let index = 0; index < count; index += 1) {
    heap.push(rows[index] ?? 0);
    rise(heap, before);
  }
  return heap;
}

/** The first `limit` rows in the given order, whatever the order of the input. */
export function topRows(rows: ArrayLike<number>, limit: number, { before, scores }: RowOrder): number[] {
  const count = Math.min(Math.max(limit, 0), rows.length);
  const heap = heapOf(rows, count, before);
  const replaceWorst = (row: number): void => {
    if (!before(row, heap[0] ?? 0)) return;
    heap[0] = row;
    sink(heap, before);
  };
  if (count > 0 && scores !== null) offerByScore(rows, count, scores, heap, replaceWorst);
  else if (count > 0) for (let index = count; index < rows.length; index += 1) replaceWorst(rows[index] ?? 0);
  return heap.sort((left, right) => (before(left, right) ? -1 : 1));
}

/** Nearly all rows are worse than the worst of the heap: those are left out without being held against it. */
function offerByScore(
  rows: ArrayLike<number>,
  from: number,
  scores: Float64Array,
  heap: readonly number[],
  offer: (row: number) => void,
): void {
  let least = scores[heap[0] ?? 0] ?? 0;
  for (let index = from; index < rows.length; index += 1) {
    const row = rows[index] ?? 0;
    if ((scores[row] ?? 0) < least) continue;
    offer(row);
    least = scores[heap[0] ?? 0] ?? 0;
  }
}

/** The lowest of the `count` highest scores of these rows, of which there are as many at least. */
export function lowestOfBest(scores: Float64Array, rows: Uint32Array, count: number): number {
  const heap = Float64Array.from({ length: count }, (_, index) => scores[rows[index] ?? 0] ?? 0).sort();
  for (let index = count; index < rows.length; index += 1) {
    const score = scores[rows[index] ?? 0] ?? 0;
    if (score > (heap[0] ?? 0)) replaceLowest(heap, score);
  }
  return heap[0] ?? 0;
}

/** Of a heap with the lowest first. */
function replaceLowest(heap: Float64Array, value: number): void {
  let at = 0;
  for (;;) {
    let child = 2 * at + 1;
    if (child >= heap.length) break;
    if (child + 1 < heap.length && (heap[child + 1] ?? 0) < (heap[child] ?? 0)) child += 1;
    const lower = heap[child] ?? 0;
    if (lower >= value) break;
    heap[at] = lower;
    at = child;
  }
  heap[at] = value;
}
