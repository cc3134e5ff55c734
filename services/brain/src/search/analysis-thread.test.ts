import { afterEach, expect, test } from 'vitest';
import { AnalysisCache } from './analysis-cache.ts';
import { AnalysisThread } from './analysis-thread.ts';
import { RestoredTerms } from './snapshot-block.ts';
import { analyseTexts } from './text-analyser.ts';

const thread = new AnalysisThread();
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
      const place = Number(made.key.slice('markdown:h'.length));
      const own = cache.acquire('markdown', `again${place}`, texts[place]?.content ?? '');
      expect({ ...made, key: '' }).toEqual({ ...own, key: '' });
    }
  }
});

test('work that it is ended over is done by the caller, and the next is done by a new thread', async () => {
  const cache = new AnalysisCache();
  const interrupted = thread.analyse(texts);
  const analysed = analyseTexts(cache, thread, texts);
  await thread.close();
  expect(await interrupted).toBeNull();
  expect((await analysed).map(({ key }) => key)).toEqual(texts.map(({ hash }) => `markdown:${hash}`));
  expect((await thread.analyse(texts.slice(0, 3)))?.size).toBe(3);
});
