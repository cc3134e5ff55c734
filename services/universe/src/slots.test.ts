import { expect, test } from 'vitest';
import { createSlots } from './slots.ts';

test('a workspace has its places, the process has its own, and each is free again when its work is over', async () => {
  const inSlot = createSlots({ atOnce: 3, atOnceOfWorkspace: 2 });
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const first = [inSlot('a', () => promise), inSlot('a', () => promise)];
  await expect(inSlot('a', async () => 1)).rejects.toMatchObject({ code: 'RATE_LIMITED' });
  const failing = inSlot('b', async () => promise.then(() => Promise.reject(new Error('no'))));
  await expect(inSlot('c', async () => 1)).rejects.toMatchObject({ code: 'RATE_LIMITED' });
  resolve(7);
  expect(await Promise.all(first)).toEqual([7, 7]);
  await expect(failing).rejects.toThrow('no');
  expect(await Promise.all([inSlot('a', async () => 1), inSlot('a', async () => 2)])).toEqual([1, 2]);
  reject(new Error('settled before'));
});
