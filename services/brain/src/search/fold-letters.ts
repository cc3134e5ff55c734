/** Letters without their marks, as most people type them. */

export function isAscii(text: string): boolean {
  return !/[^\x00-\x7f]/.test(text);
}

/**
 * NFKC with marks folded, letter case kept. The kana voicing marks stay: they tell different letters apart.
 * Marks are dropped before the normalisation too, because its reordering of a long run of marks is quadratic.
 */
export function foldMarks(text: string): string {
  if (isAscii(text)) return text;
  const bare = text.replace(/[\p{M}--[\u3099\u309a]]/gv, '').normalize('NFKD');
  return bare
    .replace(/[\p{M}--[\u3099\u309a]]/gv, '')
    .normalize('NFC')
    .replaceAll('ß', 'ss');
}

/** Letters that no normalisation takes apart. */
const UNDIVIDED: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ẞ: 'SS',
    æ: 'ae',
    Æ: 'Ae',
    œ: 'oe',
    Œ: 'Oe',
    ø: 'o',
    Ø: 'O',
    ł: 'l',
    Ł: 'L',
    đ: 'd',
    Đ: 'D',
  }),
);

/** `foldMarks`, and letters that it leaves as they are to those that most people type for them. */
export function foldLetters(text: string): string {
  return foldMarks(text).replaceAll(/[æœøłđẞ]/gi, (letter) => UNDIVIDED.get(letter) ?? letter);
}
