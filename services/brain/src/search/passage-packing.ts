import { sentenceSpans, skipSpace, trimEnd } from './sentences.ts';
import type { Span } from './sentences.ts';

/** Upper bound of a passage in UTF-16 units. */
export const MAX_PASSAGE_LENGTH = 1_200;

/** Where to cut a sentence that is too long: after the last line end, else the last space, of the second half. */
function cutPoint(text: string, start: number): number {
  const limit = start + MAX_PASSAGE_LENGTH;
  const half = start + MAX_PASSAGE_LENGTH / 2;
  const window = text.slice(half, limit);
  const space = Math.max(window.lastIndexOf('\n'), 0) || Math.max(window.lastIndexOf(' '), 0);
  if (space > 0) return half + space + 1;
  const unit = text.charCodeAt(limit);
  return unit >= 0xdc00 && unit <= 0xdfff ? limit - 1 : limit;
}

function cutLong([start, end]: Span, text: string): Span[] {
  const pieces: Span[] = [];
  let from = start;
  while (end - from > MAX_PASSAGE_LENGTH) {
    const cut = cutPoint(text, from);
    pieces.push([from, trimEnd(text, from, cut)]);
    from = skipSpace(text, cut, end);
  }
  pieces.push([from, end]);
  return pieces.filter(([from, to]) => to > from);
}

/** The blocks of text[from, to) between blank lines, trimmed. */
export function paragraphSpans(text: string, from: number, to: number): Span[] {
  const spans: Span[] = [];
  let start = -1;
  for (let line = from; line < to; ) {
    const newline = text.indexOf('\n', line);
    const next = newline < 0 || newline >= to ? to : newline + 1;
    const blank = skipSpace(text, line, next) === next;
    if (!blank && start < 0) start = line;
    if (blank && start >= 0) {
      spans.push([start, trimEnd(text, start, line)]);
      start = -1;
    }
    line = next;
  }
  if (start >= 0) spans.push([start, trimEnd(text, start, to)]);
  return spans;
}

/**
 * Joins neighbouring blocks (in order, disjoint) into passages of at most MAX_PASSAGE_LENGTH; a longer block is
 * split at its sentences, a longer sentence at a line end or space.
 */
export function packSpans(text: string, blocks: readonly Span[]): Span[] {
  const packed: Span[] = [];
  let start = -1;
  let end = -1;
  const add = ([from, to]: Span): void => {
    if (start >= 0 && to - start <= MAX_PASSAGE_LENGTH) end = to;
    else {
      if (start >= 0) packed.push([start, end]);
      [start, end] = [from, to];
    }
  };
  for (const block of blocks) {
    if (block[1] - block[0] <= MAX_PASSAGE_LENGTH) add(block);
    else for (const sentence of sentenceSpans(text, block[0], block[1])) cutLong(sentence, text).forEach(add);
  }
  if (start >= 0) packed.push([start, end]);
  return packed;
}
