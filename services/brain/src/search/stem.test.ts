import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { plainWordLength, scanWords } from './analysis.ts';
import { unlikeForms } from './irregular-verbs.ts';
import { initialsOf, stem } from './stem.ts';

const LETTERS = Array.from('abcdefghijklmnopqrstuvwxyz');
const words = fc.string({ unit: fc.constantFrom(...LETTERS), minLength: 1, maxLength: 14 });
const endings = fc.constantFrom('', 's', 'es', 'ies', 'ed', 'ing', 'ly', 'ization', 'ness', "'s", 'ying');

test('no word with one of the stems begins otherwise than is said', () => {
  const inflected = fc.tuple(words, endings).map(([word, ending]) => word + ending);
  fc.assert(
    fc.property(fc.oneof(inflected, fc.constantFrom(...unlikeForms(), 'dying', 'skies', 'ugly')), (word) => {
      expect(initialsOf([stem(word)])[word.charCodeAt(0)]).toBe(1);
    }),
    { numRuns: 3000 },
  );
});

test('letters that no such word begins with are not said', () => {
  const said = (term: string): string =>
    LETTERS.filter((letter) => initialsOf([term])[letter.charCodeAt(0)] === 1).join('');
  expect(said(stem('tree'))).toBe('t');
  expect(said(stem('go'))).toBe('gw');
});

test('a plain piece is its one word, and no other piece is one', () => {
  const pieces = fc.string({
    unit: fc.constantFrom(...Array.from("abcXyz019_.,;:!?)(-'é雨")),
    minLength: 1,
    maxLength: 12,
  });
  fc.assert(
    fc.property(pieces, (piece) => {
      const length = plainWordLength(piece);
      const found: string[] = [];
      scanWords(piece, (word) => found.push(word));
      if (length > 0) expect(found).toEqual([piece.slice(0, length)]);
      else expect(/^[a-z]+[.,;:!?)]*$/.test(piece)).toBe(false);
    }),
    { numRuns: 3000 },
  );
});

test.each([
  ['1st', '1'],
  ['22nd', '22'],
  ['3rd', '3'],
  ['8th', '8'],
  ['th', 'th'],
  ['8ths', '8ths'],
  ['12345th', '12345th'],
  ['0x8th', '0x8th'],
])('the stem of %s is %s', (word, expected) => {
  expect(stem(word)).toBe(expected);
});
