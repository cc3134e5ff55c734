import { expect, test } from 'vitest';
import { wholeNumber } from './numbers.ts';
import { UsageProblem } from './problems.ts';

const asked = (count: string) => wholeNumber({ args: [], options: { count } }, 'count');

test('an option that counts wants at least one', () => {
  expect(asked('12')).toBe(12);
  for (const text of ['0', '-1', '1.5', 'abc', '']) expect(() => asked(text)).toThrow(UsageProblem);
});
