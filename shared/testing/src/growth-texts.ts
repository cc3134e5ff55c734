/** Texts of the nasty kinds at any size. */

/** At least so many UTF-16 units, about. */
export type TextOfSize = (size: number) => string;

export const repeated = (unit: string, size: number): string =>
  unit.repeat(Math.ceil(size / unit.length)).slice(0, size);

export function numbered(size: number, unit: (at: number) => string): string {
  const parts: string[] = [];
  for (let length = 0, at = 0; length < size; at += 1) {
    const part = unit(at);
    parts.push(part);
    length += part.length;
  }
  return parts.join('');
}

/** For whatever takes a text, be it a name, a pattern or a page. */
export const NASTY_TEXTS: readonly (readonly [name: string, TextOfSize])[] = [
  ['one long word', (size) => 'a'.repeat(size)],
  ['blanks', (size) => `a${' '.repeat(size)}b`],
  ['line ends', (size) => `a${'\n'.repeat(size)}b`],
  ['marks on one letter', (size) => `a${repeated('\u0301\u0323', size)}`],
  ['dots', (size) => repeated('a.', size)],
  ['slashes and dashes', (size) => repeated('a/b-', size)],
  ['digits and colons', (size) => repeated('1:', size)],
  ['brackets', (size) => '['.repeat(size)],
];
