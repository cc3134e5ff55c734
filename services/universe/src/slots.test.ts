import { expect, test } from 'vitest';
import { createSlots } from './slots.ts';

const of = (workspace: string, family: string | null = null) => ({ workspace, family });

test('a workspace has its places, the process has its own, and each is free again when its work is over', async () => {
  const inSlot = createSlots({ atOnce: 3, atOnceOfWorkspace: 2, atOnceOfFamily: 9 });
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const first = [inSlot(of('a'), () => promise), inSlot(of('a'), () => promise)];
  const message = 'As many of these go on at once as may; try again when one is over.';
  await expect(inSlot(of('a'), async () => 1)).rejects.toMatchObject({ code: 'RATE_LIMITED', message });
  const failing = inSlot(of('b'), async () => promise.then(() => Promise.reject(new Error('no'))));
  await expect(inSlot(of('c'), async () => 1)).rejects.toMatchObject({ code: 'RATE_LIMITED' });
  resolve(7);
  expect(await Promise.all(first)).toEqual([7, 7]);
  await expect(failing).rejects.toThrow('no');
  expect(await Promise.all([inSlot(of('a'), async () => 1), inSlot(of('a'), async () => 2)])).toEqual([1, 2]);
  reject(new Error('settled before'));
});

test('a family has its places once, in however many workspaces; operators are no family', async () => {
  const inSlot = createSlots({ atOnce: 8, atOnceOfWorkspace: 2, atOnceOfFamily: 4 });
  const { promise, resolve } = Promise.withResolvers<number>();
  const first = ['a', 'b', 'c', 'd'].map((workspace) => inSlot(of(workspace, 'f'), () => promise));
  await expect(inSlot(of('e', 'f'), async () => 1)).rejects.toMatchObject({ code: 'RATE_LIMITED' });
  expect(await inSlot(of('e', 'g'), async () => 1)).toBe(1);
  expect(await inSlot(of('a'), async () => 2)).toBe(2);
  resolve(7);
  expect(await Promise.all(first)).toEqual([7, 7, 7, 7]);
  expect(await inSlot(of('e', 'f'), async () => 3)).toBe(3);
});
