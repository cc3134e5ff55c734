/** Letters that are written as two where a keyboard or a name in a file has none of them: Zürich, Zuerich. */

const AS_TWO: ReadonlyMap<string, string> = new Map(
  Object.entries({ ä: 'ae', ö: 'oe', ü: 'ue', ø: 'oe', å: 'aa', Ä: 'Ae', Ö: 'Oe', Ü: 'Ue', Ø: 'Oe', Å: 'Aa' }),
);

/** One letter, composed or with its mark beside it. */
const LETTER = /[äöüøåÄÖÜØÅ]|[aouAOU]\u0308|[aA]\u030a/;
const LETTERS = new RegExp(LETTER.source, 'g');

export function hasLettersSpeltAsTwo(text: string): boolean {
  return LETTER.test(text);
}

export function speltAsTwo(text: string): string {
  return text.replaceAll(LETTERS, (letter) => AS_TWO.get(letter.normalize('NFC')) ?? letter);
}
