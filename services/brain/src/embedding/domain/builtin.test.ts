import { hash } from 'node:crypto';
import { expect, test } from 'vitest';
import { DIMENSIONS, embed, similarity } from './builtin.ts';

const TEXTS = ['deploy failed', 'Überraschung im Hafen', '東京都 の 夜', 'fooBar snake_case x1', 'a '.repeat(4000)];

test('has length 1, or is all zeros for a text without words', () => {
  for (const text of TEXTS) {
    const vector = embed(text);
    expect(vector).toHaveLength(DIMENSIONS);
    expect(Math.hypot(...vector)).toBeCloseTo(1, 4);
  }
  for (const text of ['', ' \n', '?!', '\ud800']) expect(new Set(embed(text))).toEqual(new Set([0]));
});

test('gives the same bytes on every version', () => {
  expect(hash('sha256', JSON.stringify(TEXTS.map(embed)))).toBe(
    'e6443cf521b32d7337468006d7c56695af901b9e2e0f99d0da2d5f60736c62cf',
  );
});

test('is 1 for a text and itself, 0 with nothing, and higher for what says alike', () => {
  for (const text of TEXTS) expect(similarity(text, text)).toBe(1);
  expect(similarity('', 'x')).toBe(0);
  expect(similarity('', '')).toBe(0);
  expect(similarity('deploy failed', 'deployment failure')).toBeGreaterThan(
    similarity('deploy failed', 'banana bread'),
  );
  expect(similarity('the writer is in the queue', 'queue writers')).toBeGreaterThan(0.3);
});
