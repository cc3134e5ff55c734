import * as fc from 'fast-check';
import { runs } from '@svc/testing/counts.ts';
import { expect, test } from 'vitest';
import { stem } from './stem.ts';
import { SearchIndex } from './search-index.ts';
import { snippetOf, type SoughtTerm } from './snippet.ts';

const IDFS: ReadonlyMap<string, SoughtTerm> = new Map([
  ['tide', { idf: 2 }],
  ['pilot', { idf: 1.5 }],
  ['ship', { idf: 1 }],
]);
const snippet = (text: string): string => snippetOf(text, (word) => IDFS.get(stem(word)));
const FILLER = 'Nothing of that is told in this one, which goes on for a while about other things entirely.';

test.each([
  [
    'Ships wait. The pilot knows the tide. Nobody else does.',
    'Ships wait. The pilot knows the tide. Nobody else does.',
  ],
  [
    `${FILLER} ${FILLER} The pilot knows when the tide turns. ${FILLER} ${FILLER}`,
    `The pilot knows when the tide turns. ${FILLER} ${FILLER}`,
  ],
  [`${FILLER} ${FILLER} ${FILLER} The tide turns.`, `${FILLER} ${FILLER} The tide turns.`],
  [
    `The ship. ${FILLER} ${FILLER} ${FILLER} The tide turns, says the pilot.`,
    `${FILLER} ${FILLER} The tide turns, says the pilot.`,
  ],
  [`- ship\n- tide\n\n${FILLER}`, `- ship - tide ${FILLER}`],
  ['海が。潮tide。', '海が。潮tide。'],
  [`${FILLER} ${FILLER} ${FILLER}`, `${FILLER} ${FILLER}`],
  ['', ''],
])('whole sentences of %j', (text, shown) => {
  expect(snippet(text)).toBe(shown);
});

test('a sentence that is too long is cut around what was asked', () => {
  const shown = snippet(`${'and so on '.repeat(40)}until the tide meets the pilot ${'and more '.repeat(40)}`);
  expect(shown).toMatch(/^….*until the tide meets the pilot.*…$/);
  expect(shown.length).toBeLessThanOrEqual(242);
});

test('it is never longer than it may be, and shows the best sentence that fits whole', () => {
  const word = fc.constantFrom('tide', 'ships', 'pilot', 'and', 'harbour', '港', 'x'.repeat(50));
  const sentence = fc.array(word, { minLength: 1, maxLength: 40 }).map((words) => `${words.join(' ')}.`);
  const text = fc.array(sentence, { maxLength: 8 }).map((sentences) => sentences.join(' '));
  fc.assert(
    fc.property(text, (found) => {
      const shown = snippet(found);
      expect(shown.length).toBeLessThanOrEqual(242);
      for (const part of shown.split('…').filter((one) => one !== '')) expect(found).toContain(part);
      if (found.includes('tide')) expect(shown).toContain('tide');
    }),
    { numRuns: runs(300) },
  );
});

test.each([
  ['lant*', 'The lanterns burn.'],
  ['boat OR lantern', 'The lanterns burn.'],
  ['lanterm', 'The lanterns burn.'],
  ['猫', '黒猫がいる。'],
])('what %s stands for is shown', (query, sentence) => {
  const index = new SearchIndex();
  const content = `${FILLER} ${FILLER} ${FILLER} ${sentence}`;
  index.set({ file: 'a.md', content, hash: 'h', chain: 0 });
  const request = { query, mode: 'hybrid', limit: 1, group: 'file', admitted: null, explain: false } as const;
  expect(index.search(request).results[0]?.snippet).toContain(sentence);
});
