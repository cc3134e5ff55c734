/** What can never arrive, however much of it there is, keeps nothing behind it. */
import { CallError } from '@svc/contract/codes.ts';
import { expect, test } from 'vitest';
import { createCarrier } from './carrier.ts';
import { systemClock } from './clock.ts';
import { createLog } from './log.ts';

const platform = { clock: systemClock, log: createLog('silent', {}) };

/** The oldest of `rows`, of which so many never arrive. */
function cargoOf(rows: number, stuck: number) {
  const waiting = new Set(Array.from({ length: rows }, (_, index) => index));
  const tried: number[] = [];
  const carrier = createCarrier<number>(platform, {
    what: 'numbers',
    idOf: String,
    read: async (limit) => [...waiting].slice(0, limit),
    async send(row) {
      tried.push(row);
      if (row < stuck) throw new CallError('INTERNAL');
    },
    mark: async (row) => void waiting.delete(row),
  });
  return { carrier, waiting, tried };
}

test.each([
  [0, 0],
  [1, 1],
  [99, 50],
  [100, 100],
  [101, 100],
  [250, 0],
  [350, 250],
])('of %i, of which %i cannot arrive, all others do, and each is tried once', async (rows, stuck) => {
  const { carrier, waiting, tried } = cargoOf(rows, stuck);
  await carrier.flush();
  expect(waiting.size).toBe(stuck);
  expect(tried).toEqual(Array.from({ length: rows }, (_, index) => index));
  await carrier.close();
});
