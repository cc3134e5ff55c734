import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { RecordPages } from './record-pages.ts';

const recordOf = (seed: number, words: number): Uint32Array =>
  Uint32Array.from({ length: words }, (_, at) => seed + at);

test('behaves as a map of records under any placing and dropping, and takes at most twice what lives in it', () => {
  const step = fc.record({
    words: fc.oneof({ weight: 30, arbitrary: fc.nat(300) }, { weight: 1, arbitrary: fc.constantFrom(20_000, 40_000) }),
    drop: fc.option(fc.nat(1_000), { nil: null }),
  });
  fc.assert(
    fc.property(fc.array(step, { minLength: 200, maxLength: 1_500, size: 'max' }), (steps) => {
      const pages = new RecordPages();
      const model = new Map<number, Uint32Array>();
      for (const [seed, { words, drop }] of steps.entries()) {
        const number = drop === null ? undefined : [...model.keys()][drop % Math.max(model.size, 1)];
        if (number !== undefined) {
          pages.drop(number);
          model.delete(number);
          continue;
        }
        const record = recordOf(seed, words);
        const placed = pages.place(record);
        expect(model.has(placed)).toBe(false);
        model.set(placed, record);
      }
      for (const [number, record] of model) expect(pages.of(number)).toEqual(record);
      const living = [...model.values()].reduce((sum, { length }) => sum + (length + 2) * 4, 0);
      const [table, openPage] = [steps.length * 12, 3 * 32_768 * 4];
      expect(pages.bytes).toBeLessThan(living * 2 + table + openPage);
      for (const number of model.keys()) pages.drop(number);
      expect(pages.bytes).toBe(0);
    }),
    { numRuns: 20 },
  );
});

test('a few records take little', () => {
  const pages = new RecordPages();
  pages.place(recordOf(1, 100));
  expect(pages.bytes).toBeLessThan(4_096);
});
