import { expect, test } from 'vitest';
import { cosineAt, shrink } from './small-vector.ts';
import { embed, similarity } from './builtin.ts';

test('keeps directions: cosines of small vectors are near those of the whole ones', () => {
  const texts = ['deploy failed', 'deployment failure', 'banana bread', 'the writer is in the queue', 'queue writers'];
  const small = texts.map((text) => shrink(embed(text)));
  for (const [one, a] of texts.entries())
    for (const [other, b] of texts.entries())
      expect(cosineAt(small[one] ?? shrink([]), small[other] ?? shrink([]), 0)).toBeCloseTo(similarity(a, b), 1);
  expect(cosineAt(shrink([1, 2, 3]), shrink([1, 2, 3]), 0)).toBe(1);
  expect(cosineAt(shrink([1, 0]), shrink([-2, 0]), 0)).toBe(-1);
});

test('has no direction where there is none, whatever the scale', () => {
  expect([...shrink([0, 0])]).toEqual([0, 0]);
  expect(cosineAt(shrink([0, 0]), shrink([1, 1]), 0)).toBe(0);
  expect([...shrink([1e-30, -2e-30])]).toEqual([64, -127]);
  expect([...shrink([1e30, 0])]).toEqual([127, 0]);
});

test('compares with the place that is named', () => {
  const many = Int8Array.from([...shrink([1, 0]), ...shrink([0, 1])]);
  expect([cosineAt(shrink([0, 5]), many, 0), cosineAt(shrink([0, 5]), many, 2)]).toEqual([0, 1]);
});
