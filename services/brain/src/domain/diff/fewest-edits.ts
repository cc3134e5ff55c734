/** The fewest edits between two lists of numbers (Myers), as long as they are few. */
import type { LineEdit } from './line-edits.ts';

/** More than this many lines gone or come is not worth the memory. */
const MAX_EDITS = 1000;

/** Null when it would take more edits or steps than it may; `budget` is used up as it goes. */
export function fewestEdits(before: Int32Array, after: Int32Array, budget: { steps: number }): LineEdit[] | null {
  const head = commonHead(before, after);
  const tail = commonTail(before.subarray(head), after.subarray(head));
  const core = before.subarray(head, before.length - tail);
  const other = after.subarray(head, after.length - tail);
  if (core.length === 0 && other.length === 0) return [];
  if (core.length === 0 || other.length === 0)
    return [{ from: head, removed: core.length, to: head, added: other.length }];
  const trace = search(core, other, budget);
  return trace === null ? null : editsAlong(trace, core.length, other.length, head);
}

function commonHead(before: Int32Array, after: Int32Array): number {
  const most = Math.min(before.length, after.length);
  let length = 0;
  while (length < most && before[length] === after[length]) length += 1;
  return length;
}

function commonTail(before: Int32Array, after: Int32Array): number {
  const most = Math.min(before.length, after.length);
  let length = 0;
  while (length < most && before.at(-1 - length) === after.at(-1 - length)) length += 1;
  return length;
}

/** For each number of edits how far each diagonal was followed: entry `k + edits` is the place on diagonal `k`. */
type Trace = readonly Int32Array[];

function search(before: Int32Array, after: Int32Array, budget: { steps: number }): Trace | null {
  const most = Math.min(before.length + after.length, MAX_EDITS);
  const trace: Int32Array[] = [];
  for (let edits = 0; edits <= most; edits += 1) {
    const reached = new Int32Array(2 * edits + 1);
    trace.push(reached);
    for (let k = -edits; k <= edits; k += 2) {
      const start = startOf(trace, edits, k);
      const end = slide(before, after, start, k);
      budget.steps -= 1 + end - start;
      reached[k + edits] = end;
      if (end >= before.length && end - k >= after.length) return trace;
    }
    if (budget.steps < 0) return null;
  }
  return null;
}

/** Where diagonal `k` is entered with the last of the edits: by a removal (from below) or an addition (from above). */
function startOf(trace: Trace, edits: number, k: number): number {
  if (edits === 0) return 0;
  return isAddition(trace, edits, k) ? placeOn(trace, edits - 1, k + 1) : placeOn(trace, edits - 1, k - 1) + 1;
}

function isAddition(trace: Trace, edits: number, k: number): boolean {
  if (k === -edits) return true;
  return k !== edits && placeOn(trace, edits - 1, k - 1) < placeOn(trace, edits - 1, k + 1);
}

function placeOn(trace: Trace, edits: number, k: number): number {
  return trace[edits]?.[k + edits] ?? 0;
}

function slide(before: Int32Array, after: Int32Array, start: number, k: number): number {
  let place = start;
  while (place < before.length && place - k < after.length && before[place] === after[place - k]) place += 1;
  return place;
}

/** Walks the trace back from the end. */
function editsAlong(trace: Trace, beforeLength: number, afterLength: number, offset: number): LineEdit[] {
  const edits: LineEdit[] = [];
  let k = beforeLength - afterLength;
  for (let left = trace.length - 1; left > 0; left -= 1) {
    const start = startOf(trace, left, k);
    const adds = isAddition(trace, left, k);
    const from = adds ? start : start - 1;
    const to = adds ? start - k - 1 : start - k;
    edits.push({ from: from + offset, removed: adds ? 0 : 1, to: to + offset, added: adds ? 1 : 0 });
    k += adds ? 1 : -1;
  }
  return edits.reverse();
}
