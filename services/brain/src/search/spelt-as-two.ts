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

/** By how many letters the stems of one word in two spellings may differ at their ends. */
const MOST_ENDING = 1;

/** Whether `second` may be the stem of the same word as `first`, with letters spelt as two. */
export function isSameSpeltAsTwo(first: string, second: string): boolean {
  const [one, other] = [joined(first), joined(second)];
  if (first === second || other === second) return false;
  const [short, long] = one.length < other.length ? [one, other] : [other, one];
  return long.length - short.length <= MOST_ENDING && long.startsWith(short);
}

const TWO = /[aou]e|aa/;
const ALL_TWO = new RegExp(TWO.source, 'g');

/** Of a folded word. */
export function mayHaveLettersSpeltAsTwo(word: string): boolean {
  return TWO.test(word);
}

function joined(word: string): string {
  return word.replaceAll(ALL_TWO, (pair) => pair.charAt(0));
}

export function speltAsTwo(text: string): string {
  return text.replaceAll(LETTERS, (letter) => AS_TWO.get(letter.normalize('NFC')) ?? letter);
}
