/** Words that are corrected where several brains are searched. */
import { beforeAll, expect, test } from 'vitest';
import { bedOfFile } from '../../../testing/bed-of-file.ts';
import { testCaller } from '../../../testing/brain-test-bed.ts';

const bed = await bedOfFile();
const node = await bed.start();
const { ok } = testCaller(() => node, null);

beforeAll(async () => {
  await ok('brain_push', { name: 'far', create: true });
  await ok('brain_write', { name: 'a', content: 'The pilots wait in the harbourside inn; a lantern burns.' });
  await ok('brain_push', { name: 'near', create: true });
  await ok('brain_write', { name: 'b', content: 'The pilow is soft; the lanterm is dark.' });
});

const search = async (query: string, mode = 'hybrid') => {
  const { results, corrected } = await ok('svc_search', { query, mode });
  return { files: (results as { file: string }[]).map(({ file }) => file).toSorted(), corrected };
};

test.each(['plain', 'hybrid', 'hyde', 'multiquery'])(
  'a word that one brain has is corrected in none: %s',
  async (mode) => {
    expect(await search('pilow', mode)).toEqual({ files: ['b.md'], corrected: undefined });
    expect(await search('lantern', mode)).toEqual({ files: ['a.md'], corrected: undefined });
  },
);

test('a word that none has is read as the nearest that one has, in all of them', async () => {
  expect(await search('lanternm')).toEqual({ files: ['b.md'], corrected: [{ word: 'lanternm', as: 'lanterm' }] });
  expect(await search('harboursidde')).toEqual({
    files: ['a.md'],
    corrected: [{ word: 'harboursidde', as: 'harboursid' }],
  });
});

test('each word is judged for itself', async () => {
  expect(await search('pilow harboursidde')).toEqual({
    files: ['a.md', 'b.md'],
    corrected: [{ word: 'harboursidde', as: 'harboursid' }],
  });
});
