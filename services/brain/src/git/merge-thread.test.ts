import { expect, test } from 'vitest';
import { MERGE_LIMITS } from '../../testing/git-test-bed.ts';
import { mergeFile } from '../domain/merge/file.ts';
import { MergeThread } from './merge-thread.ts';

const records = (change: (at: number) => number): string =>
  JSON.stringify(
    Array.from({ length: 8_000 }, (_, at) => ({ id: at, value: change(at) })),
    null,
    1,
  );

test('a large merge says what a small one would, and others go on meanwhile', async () => {
  await using thread = new MergeThread(MERGE_LIMITS);
  const versions = {
    path: 'a.json',
    base: records((at) => at),
    ours: records((at) => (at === 1 ? -1 : at)),
    theirs: records((at) => (at === 7_000 ? -7 : at)),
  };
  let turns = 0;
  const others = setInterval(() => (turns += 1), 1);
  const merges = [await thread.merge(versions), await thread.merge({ ...versions, path: 'a.txt' })];
  clearInterval(others);
  expect(merges).toEqual([mergeFile(versions), mergeFile({ ...versions, path: 'a.txt' })]);
  expect(merges[0]).toEqual({
    text: records((at) => (at === 1 ? -1 : at === 7_000 ? -7 : at)),
    clashes: false,
  });
  expect(turns).toBeGreaterThan(0);
});

const head = `${'x'.repeat(40_000)}\n`;
const VERSIONS = { path: 'a.txt', base: `${head}a\n`, ours: `${head}a\nb\n`, theirs: `c\n${head}a\n` };
const MERGED = { text: `c\n${head}a\nb\n`, clashes: false };

test('a bug in the thread is thrown and no conflict, and the next merge is done', async () => {
  await using thread = new MergeThread(MERGE_LIMITS);
  const broken = { ...VERSIONS, base: { length: 40_000 } as unknown as string };
  await expect(thread.merge(broken)).rejects.toThrow(TypeError);
  expect(await thread.merge(VERSIONS)).toEqual(MERGED);
});

test('what takes longer than the call may is refused as that, and told with its file', async () => {
  const told: unknown[] = [];
  const log = { ...MERGE_LIMITS.log, warn: (fields: unknown) => told.push(fields) };
  await using thread = new MergeThread({ log, withinMs: 1 });
  await expect(thread.merge({ ...VERSIONS, path: 'b.txt' })).rejects.toMatchObject({ code: 'TIMEOUT' });
  expect(told).toEqual([{ path: 'b.txt' }]);
});

test('what the thread was ended over is a conflict, and told', async () => {
  const told: unknown[] = [];
  const log = { ...MERGE_LIMITS.log, error: (fields: unknown) => told.push(fields) };
  await using thread = new MergeThread({ ...MERGE_LIMITS, log });
  const interrupted = thread.merge(VERSIONS);
  await thread[Symbol.asyncDispose]();
  expect(await interrupted).toBeNull();
  expect(told).toEqual([{ path: 'a.txt' }]);
});
