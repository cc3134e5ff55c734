import { expect, it } from 'vitest';
import { createIds, systemRandom } from './clock.ts';

it('makes ids that never run backwards within a process, also when its clock does', () => {
  let now = 1_000_000;
  const ids = createIds({ now: () => now }, systemRandom);
  const made: string[] = [];
  for (let index = 0; index < 10_000; index += 1) {
    made.push(ids.next('evt'));
    if (index % 1000 === 0) now -= 500;
    if (index % 37 === 0) now += 1;
  }
  expect(made).toEqual(made.toSorted());
  expect(new Set(made).size).toBe(made.length);
  expect(made[0]).toMatch(/^evt_[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}$/);
});

it('makes ids that do not tell how many lie between two of them', () => {
  const ids = createIds({ now: () => 1_000_000 }, systemRandom);
  const places = Array.from({ length: 200 }, () => Number.parseInt(ids.next('evt').slice(17, 20), 16));
  const steps = places.slice(1).map((place, index) => place - (places[index] ?? 0));
  expect(new Set(steps).size).toBeGreaterThan(5);
});
