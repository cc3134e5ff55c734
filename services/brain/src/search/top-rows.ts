/** Strict order: does `left` come before `right`? Total over distinct rows. */
export type Before = (left: number, right: number) => boolean;

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

/** The first `limit` rows in the given order, whatever the order of the input. */
export function topRows(rows: ArrayLike<number>, limit: number, before: Before): number[] {
  const heap: number[] = [];
  if (limit <= 0) return heap;
  for (let index = 0; index < rows.length; index += 1) {
    const row = rows[index] ?? 0;
    if (heap.length < limit) {
      heap.push(row);
      rise(heap, before);
    } else if (before(row, heap[0] ?? 0)) {
      heap[0] = row;
      sink(heap, before);
    }
  }
  return heap.sort((left, right) => (before(left, right) ? -1 : 1));
}
