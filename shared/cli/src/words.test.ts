import { expect, test } from 'vitest';
import { splitLine, wordsOf } from './words.ts';

test.each([
  ['call a b=c', ['call', 'a', 'b=c']],
  ['  set x "two words"  ', ['set', 'x', 'two words']],
  [`a 'it is "so"' "it\\"s"`, ['a', 'it is "so"', 'it"s']],
  ['a\\ b c=""', ['a b', 'c=']],
  [`'' x`, ['', 'x']],
  ['text="open quote', ['text=open quote']],
  ['trailing\\', ['trailing']],
  ['', []],
])('%j is taken apart as a shell does', (line, words) => {
  expect(wordsOf(line)).toEqual(words);
});

test('the word under the cursor is not one of the words', () => {
  expect(splitLine('call brain_wr')).toEqual({ words: ['call'], current: 'brain_wr' });
  expect(splitLine('call ')).toEqual({ words: ['call'], current: '' });
});

test('a long line costs no more than its length', () => {
  const cost = (length: number): number => {
    const line = `"${'\\'.repeat(length)}`;
    const before = process.cpuUsage();
    splitLine(line);
    return process.cpuUsage(before).user;
  };
  // What else the machine does makes some run longer, and none shorter.
  const least = (length: number): number => Math.min(...Array.from({ length: 5 }, () => cost(length)));
  cost(100_000);
  expect(least(800_000)).toBeLessThan(10 * Math.max(least(200_000), 5000));
});
