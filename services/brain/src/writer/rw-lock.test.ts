import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createRwLock } from './rw-lock.ts';

it('lets a lease change pass every writer that came after it, and never together with one', async () => {
  const rwLock = createRwLock();
  const order: string[] = [];
  let inside = 0;
  const write = (name: string) =>
    rwLock.shared(async () => {
      inside += 1;
      order.push(name);
      await turn();
      await turn();
      inside -= 1;
    });
  const first = [write('w1'), write('w2')];
  const change = rwLock.exclusive(async () => {
    expect(inside).toBe(0);
    order.push('lease');
    await turn();
    expect(inside).toBe(0);
  });
  await Promise.all([...first, write('w3'), change, write('w4')]);
  expect(order).toEqual(['w1', 'w2', 'lease', 'w3', 'w4']);
});

it('opens again after a body that threw', async () => {
  const rwLock = createRwLock();
  await expect(rwLock.exclusive(() => Promise.reject(new Error('body')))).rejects.toThrow('body');
  await expect(rwLock.shared(() => Promise.reject(new Error('body')))).rejects.toThrow('body');
  expect(await rwLock.exclusive(async () => 'in')).toBe('in');
});
