import { expect, test } from 'vitest';
import { wait } from './wait.ts';

test('what a timer cannot hold is waited for too, and ends with its signal', async () => {
  const reason = new Error('given up');
  const ender = new AbortController();
  let isOver = false;
  const waiting = wait(Number.POSITIVE_INFINITY, ender.signal).finally(() => (isOver = true));
  await wait(50, undefined);
  expect(isOver).toBe(false);
  ender.abort(reason);
  await expect(waiting).rejects.toBe(reason);
});
