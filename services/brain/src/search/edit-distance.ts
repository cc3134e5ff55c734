/** Rows of the table: two above the one that is filled. */
let rows = [new Uint32Array(66), new Uint32Array(66), new Uint32Array(66)] as const;

/**
 * How many letters must be left out, put in, replaced or exchanged with their neighbour to make one word the other;
 * `most` + 1 when more than `most`. Only what lies between their common beginning and end is compared, and of that only
 * what is no more than `most` places apart.
 */
export function editDistance(left: string, right: string, most: number): number {
  let [start, leftEnd, rightEnd] = [0, left.length, right.length];
  if (Math.abs(leftEnd - rightEnd) > most) return most + 1;
  while (start < leftEnd && start < rightEnd && left.charCodeAt(start) === right.charCodeAt(start)) start += 1;
  while (leftEnd > start && rightEnd > start && left.charCodeAt(leftEnd - 1) === right.charCodeAt(rightEnd - 1)) {
    leftEnd -= 1;
    rightEnd -= 1;
  }
  if (leftEnd === start || rightEnd === start) return Math.min(leftEnd - start + rightEnd - start, most + 1);
  return betweenEnds({ text: left, start, end: leftEnd }, { text: right, start, end: rightEnd }, most);
}

interface Span {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

function betweenEnds(left: Span, right: Span, most: number): number {
  const [height, width] = [left.end - left.start, right.end - right.start];
  if (rows[0].length < width + 2) {
    rows = [new Uint32Array(width + 2), new Uint32Array(width + 2), new Uint32Array(width + 2)];
  }
  let [twoAbove, above, current] = rows;
  for (let at = 0; at <= Math.min(width, most + 1); at += 1) above[at] = at;
  for (let row = 1; row <= height; row += 1) {
    if (fillRow({ left, right, row, most }, twoAbove, above, current) > most) return most + 1;
    [twoAbove, above, current] = [above, current, twoAbove];
  }
  return Math.min(above[width] ?? Infinity, most + 1);
}

interface RowToFill {
  readonly left: Span;
  readonly right: Span;
  readonly row: number;
  readonly most: number;
}

/** Fills one row within the band and a wall on either side of it; answers its least value. */
function fillRow(
  { left, right, row, most }: RowToFill,
  twoAbove: Uint32Array,
  above: Uint32Array,
  current: Uint32Array,
): number {
  const width = right.end - right.start;
  const [from, to] = [Math.max(1, row - most), Math.min(width, row + most)];
  const mine = left.text.charCodeAt(left.start + row - 1);
  const mineBefore = row > 1 ? left.text.charCodeAt(left.start + row - 2) : Number.NaN;
  let before = from === 1 ? row : most + 1;
  current[from - 1] = before;
  let least = before;
  for (let at = from; at <= to; at += 1) {
    const theirs = right.text.charCodeAt(right.start + at - 1);
    let value = Math.min((above[at - 1] ?? 0) + (mine === theirs ? 0 : 1), (above[at] ?? 0) + 1, before + 1);
    const areExchanged = at > 1 && mineBefore === theirs && mine === right.text.charCodeAt(right.start + at - 2);
    if (areExchanged) value = Math.min(value, (twoAbove[at - 2] ?? 0) + 1);
    current[at] = value;
    least = Math.min(least, value);
    before = value;
  }
  current[to + 1] = most + 1;
  return least;
}
