/** Many wishes, few transactions: each has its own answer, and suffers from nobody else's mistake. */
import { CallError } from '@svc/contract/codes.ts';
import { expect, test } from 'vitest';
import { createGroupCommit } from './group-commit.ts';

const clock = { now: () => 1000 };
const SOON = 2000;

test('what comes in one turn goes together, up to a bound, and each has its answer', async () => {
  const batches: number[] = [];
  const group = createGroupCommit<number, number>(clock, async (wishes) => {
    batches.push(wishes.length);
    return wishes.map((wish) => 2 * wish);
  });
  const wishes = Array.from({ length: 150 }, (_, wish) => wish);
  const answers = await Promise.all(wishes.map((wish) => group.submit('a', wish, SOON)));
  expect(answers).toEqual(wishes.map((wish) => 2 * wish));
  expect(batches.reduce((sum, size) => sum + size, 0)).toBe(150);
  expect(batches.length).toBeLessThan(5);
});

test('how many go together may be told', async () => {
  const batches: number[] = [];
  const commit = async (wishes: readonly number[]) => {
    batches.push(wishes.length);
    return wishes;
  };
  const group = createGroupCommit<number, number>(clock, commit, 100);
  await Promise.all(Array.from({ length: 150 }, (_, wish) => group.submit('a', wish, SOON)));
  expect(batches).toEqual([100, 50]);
});

test('one lane does not wait for another', async () => {
  const blocked = Promise.withResolvers<void>();
  const group = createGroupCommit<string, string>(clock, async ([first = '', ...rest]) => {
    if (first === 'slow') await blocked.promise;
    return [first, ...rest];
  });
  const slow = group.submit('a', 'slow', SOON);
  expect(await group.submit('b', 'quick', SOON)).toBe('quick');
  blocked.resolve();
  expect(await slow).toBe('slow');
});

test('a bug is somebody’s own, what the database says meets all, and what is late is not begun', async () => {
  const begun: string[] = [];
  const group = createGroupCommit<string, string>(clock, async (wishes) => {
    begun.push(...wishes);
    if (wishes.includes('bug')) throw new Error('a bug');
    if (wishes.includes('away')) throw new CallError('SERVICE_UNAVAILABLE');
    if (wishes.includes('refused')) throw Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });
    return wishes;
  });
  const sent = await Promise.allSettled([
    group.submit('a', 'bug', SOON),
    group.submit('a', 'innocent', SOON),
    group.submit('a', 'late', 999),
    group.submit('b', 'away', SOON),
    group.submit('b', 'with it', SOON),
    group.submit('c', 'refused', SOON),
    group.submit('c', 'like it', SOON),
  ]);
  expect(sent).toMatchObject([
    { reason: { message: 'a bug' } },
    { value: 'innocent' },
    { reason: { code: 'TIMEOUT' } },
    { reason: { code: 'SERVICE_UNAVAILABLE' } },
    { reason: { code: 'SERVICE_UNAVAILABLE' } },
    { reason: { code: 'ECONNREFUSED' } },
    { reason: { code: 'ECONNREFUSED' } },
  ]);
  expect(begun).not.toContain('late');
  expect(begun.filter((wish) => wish === 'with it' || wish === 'like it')).toHaveLength(2);
});

test('what waits is bounded', async () => {
  const release = Promise.withResolvers<void>();
  const group = createGroupCommit<number, number>(clock, async (wishes) => {
    await release.promise;
    return wishes;
  });
  const sent = Array.from({ length: 12_000 }, async (_, wish) => group.submit('a', wish, SOON));
  release.resolve();
  const refused = (await Promise.allSettled(sent)).filter((one) => one.status === 'rejected');
  expect(refused.length).toBeGreaterThan(1000);
  expect(refused[0]).toMatchObject({ reason: { code: 'E_BUSY' } });
});
