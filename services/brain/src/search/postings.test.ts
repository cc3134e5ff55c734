import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { Postings } from './postings.ts';

type Model = Map<number, Map<number, number>>;

function entriesOf(postings: Postings, term: number): [row: number, packed: number][] {
  return (postings.of(term)?.chunks ?? []).flatMap((chunk) =>
    Array.from({ length: chunk[0] ?? 0 }, (_, at): [number, number] => [
      chunk[1 + at * 2] ?? -1,
      chunk[2 + at * 2] ?? -1,
    ]),
  );
}

function expectSame(postings: Postings, model: Model): void {
  for (const [term, rows] of model) {
    expect(entriesOf(postings, term)).toEqual([...rows].sort(([a], [b]) => a - b));
    expect(postings.of(term)?.count ?? 0).toBe(rows.size);
  }
  expect(postings.terms).toBe([...model.values()].filter(({ size }) => size > 0).length);
}

function toggle(postings: Postings, model: Model, { term, row, packed }: Record<'term' | 'row' | 'packed', number>) {
  const rows = model.get(term) ?? new Map<number, number>();
  model.set(term, rows);
  if (rows.delete(row)) postings.remove(term, row);
  else {
    rows.set(row, packed);
    postings.insert(term, row, packed);
  }
}

test('behaves as a sorted map for each term under any inserts and removals, short lists and long ones', () => {
  const step = fc.record({ term: fc.nat(6), row: fc.nat(700), packed: fc.integer({ min: 1, max: 0xffff_ffff }) });
  fc.assert(
    fc.property(fc.array(step, { minLength: 500, maxLength: 4_000, size: 'max' }), (steps) => {
      const [postings, model] = [new Postings(), new Map() as Model];
      for (const one of steps) toggle(postings, model, { ...one, term: one.term < 4 ? 0 : one.term });
      expectSame(postings, model);
      for (const [term, rows] of model) for (const row of rows.keys()) postings.remove(term, row);
      expect([postings.terms, postings.bytes]).toEqual([0, 0]);
    }),
    { numRuns: 30 },
  );
});

test('lists that grow side by side stay whole when the blocks they left are gathered, and cost what they hold', () => {
  const [postings, model] = [new Postings(), new Map() as Model];
  const [terms, rows] = [5_000, 40];
  for (let row = 0; row < rows; row += 1) {
    for (let term = 0; term < terms; term += 1)
      toggle(postings, model, { term, row: (row * 7) % rows, packed: term + 1 });
  }
  expectSame(postings, model);
  expect(postings.bytes).toBeLessThan(terms * rows * 8 * 2.5);
});

test('room that was reserved is filled in the order of the rows', () => {
  const [postings, model] = [new Postings(), new Map() as Model];
  for (const [term, entries] of [1, 2, 255, 256, 257, 1_000].entries()) {
    postings.reserve(term, entries);
    for (let row = 0; row < entries; row += 1) toggle(postings, model, { term, row, packed: row + 1 });
  }
  expectSame(postings, model);
});
