import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { countTerms } from './text-terms.ts';
import { lowestOfBest } from './top-rows.ts';

test('each text has its terms once with their number, in order of first appearance, and the working memory is clean', () => {
  const texts = fc.array(fc.array(fc.nat(12), { maxLength: 30 }), { maxLength: 8 });
  fc.assert(
    fc.property(texts, (lists) => {
      const numbers = new Uint32Array(13);
      const found = countTerms(
        lists.map((list) => Uint32Array.from(list)),
        numbers,
      );
      expect([...found.ids]).toEqual([...new Set(lists.flat())]);
      const shown = lists.map((_, text) => {
        const entries = Array.from(found.terms.subarray(found.starts[text], found.starts[text + 1]));
        return entries.map((number, at) => [found.ids[number], found.counts[(found.starts[text] ?? 0) + at]]);
      });
      const counted = lists.map((list) =>
        [...new Set(list)].map((id) => [id, list.filter((one) => one === id).length]),
      );
      expect(shown).toEqual(counted);
      expect(numbers.every((number) => number === 0)).toBe(true);
    }),
  );
});

test('the lowest of the best is that of the sorted scores', () => {
  const given = fc.array(fc.nat(20), { minLength: 1, maxLength: 60 });
  fc.assert(
    fc.property(given, fc.nat(), (values, any) => {
      const count = 1 + (any % values.length);
      const rows = Uint32Array.from(values, (_, row) => row);
      const sorted = values.toSorted((left, right) => right - left);
      expect(lowestOfBest(Float64Array.from(values), rows, count)).toBe(sorted[count - 1]);
    }),
  );
});
