import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { TermDictionary } from './term-dictionary.ts';

const terms = fc.oneof(
  fc.constantFrom('a', 'b', 'ab', 'ba', 'é', 'ÿ', '東京', '京', '\ud800', 'a\u0000', '𝐚'),
  fc.string({ maxLength: 12 }),
  fc.nat(3_000).map((number) => `t${number}`),
);

test('counts terms as a map does, and uses the ids of those that are gone again', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(terms, fc.boolean()), { maxLength: 3_000, size: 'max' }), (steps) => {
      const dictionary = new TermDictionary();
      const model = new Map<string, { id: number; uses: number }>();
      let most = 0;
      for (const [term, adds] of steps) {
        const known = model.get(term);
        if (adds || known === undefined) {
          const id = dictionary.retain(term);
          if (known !== undefined) expect(id).toBe(known.id);
          model.set(term, { id, uses: (known?.uses ?? 0) + 1 });
          most = Math.max(most, model.size);
        } else {
          dictionary.release(Uint32Array.of(known.id));
          if (known.uses === 1) model.delete(term);
          else model.set(term, { ...known, uses: known.uses - 1 });
        }
      }
      expect(dictionary.size).toBe(model.size);
      expect(dictionary.idBound).toBeLessThanOrEqual(most);
      for (const [term, { id }] of model) {
        expect([dictionary.find(term), dictionary.termOf(id)]).toEqual([id, term]);
        expect(String.fromCharCode(...dictionary.unitsOf(id))).toBe(term);
      }
      expect(new Set([...model.values()].map(({ id }) => id)).size).toBe(model.size);
      for (const [term] of steps) if (!model.has(term)) expect(dictionary.find(term)).toBeUndefined();
    }),
    { numRuns: 60 },
  );
});

test('bytes of terms that are gone are given back', () => {
  const dictionary = new TermDictionary();
  const ids = Array.from({ length: 20_000 }, (_, index) => dictionary.retain(`${'long'.repeat(10)}${index}`));
  const full = dictionary.bytes;
  dictionary.release(ids.slice(100));
  expect(dictionary.bytes).toBeLessThan(full / 2);
  expect(dictionary.termOf(ids[99] ?? 0)).toBe(`${'long'.repeat(10)}99`);
  dictionary.release(ids.slice(0, 100));
  expect(dictionary.bytes).toBeLessThan(2_000);
});
