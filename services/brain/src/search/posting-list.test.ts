import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { PostingList } from './posting-list.ts';

function entriesOf(list: PostingList): [row: number, packed: number][] {
  return list.chunks.flatMap((chunk) =>
    Array.from({ length: chunk[0] ?? 0 }, (_, at): [number, number] => [
      chunk[1 + at * 2] ?? -1,
      chunk[2 + at * 2] ?? -1,
    ]),
  );
}

test('behaves as a sorted map under any inserts and removals', () => {
  const step = fc.record({ row: fc.nat(1_500), packed: fc.integer({ min: 1, max: 0xffff_ffff }) });
  fc.assert(
    fc.property(fc.array(step, { minLength: 600, maxLength: 3_000, size: 'max' }), (steps) => {
      const list = new PostingList();
      const model = new Map<number, number>();
      for (const { row, packed } of steps) {
        if (model.delete(row)) list.remove(row);
        else {
          model.set(row, packed);
          list.insert(row, packed);
        }
      }
      expect(entriesOf(list)).toEqual([...model].sort(([a], [b]) => a - b));
      expect(list.count).toBe(model.size);
      for (let row = 0; row < 1_500; row += 7) expect(list.get(row)).toBe(model.get(row) ?? 0);
    }),
    { numRuns: 30 },
  );
});

test('removals give their memory back', () => {
  const list = new PostingList();
  for (let row = 0; row < 20_000; row += 1) list.insert(row, 1);
  for (let row = 0; row < 20_000; row += 1) if (row % 100 !== 0) list.remove(row);
  expect(list.count).toBe(200);
  expect(list.chunks.reduce((bytes, chunk) => bytes + chunk.byteLength, 0)).toBeLessThan(200 * 8 * 5);
});
