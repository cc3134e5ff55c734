import { expect, it } from 'vitest';
import { keyProblem, MemoryKey, storedKey } from './key.ts';
import { decideState } from './state.ts';

it('puts the workspace and its length in front of a key', () => {
  expect(storedKey('acme', 'k')).toBe('ws4.acme.k');
  expect(storedKey(null, 'k')).toBe('k');
});

it('never cuts a key, and lets none pose as that of a workspace', () => {
  expect(keyProblem('w'.repeat(64), 'k'.repeat(40))).toContain('110 characters');
  expect(keyProblem('acme', 'k'.repeat(91))).toBeNull();
  expect(keyProblem('acme', 'k'.repeat(92))).not.toBeNull();
  expect(keyProblem(null, 'k'.repeat(100))).toBeNull();
  expect(keyProblem(null, 'ws4.acme.k')).not.toBeNull();
  expect(keyProblem('acme', 'ws4.acme.k')).toBeNull();
  expect(keyProblem(null, 'wsx.acme.k')).toBeNull();
});

it.each(['', 'k'.repeat(101), 'a\u0000b', 'a\nb', 'a\u200bb', 'a\ud800b'])('%j is no key', (key) => {
  expect(MemoryKey.safeParse(key).success).toBe(false);
});

it('counts characters, not code units', () => {
  expect(MemoryKey.safeParse('😀'.repeat(100)).success).toBe(true);
  expect(keyProblem('acme', '😀'.repeat(91))).toBeNull();
});

it('counts versions from the moment a key is free', () => {
  const wish = { ifVersion: null, ttlMs: null };
  expect(decideState(null, wish, 0)).toEqual({ ok: true, value: { version: 1, expiresAt: null } });
  expect(decideState({ version: 3, expiresAt: null }, wish, 0)).toMatchObject({ value: { version: 4 } });
  expect(decideState({ version: 3, expiresAt: 50 }, wish, 50)).toMatchObject({ value: { version: 1 } });
  expect(decideState({ version: 3, expiresAt: 50 }, { ...wish, ttlMs: 10 }, 49)).toEqual({
    ok: true,
    value: { version: 4, expiresAt: 59 },
  });
});

it('stores only over the version that was expected', () => {
  const three = { version: 3, expiresAt: null };
  expect(decideState(three, { ifVersion: 3, ttlMs: null }, 0)).toMatchObject({ value: { version: 4 } });
  expect(decideState(three, { ifVersion: 2, ttlMs: null }, 0)).toMatchObject({
    code: 'E_CONFLICT',
    details: { version: 3 },
  });
  expect(decideState(three, { ifVersion: 0, ttlMs: null }, 0)).toMatchObject({ ok: false });
  expect(decideState(null, { ifVersion: 0, ttlMs: null }, 0)).toMatchObject({ ok: true });
  expect(decideState({ version: 3, expiresAt: 5 }, { ifVersion: 0, ttlMs: null }, 5)).toMatchObject({ ok: true });
});
