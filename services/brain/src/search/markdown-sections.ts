import { skipSpace, trimEnd } from './sentences.ts';

/** A run of Markdown below one heading: text[start, end) without the heading line, and the heading path above it. */
export interface Section {
  readonly headings: readonly string[];
  readonly start: number;
  readonly end: number;
  /** The heading line itself, for a section without text. */
  readonly headingStart: number;
}

/** A longer line is text: headings repeat in every passage below them. */
const MAX_HEADING_LENGTH = 200;

interface Line {
  readonly start: number;
  /** Without the line end. */
  readonly end: number;
  readonly next: number;
}

interface Fence {
  readonly unit: string;
  readonly length: number;
}

interface Heading {
  readonly level: number;
  readonly text: string;
  /** First unit of the heading's own lines. */
  readonly start: number;
}

/** How often `unit` repeats from `index` on. */
function runLength(text: string, index: number, end: number): number {
  const unit = text.charCodeAt(index);
  let last = index;
  while (last < end && text.charCodeAt(last) === unit) last += 1;
  return last - index;
}

/** `` ``` `` or `~~~` with its length, or null. */
function fenceMark(text: string, line: Line): Fence | null {
  const start = skipSpace(text, line.start, line.end);
  const unit = text.charAt(start);
  if (start - line.start > 3 || (unit !== '`' && unit !== '~')) return null;
  const length = runLength(text, start, line.end);
  return length >= 3 ? { unit, length } : null;
}

function atxHeading(text: string, line: Line): Heading | null {
  const start = skipSpace(text, line.start, line.end);
  if (start - line.start > 3 || text.charAt(start) !== '#') return null;
  if (line.end - start > MAX_HEADING_LENGTH) return null;
  const level = runLength(text, start, line.end);
  const body = skipSpace(text, start + level, line.end);
  if (level > 6 || (body === start + level && body < line.end)) return null;
  let end = trimEnd(text, body, line.end);
  while (end > body && text.charAt(end - 1) === '#') end -= 1;
  return { level, text: text.slice(body, trimEnd(text, body, end)), start: line.start };
}

/** A line of only `=` or `-` under the one line of a paragraph makes that line a heading. */
function setextHeading(text: string, line: Line, above: Line | null): Heading | null {
  const unit = text.charAt(line.start);
  if (above === null || (unit !== '=' && unit !== '-') || above.end - above.start > MAX_HEADING_LENGTH) return null;
  const end = trimEnd(text, line.start, line.end);
  if (end - line.start < 2 || runLength(text, line.start, end) !== end - line.start) return null;
  if ('-*+>|#'.includes(text.charAt(above.start))) return null;
  const title = text.slice(skipSpace(text, above.start, above.end), trimEnd(text, above.start, above.end));
  return { level: unit === '=' ? 1 : 2, text: title, start: above.start };
}

function* linesOf(text: string, from: number): Generator<Line> {
  for (let start = from; start < text.length; ) {
    const newline = text.indexOf('\n', start);
    const next = newline < 0 ? text.length : newline + 1;
    yield { start, end: newline < 0 ? text.length : newline, next };
    start = next;
  }
}

/** Reads line by line: which heading is open, whether code is fenced, which paragraph line is above. */
class SectionReader {
  readonly sections: Section[] = [];
  readonly #text: string;
  readonly #path: Heading[] = [];
  #open: { headingStart: number; start: number };
  #fence: Fence | null = null;
  /** The line above when it is the only line of its paragraph so far. */
  #aloneAbove: Line | null = null;
  #isParagraphOpen = false;

  constructor(text: string, from: number) {
    this.#text = text;
    this.#open = { headingStart: from, start: from };
  }

  read(line: Line): void {
    const isCode = this.#readFence(line);
    const heading = isCode ? null : (atxHeading(this.#text, line) ?? setextHeading(this.#text, line, this.#aloneAbove));
    if (heading !== null) this.#enter(heading, line.next);
    const isText = !isCode && heading === null && skipSpace(this.#text, line.start, line.end) < line.end;
    this.#aloneAbove = isText && !this.#isParagraphOpen ? line : null;
    this.#isParagraphOpen = isText;
  }

  /** The headings read and not yet left, outermost first. */
  get path(): string[] {
    return this.#path.map((heading) => heading.text);
  }

  close(end: number): void {
    this.sections.push({ headings: this.path, ...this.#open, end });
  }

  /** True for a line of fenced code, fences included. */
  #readFence(line: Line): boolean {
    const mark = fenceMark(this.#text, line);
    const open = this.#fence;
    if (open === null) this.#fence = mark;
    else if (mark !== null && mark.unit === open.unit && mark.length >= open.length) this.#fence = null;
    return open !== null || mark !== null;
  }

  #enter(heading: Heading, next: number): void {
    this.close(heading.start);
    while ((this.#path.at(-1)?.level ?? 0) >= heading.level) this.#path.pop();
    this.#path.push(heading);
    this.#open = { headingStart: heading.start, start: next };
  }
}

/** The sections of text[from..] in order. Headings inside fenced code do not count. Linear. */
export function markdownSections(text: string, from: number): Section[] {
  const reader = new SectionReader(text, from);
  for (const line of linesOf(text, from)) reader.read(line);
  reader.close(text.length);
  return reader.sections;
}

/** The text of the first heading, null without any; what follows it is not read. */
export function firstHeading(text: string, from: number): string | null {
  const reader = new SectionReader(text, from);
  for (const line of linesOf(text, from)) {
    reader.read(line);
    const [first] = reader.path;
    if (first !== undefined) return first;
  }
  return null;
}
