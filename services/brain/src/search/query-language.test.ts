import * as fc from 'fast-check';
import { runs } from '@svc/testing/counts.ts';
import { expect, test } from 'vitest';
import { isWithin, plainWords, readQuery, timeSpan } from './query-language.ts';

test.each([
  ['plain old words', { words: ['plain', 'old', 'words'] }],
  ['"exact order" here', { words: ['exact', 'order'], phrases: ['exact order'] }],
  ['a "word" alone', { words: ['word'] }],
  ['red OR green OR blue paint', { words: ['paint'], any: [['red', 'green', 'blue']] }],
  ['OR', { words: ['or'] }],
  ['red OR', { words: ['red'] }],
  ['red OR "x y"', { words: ['red', 'x'], phrases: ['x y'] }],
  ['depl* the', { words: [], prefixes: ['depl'] }],
  ['Über* ', { words: [], prefixes: ['uber'] }],
  ['a* **', { words: ['a'] }],
  ['write -read -"old way"', { words: ['write'], not: ['read', 'old way'] }],
  ['tar -x -5 --force', { words: ['tar', 'x', '5', 'force'] }],
  ['red -retry-after -C++ -4.17 -4.17.21', { words: ['red'], not: ['retry-after', 'C++', '4.17', '4.17.21'] }],
  ['red -u\u0308ber -fooBar, (-@x/blue) -old*', { words: ['red', 'x', 'blue'], not: ['u\u0308ber', 'fooBar', 'old'] }],
  ['red -🎉 -猫 -> - -path:docs -"open', { words: ['red', 'path', 'docs', 'open'], not: ['🎉', '猫'] }],
  ['red OR -blue-green', { words: ['red'], not: ['blue-green'] }],
  ['path:/docs/a.md category:"my notes"', { words: [], paths: ['docs/a.md', 'my notes'] }],
  ['since:2026-02 until:2026-02-30 C:\\x', { words: ['2026', '02', '30', 'c', 'x'], since: '2026-02' }],
  [
    'build 4.17.21, (v1.2.3) 3.5',
    { words: ['build', '3', '5', '4', '17', '21', 'v1', '2', '3'], phrases: ['4.17.21', 'v1.2.3'] },
  ],
  ['10.0.0.1:80 2026-11-23', { words: ['10', '0', '0', '1', '80', '2026', '11', '23'], phrases: ['2026-11-23'] }],
  ['http://example.org/?q="', { words: ['http', 'example', 'org', 'q'] }],
])('%s', (query, understood) => {
  expect(readQuery(query).understood).toEqual(understood);
});

test('a time is a year, a month or a day', () => {
  expect(timeSpan('2024-02')).toEqual({ from: Date.UTC(2024, 1), to: Date.UTC(2024, 2) });
  expect(timeSpan('2024-12-31')).toEqual({ from: Date.UTC(2024, 11, 31), to: Date.UTC(2025, 0) });
  expect(['2024-13', '24', '2023-02-29', 'today'].map(timeSpan)).toEqual([null, null, null, null]);
});

test('a pattern is anything between its fixed parts', () => {
  const cases = ['docs/*.md', '*.md', 'docs', 'docs/', '', '*', 'd*s/*', 'docs/a.md*a.md', 'a*b'];
  expect(cases.map((wanted) => isWithin('docs/a.md', wanted))).toEqual([
    true,
    true,
    true,
    true,
    true,
    true,
    true,
    false,
    false,
  ]);
});

test('any text is read without an error, and its plain words hold no operator', () => {
  const piece = fc.constantFrom(
    '"',
    '-',
    '*',
    'OR',
    'path:',
    'since:2024',
    '1.2.3',
    ' ',
    'word',
    '東京',
    '\u0301',
    'x',
    ':',
    '\n',
  );
  const text = fc.oneof(
    fc.string(),
    fc.array(piece, { maxLength: 30 }).map((parts) => parts.join('')),
  );
  fc.assert(
    fc.property(text, (query) => {
      readQuery(query);
      const { words: _words, ...rest } = readQuery(plainWords(query)).understood;
      expect(rest).toEqual({});
    }),
    { numRuns: runs(300) },
  );
});
