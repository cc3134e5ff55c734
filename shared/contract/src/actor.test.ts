import { describe, expect, test } from 'vitest';
import { actorName, mayActIn } from './actor.ts';

describe('as whom a call is recorded', () => {
  test.each([
    [{ subject: { agentId: 'ann', userId: 'u' }, operator: false }, undefined, 'ann'],
    [{ subject: { userId: 'u' }, operator: true }, 'bob', 'u'],
    [{ subject: { workspace: 'w' }, operator: true }, 'bob', 'bob'],
    [{ subject: {}, operator: true }, undefined, 'operator'],
    [{ subject: {}, operator: false }, undefined, 'anonymous'],
  ])('%j, naming %s, is %s', (caller, named, name) => {
    expect(actorName(caller, named)).toBe(name);
  });
});

test('a bound token acts in its workspace alone, everybody else anywhere', () => {
  const token = (bound: string | null) => ({
    token: { tokenId: 't', bound, readOnly: false, profile: null, expiresAt: 0 },
  });
  expect([{ token: null }, token(null), token('w')].map((caller) => mayActIn(caller, 'w'))).toEqual([true, true, true]);
  expect(mayActIn(token('w'), 'v')).toBe(false);
});
