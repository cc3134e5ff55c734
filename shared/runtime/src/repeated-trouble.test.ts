import { expect, test } from 'vitest';
import { RepeatedTrouble, troubleOf } from './repeated-trouble.ts';

test('trouble is told again when it has another reason, and not while it has the same', () => {
  const trouble = new RepeatedTrouble();
  const away = (reason: string) => new Error('nobody answers', { cause: new Error(reason) });
  const isDue = (reason: string) => trouble.isDue(troubleOf(away(reason)));
  expect(['cut off', 'cut off', 'not let in', 'not let in', 'cut off'].map(isDue)).toEqual([
    true,
    false,
    true,
    false,
    false,
  ]);
  trouble.end();
  expect(isDue('cut off')).toBe(true);
});

test('trouble is what was thrown, whatever it is', () => {
  expect([new Error('one'), 'two', undefined].map(troubleOf)).toEqual(['Error: one', 'two', 'undefined']);
});
