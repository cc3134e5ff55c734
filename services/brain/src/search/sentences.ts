/** A half-open range of UTF-16 indexes: [start, end). */
export type Span = readonly [start: number, end: number];

const NEWLINE = 10;
const WIDE_TERMINATORS = '。！？';

function isSpace(unit: number): boolean {
  return unit === 32 || (unit >= 9 && unit <= 13);
}

function isLowerAscii(unit: number): boolean {
  return unit >= 97 && unit <= 122;
}

/** Index of the first unit from `index` on that is not white space, at most `end`. */
export function skipSpace(text: string, index: number, end: number): number {
  let next = index;
  while (next < end && isSpace(text.charCodeAt(next))) next += 1;
  return next;
}

/** `end` moved left over white space, at least `start`. */
export function trimEnd(text: string, start: number, end: number): number {
  let last = end;
  while (last > start && isSpace(text.charCodeAt(last - 1))) last -= 1;
  return last;
}

function isTerminator(text: string, index: number): boolean {
  const character = text.charAt(index);
  return character === '.' || character === '!' || character === '?';
}

/** A line that begins so is an item of its own: list, quote, table row, heading, code fence. */
function startsItem(text: string, index: number): boolean {
  const character = text.charAt(index);
  if ('-*+'.includes(character)) return isSpace(text.charCodeAt(index + 1));
  return character !== '' && '>|#`•'.includes(character);
}

/** Where white space begins at `index`: does a sentence end here? `next` is the first unit after the white space. */
function isBreak(text: string, start: number, index: number, next: number): boolean {
  const gap = text.slice(index, next);
  const newline = gap.indexOf('\n');
  if (newline >= 0 && (gap.includes('\n', newline + 1) || startsItem(text, next))) return true;
  if (index === start || !isTerminator(text, index - 1)) return false;
  return !isLowerAscii(text.charCodeAt(next));
}

/** The sentences of text[from, to), trimmed, in order; blank lines and list items end one too. Linear. */
export function* sentenceSpans(text: string, from = 0, to = text.length): Generator<Span> {
  let start = skipSpace(text, from, to);
  let index = start;
  while (index < to) {
    if (WIDE_TERMINATORS.includes(text.charAt(index))) {
      yield [start, index + 1];
      start = skipSpace(text, index + 1, to);
      index = start;
    } else if (isSpace(text.charCodeAt(index))) {
      const next = skipSpace(text, index, to);
      if (next < to && isBreak(text, start, index, next)) {
        yield [start, index];
        start = next;
      }
      index = next;
    } else index += 1;
  }
  const end = trimEnd(text, start, to);
  if (end > start) yield [start, end];
}

/** How many line ends are in text[from, to). */
export function countNewlines(text: string, from: number, to: number): number {
  let count = 0;
  for (let index = from; index < to; index += 1) if (text.charCodeAt(index) === NEWLINE) count += 1;
  return count;
}
