import { expect, test } from 'vitest';
import { duration, moment, parseDuration } from './moments.ts';

test.each([
  [0, '0 ms'],
  [999, '999 ms'],
  [1000, '1 s'],
  [61_000, '1 min 1 s'],
  [3_600_000, '1 h'],
  [3_605_000, '1 h'],
  [90_061_000, '1 d 1 h'],
  [-5, '0 ms'],
])('%d ms is %s', (ms, text) => {
  expect(duration(ms)).toBe(text);
});

test.each([
  ['90s', 90_000],
  ['15m', 900_000],
  ['12h', 43_200_000],
  ['30d', 2_592_000_000],
  ['1', null],
  ['-1h', null],
  ['1.5h', null],
  ['1w', null],
])('%s is %s ms', (text, ms) => {
  expect(parseDuration(text)).toBe(ms);
});

test('a moment is local time, and what is none stays as it is', () => {
  expect(moment(new Date(2026, 0, 2, 3, 4, 5).getTime())).toBe('2026-01-02 03:04:05');
  expect(moment('soon')).toBe('soon');
});
