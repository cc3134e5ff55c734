import { expect, test } from 'vitest';
import { createFakeClock, createFakeIds, createFakeRandom, FAKE_EPOCH_MS } from './fakes.ts';

test('the fake clock moves only when told', () => {
  const clock = createFakeClock();
  expect(clock.now()).toBe(FAKE_EPOCH_MS);
  clock.advance(1500);
  expect(clock.now()).toBe(FAKE_EPOCH_MS + 1500);
  clock.set(5);
  expect(clock.now()).toBe(5);
});

test('fake randomness repeats for a seed, differs between seeds, and uses every byte', () => {
  expect(createFakeRandom(7).bytes(32)).toEqual(createFakeRandom(7).bytes(32));
  expect(createFakeRandom(7).bytes(32)).not.toEqual(createFakeRandom(8).bytes(32));
  expect(new Set(createFakeRandom().bytes(10_000)).size).toBe(256);
});

test('fake ids repeat and are ordered', () => {
  const [one, two] = [createFakeIds(), createFakeIds()];
  const ids = Array.from({ length: 5000 }, () => one.next('evt'));
  expect(Array.from({ length: 5000 }, () => two.next('evt'))).toEqual(ids);
  expect(ids.toSorted()).toEqual(ids);
  expect(new Set(ids).size).toBe(ids.length);
});
