import { expect, it } from 'vitest';
import { foldCase } from './fold-case.ts';

it.each([
  ['ＡＢＣ.md', 'abc.md'],
  ['STRASSE', 'straße'],
  ['STRASSE', 'STRAẞE'],
  ['ΟΔΟΣ', 'οδος'],
  ['οδοσ', 'οδος'],
  ['\u212a', 'k'],
  ['Å', 'A\u030a'],
  ['ﬁle', 'FILE'],
  ['\u0130', 'i\u0307'],
  ['ſ', 'S'],
  ['ΐ', 'Ϊ́'],
  ['Ꭰ', 'ꭰ'],
  ['a\u200db', 'AB'],
  ['❤️', '❤'],
])('%j and %j are one name to some file system', (one, other) => {
  expect(foldCase(one)).toBe(foldCase(other));
});

it.each([
  ['ı', 'i'],
  ['ı', 'I'],
  ['ä', 'a'],
  ['а', 'a'],
  ['a／b', 'a/b'],
  ['℀', 'a/c'],
])('%j and %j are two', (one, other) => {
  expect(foldCase(one)).not.toBe(foldCase(other));
});

it('folds whatever matches without regard to case, and what is folded stays', () => {
  const missed: string[] = [];
  for (let point = 0x80; point <= 0x1ffff; point += 1) {
    if (point >= 0xd800 && point <= 0xdfff) continue;
    const character = String.fromCodePoint(point);
    const folded = foldCase(character);
    if (foldCase(folded) !== folded) missed.push(`${point.toString(16)} folds on`);
    for (const other of [character.toLowerCase(), character.toUpperCase()]) {
      const isSame = other !== character && new RegExp(`^${character}$`, 'iu').test(other);
      if (isSame && foldCase(other) !== folded) missed.push(`${point.toString(16)} and ${other}`);
    }
  }
  expect(missed).toEqual([]);
});
