import { expect, test } from 'vitest';
import { createTurns } from './turns.ts';

test('work under one key comes in turn, also after a failure; work under another does not wait', async () => {
  const inTurn = createTurns();
  const happened: string[] = [];
  const first = Promise.withResolvers<void>();
  const slow = inTurn('a', async () => {
    happened.push('first begins');
    await first.promise;
    happened.push('first fails');
    throw new Error('first');
  });
  const second = inTurn('a', async () => {
    happened.push('second');
    return 2;
  });
  await inTurn('b', async () => {
    happened.push('other');
  });
  expect(happened).toEqual(['first begins', 'other']);
  first.resolve();
  await expect(slow).rejects.toThrow('first');
  expect(await second).toBe(2);
  expect(happened).toEqual(['first begins', 'other', 'first fails', 'second']);
  expect(await inTurn('a', async () => 3)).toBe(3);
});
