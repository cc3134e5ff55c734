import { expect, test } from 'vitest';
import { matchesPattern } from './bus-subject.ts';

test.each([
  ['a.b', 'a.b', true],
  ['a.b', 'a.c', false],
  ['a.*', 'a.b', true],
  ['a.*', 'a', false],
  ['a.*', 'a.b.c', false],
  ['a.>', 'a.b.c', true],
  ['a.>', 'a', false],
  ['>', 'a', true],
  ['*.b.>', 'a.b.c', true],
  ['*.b.>', 'a.c.c', false],
])('%s on %s: %s', (pattern, subject, expected) => {
  expect(matchesPattern(pattern, subject)).toBe(expected);
});
