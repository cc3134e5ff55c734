/** The instrument itself: what it takes for too fast, and what not. */
import { expect, test } from 'vitest';
import { growthOf, LINEAR } from './growth.ts';

const SIZE = 1000;
const PER_UNIT = 3000;
let sum = 0;

function spin(units: number): void {
  for (let left = units * PER_UNIT; left > 0; left -= 1) sum = (sum + left) % 1_000_003;
}

test.each<[string, (size: number) => number]>([
  ['in proportion', (size) => size],
  ['in proportion, with what each call costs', (size) => 300 + size],
  ['in proportion, dearer from a certain size on', (size) => (size > 1.5 * SIZE ? 1.45 : 1) * size],
])('%s: taken for linear', async (_name, unitsOf) => {
  expect((await growthOf((size) => spin(unitsOf(size)), SIZE)).factor).toBeLessThanOrEqual(LINEAR);
});

test.each<[string, (size: number) => number]>([
  ['a square beside what is in proportion', (size) => size / 2 + size ** 2 / SIZE],
  ['a square beside what each call costs', (size) => 300 + size ** 2 / SIZE],
])('%s: too fast', async (_name, unitsOf) => {
  expect((await growthOf((size) => spin(unitsOf(size)), SIZE)).factor).toBeGreaterThan(LINEAR);
});

test('the work was done', () => {
  expect(sum).toBeGreaterThan(0);
});
