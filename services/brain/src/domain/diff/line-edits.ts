/** Which lines of one text became which of another: exact where little changed, coarse where much did, never slow. */
import { fewestEdits } from './fewest-edits.ts';

/** `removed` lines from `from` on of the first text became `added` lines from `to` on of the second. */
export interface LineEdit {
  readonly from: number;
  readonly removed: number;
  readonly to: number;
  readonly added: number;
}

/** Lines of both texts as numbers: equal numbers, equal lines. */
interface Numbered {
  readonly before: Int32Array;
  readonly after: Int32Array;
  readonly count: number;
}

interface Stretch {
  readonly from: number;
  readonly fromEnd: number;
  readonly to: number;
  readonly toEnd: number;
}

/** Steps that all comparisons of one pair of texts may take together: some tens of milliseconds. */
const MAX_STEPS = 1_500_000;

/** Each line with its end. */
export function linesOf(text: string): string[] {
  const lines: string[] = [];
  for (let start = 0; start < text.length; ) {
    const end = text.indexOf('\n', start) + 1;
    lines.push(end === 0 ? text.slice(start) : text.slice(start, end));
    start = end === 0 ? text.length : end;
  }
  return lines;
}

/** In order, apart from each other by at least one line. */
export function lineEdits(before: readonly string[], after: readonly string[]): LineEdit[] {
  const numbered = numberLines(before, after);
  const budget = { steps: MAX_STEPS };
  const edits: LineEdit[] = [];
  for (const stretch of stretchesBetween(numbered)) {
    const found = fewestEdits(
      numbered.before.subarray(stretch.from, stretch.fromEnd),
      numbered.after.subarray(stretch.to, stretch.toEnd),
      budget,
    ) ?? [{ from: 0, removed: stretch.fromEnd - stretch.from, to: 0, added: stretch.toEnd - stretch.to }];
    for (const edit of found) edits.push({ ...edit, from: edit.from + stretch.from, to: edit.to + stretch.to });
  }
  return joined(edits);
}

function numberLines(before: readonly string[], after: readonly string[]): Numbered {
  const numbers = new Map<string, number>();
  const numbersOf = (lines: readonly string[]): Int32Array => {
    const found = new Int32Array(lines.length);
    for (let place = 0; place < lines.length; place += 1) {
      const line = lines[place] ?? '';
      const known = numbers.get(line);
      found[place] = known ?? numbers.size;
      if (known === undefined) numbers.set(line, numbers.size);
    }
    return found;
  };
  return { before: numbersOf(before), after: numbersOf(after), count: numbers.size };
}

/** What lies between lines that stand once in each text, in an order that both share. */
function stretchesBetween(numbered: Numbered): Stretch[] {
  const stretches: Stretch[] = [];
  let [from, to] = [0, 0];
  for (const [fromEnd, toEnd] of [...anchors(numbered), [numbered.before.length, numbered.after.length] as const]) {
    stretches.push({ from, fromEnd, to, toEnd });
    [from, to] = [fromEnd + 1, toEnd + 1];
  }
  return stretches.filter((stretch) => stretch.from < stretch.fromEnd || stretch.to < stretch.toEnd);
}

const ABSENT = -1;
const REPEATED = -2;

function anchors({ before, after, count }: Numbered): (readonly [number, number])[] {
  const [inBefore, inAfter] = [onlyPlaces(before, count), onlyPlaces(after, count)];
  const candidates: (readonly [number, number])[] = [];
  for (let place = 0; place < before.length; place += 1) {
    const number = before[place] ?? 0;
    const there = inAfter[number] ?? ABSENT;
    if (there >= 0 && inBefore[number] === place) candidates.push([place, there]);
  }
  return longestIncreasing(candidates);
}

function onlyPlaces(lines: Int32Array, count: number): Int32Array {
  const places = new Int32Array(count).fill(ABSENT);
  for (let place = 0; place < lines.length; place += 1) {
    const number = lines[place] ?? 0;
    places[number] = places[number] === ABSENT ? place : REPEATED;
  }
  return places;
}

/** The longest of the pairs in which the second place rises too (patience sorting, n log n). */
function longestIncreasing(pairs: readonly (readonly [number, number])[]): (readonly [number, number])[] {
  const previous = new Int32Array(pairs.length).fill(ABSENT);
  const tails: number[] = [];
  const placeOf = (index: number): number => pairs[index]?.[1] ?? 0;
  for (let index = 0; index < pairs.length; index += 1) {
    let [low, high] = [0, tails.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (placeOf(tails[middle] ?? 0) < placeOf(index)) low = middle + 1;
      else high = middle;
    }
    previous[index] = low === 0 ? ABSENT : (tails[low - 1] ?? ABSENT);
    tails[low] = index;
  }
  const longest: (readonly [number, number])[] = [];
  for (let index = tails.at(-1) ?? ABSENT; index !== ABSENT; index = previous[index] ?? ABSENT) {
    const pair = pairs[index];
    if (pair !== undefined) longest.push(pair);
  }
  return longest.reverse();
}

/** Edits with no line between them are one. */
function joined(edits: readonly LineEdit[]): LineEdit[] {
  const all: LineEdit[] = [];
  for (const edit of edits) {
    const last = all.at(-1);
    const touches = last !== undefined && last.from + last.removed === edit.from && last.to + last.added === edit.to;
    if (!touches) all.push(edit);
    else all.splice(-1, 1, { ...last, removed: last.removed + edit.removed, added: last.added + edit.added });
  }
  return all;
}
