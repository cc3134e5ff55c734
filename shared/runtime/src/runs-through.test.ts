/** Runs through what waits: whatever takes long or stays broken, all the others have their turn. */
import { expect, test } from 'vitest';
import { runsThrough, type Waiting } from './runs-through.ts';

const SECOND = 1000;
const idOf = (index: number) => String(index).padStart(4, '0');

/** So many that nobody can finish, each of which takes so long. */
function broken(count: number, eachMs: number) {
  const waiting: readonly Waiting[] = Array.from({ length: count }, (_, index) => ({ id: idOf(index), at: 'then' }));
  const tried: string[] = [];
  let now = 0;
  const run = runsThrough(
    { now: () => now },
    async (after, limit) => waiting.filter(({ id }) => after === null || id > after.id).slice(0, limit),
    async (id) => {
      tried.push(id);
      now += eachMs;
    },
  );
  return { run, tried, all: waiting.map(({ id }) => id) };
}

test.each([0, 1, 99, 100, 101, 250])('%i that take no time are each tried once in a run', async (count) => {
  const { run, tried, all } = broken(count, 0);
  await run();
  expect(tried).toEqual(all);
  await run();
  expect(tried).toEqual([...all, ...all]);
});

test('a run ends when its time is over, and the next goes on behind it, until all had their turn', async () => {
  const { run, tried, all } = broken(130, SECOND);
  await run();
  expect(tried).toEqual(all.slice(0, 20));
  while (tried.length < all.length) await run();
  expect(tried).toEqual(all);
  await run();
  expect(tried.slice(all.length)).toEqual(all.slice(0, 20));
});

test('one that takes longer than a run has time is not tried for ever', async () => {
  const { run, tried, all } = broken(3, 60 * SECOND);
  for (let turn = 0; turn < 3; turn += 1) await run();
  expect(tried).toEqual(all);
});
