import { expect, test } from 'vitest';
import { mergeFile } from '../domain/merge/file.ts';
import { MergeThread } from './merge-thread.ts';

const records = (change: (at: number) => number): string =>
  JSON.stringify(
    Array.from({ length: 8_000 }, (_, at) => ({ id: at, value: change(at) })),
    null,
    1,
  );

test('a large merge says what a small one would, and others go on meanwhile', async () => {
  await using thread = new MergeThread();
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

test('what the thread was ended over is answered, and the next merge gets another thread', async () => {
  await using thread = new MergeThread();
  const head = `${'x'.repeat(40_000)}\n`;
  const versions = { path: 'a.txt', base: `${head}a\n`, ours: `${head}a\nb\n`, theirs: `c\n${head}a\n` };
  const interrupted = thread.merge(versions);
  await thread[Symbol.asyncDispose]();
  expect(await interrupted).toBeNull();
  expect(await thread.merge(versions)).toEqual({ text: `c\n${head}a\nb\n`, clashes: false });
});
