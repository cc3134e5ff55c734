import { expect, test } from 'vitest';
import { fuseByRank, fuseByScore } from './fusion.ts';

const row = (name: string, score: number) => ({ name, score });
const name = (one: { name: string }) => one.name;

test('by rank, what several lists have comes before what one list has first', () => {
  const fused = fuseByRank(
    [
      [row('a', 9), row('b', 8)],
      [row('c', 3), row('b', 2)],
    ],
    name,
  );
  expect(fused.map((one) => [one.row.name, one.lists])).toEqual([
    ['b', [0, 1]],
    ['a', [0]],
    ['c', [1]],
  ]);
  expect(fused[0]?.score).toBeCloseTo(2 / 62, 8);
});

test('by score, each list counts by its weight and against its own best', () => {
  const fused = fuseByScore([[row('a', 10), row('b', 5)], [row('b', 0.1)]], [0.65, 0.35], name);
  expect(fused.map((one) => [one.row.name, one.score])).toEqual([
    ['b', 0.675],
    ['a', 0.65],
  ]);
});

test('shows a row as the first list that has it, and keeps the order of equals', () => {
  const fused = fuseByScore([[row('a', 1), row('b', 1)], [row('b', 7)]], [1, 0], name);
  expect(fused.map((one) => one.row)).toEqual([row('a', 1), row('b', 1)]);
  expect(fuseByRank([], name)).toEqual([]);
});
