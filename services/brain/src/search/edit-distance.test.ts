import * as fc from 'fast-check';
import { runs } from '@svc/testing/counts.ts';
import { expect, test } from 'vitest';
import { editDistance } from './edit-distance.ts';

/** By the recurrence itself: the whole table. */
function byTable(left: string, right: string): number {
  const table = Array.from({ length: left.length + 1 }, (_, row) =>
    Array.from(right, () => 0)
      .concat(0)
      .fill(row, 0, 1),
  );
  const at = (row: number, column: number): number => table[row]?.[column] ?? Infinity;
  for (let row = 0; row <= left.length; row += 1) {
    for (let column = 0; column <= right.length; column += 1) {
      const isSame = left[row - 1] === right[column - 1];
      const isSwapped =
        row > 1 && column > 1 && left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1];
      const values = [at(row - 1, column) + 1, at(row, column - 1) + 1, at(row - 1, column - 1) + (isSame ? 0 : 1)];
      if (isSwapped) values.push(at(row - 2, column - 2) + 1);
      const cells = table[row] ?? [];
      cells[column] = row === 0 ? column : column === 0 ? row : Math.min(...values);
    }
  }
  return at(left.length, right.length);
}

const word = fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'é'), maxLength: 12 });

test('the distance is that of the whole table, and one more than the most where it is farther', () => {
  fc.assert(
    fc.property(word, word, fc.nat(3), (left, right, most) => {
      expect(editDistance(left, right, most)).toBe(Math.min(byTable(left, right), most + 1));
    }),
    { numRuns: runs(3_000) },
  );
});

test.each([
  ['pilot', 'pilto', 2, 1],
  ['harbour', 'harbor', 2, 1],
  ['kitten', 'sitting', 2, 3],
  ['', 'ab', 2, 2],
  ['same', 'same', 0, 0],
  ['a'.repeat(500), `${'a'.repeat(250)}b${'a'.repeat(250)}`, 2, 1],
  [`x${'ab'.repeat(300)}`, `y${'ba'.repeat(300)}`, 2, 3],
])('from %s to %s, at most %i', (left, right, most, distance) => {
  expect(editDistance(left, right, most)).toBe(distance);
});
