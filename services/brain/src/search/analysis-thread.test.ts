import { afterEach, beforeEach, expect, test } from 'vitest';
import { AnalysisCache } from './analysis-cache.ts';
import { AnalysisThread } from './analysis-thread.ts';
import { analysedBlock } from './analysed-block.ts';
import { Block, RestoredTerms } from './snapshot-block.ts';
import { analyseTexts } from './text-analyser.ts';

const failures: unknown[] = [];
let thread: AnalysisThread;
beforeEach(() => {
  failures.length = 0;
  thread = new AnalysisThread((error) => failures.push(error));
});
afterEach(() => thread.close());

const texts = Array.from({ length: 200 }, (_, at) => ({
  format: 'markdown' as const,
  hash: `h${at}`,
  content: `# Note ${at}\n\n${`Words of note ${at}, naïvely — 東京. `.repeat(20)}`,
}));

test('answers with what this thread would have made of the texts, one request after the other and at once', async () => {
  const cache = new AnalysisCache();
  const terms = new RestoredTerms(cache.dictionary);
  const halves = [texts.slice(0, 100), texts.slice(100)];
  for (const block of await Promise.all(halves.map((half) => thread.analyse(half)))) {
    expect(block?.size).toBe(100);
    for (const made of block?.restore(cache, terms, () => true).values() ?? []) {
      const place = Number(made.hash.slice(1));
      const own = cache.acquire('markdown', `again${place}`, texts[place]?.content ?? '');
      expect([made.title, made.record]).toEqual([own.title, own.record]);
    }
  }
});

test('work that it is ended over is done by the caller', async () => {
  const cache = new AnalysisCache();
  const interrupted = thread.analyse(texts);
  const analysed = analyseTexts(cache, thread, texts);
  await thread.close();
  expect(await interrupted).toBeNull();
  expect((await analysed).map(({ format, hash }) => [format, hash])).toEqual(
    texts.map(({ format, hash }) => [format, hash]),
  );
  expect(failures).not.toEqual([]);
});

test('a bug in it is told, and the next work is done', async () => {
  expect(await thread.analyse([{ ...texts[0], content: null } as never])).toBeNull();
  expect(failures).toMatchObject([{ name: 'TypeError' }]);
  expect((await thread.analyse(texts.slice(0, 3)))?.size).toBe(3);
});

test('of the texts that it has handed over it keeps the terms alone', () => {
  const cache = new AnalysisCache();
  expect(Block.read(analysedBlock(cache, texts))?.size).toBe(texts.length);
  expect(cache.size).toBe(0);
  expect(cache.dictionary.find('東京')).toBeDefined();
  expect(analysedBlock(cache, texts)).toEqual(analysedBlock(new AnalysisCache(), texts));
});
