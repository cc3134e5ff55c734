import { expect, test } from 'vitest';
import { allow, type Decision, deny, neverDenied } from './decision.ts';

test('a code that cannot be is left out of an answer, and is a bug when it is there', () => {
  const asked = (answer: Decision<number, 'E_A' | 'E_B'>) => neverDenied(answer, 'E_A');
  expect(asked(allow(1))).toEqual(allow(1));
  expect(asked(deny('E_B', { left: 1 }, 'No.'))).toEqual(deny('E_B', { left: 1 }, 'No.'));
  expect(() => asked(deny('E_A'))).toThrow('E_A');
});
