import { expect, test } from 'vitest';
import { portNumber, wholeNumber } from './numbers.ts';
import { UsageProblem } from './problems.ts';

const asked = (count: string) => wholeNumber({ args: [], options: { count } }, 'count');

test('an option that counts wants at least one', () => {
  expect(asked('12')).toBe(12);
  for (const text of ['0', '-1', '1.5', 'abc', '']) expect(() => asked(text)).toThrow(UsageProblem);
});

test('a port is a number that a port can have', () => {
  const port = (text: string) => portNumber({ args: [], options: { port: text } }, 'port');
  expect([port('0'), port('4000'), port('65535')]).toEqual(['0', '4000', '65535']);
  for (const text of ['many', '', '-1', '4000.5', '65536']) expect(() => port(text)).toThrow(UsageProblem);
});
