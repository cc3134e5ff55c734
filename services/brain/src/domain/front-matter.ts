/**
 * Where the front matter of a Markdown text is. Search, hidden fields, islands and merges all ask here: were there two
 * opinions, one of them would show what the other hides.
 */

/** Places in the text. */
export interface FrontMatter {
  /** The YAML between the fences: text[start, end). */
  readonly start: number;
  readonly end: number;
  /** Where the body begins. */
  readonly body: number;
}

/** Blanks of every kind may follow, and lines end as in YAML: by a line feed, a carriage return or both. */
const OPENING = /^\uFEFF?---[^\S\r\n]*(?:\r\n?|\n|$)/;
const CLOSING = /(?<=[\r\n])---[^\S\r\n]*(?:\r\n?|\n|$)/g;

/** Null when the text has none. */
export function findFrontMatter(text: string): FrontMatter | null {
  const start = OPENING.exec(text)?.[0].length;
  if (start === undefined) return null;
  CLOSING.lastIndex = start;
  const closing = CLOSING.exec(text);
  return closing === null ? null : { start, end: closing.index, body: CLOSING.lastIndex };
}

/** Whether a front matter begins, be it that it never ends. */
export function opensFrontMatter(text: string): boolean {
  return OPENING.test(text);
}
