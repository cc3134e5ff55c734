import { expect, test } from 'vitest';
import { allow, deny, neverDenied } from './decision.ts';

test('a code that cannot be is left out of an answer, and is a bug when it is there', () => {
  expect(neverDenied(allow(1), 'E_A')).toEqual(allow(1));
  expect(neverDenied(deny('E_B', { left: 1 }, 'No.'), 'E_A')).toEqual(deny('E_B', { left: 1 }, 'No.'));
  expect(() => neverDenied(deny('E_A'), 'E_A')).toThrow('E_A');
});
