import { expect, test } from 'vitest';
import { FEEDBACK_WORDS } from './feedback.ts';
import { SearchIndex } from './search-index.ts';

function indexOf(contents: readonly string[]): SearchIndex {
  const index = new SearchIndex();
  for (const [place, content] of contents.entries())
    index.set({ file: `${place}.md`, content, hash: content, chain: place });
  return index;
}

function wordsOf(index: SearchIndex, query: string, admitted: ReadonlySet<number> | null = null): string[] {
  const { results } = index.search({ query, mode: 'plain', limit: 8, group: 'passage', admitted, explain: false });
  return index.expand(query, admitted, results).map(({ word }) => word);
}

test('names the rare words of what was found, as written, without those of the query', () => {
  const index = indexOf([
    'Harbour pilots know the breakwater. Breakwaters, breakwaters everywhere, and 42 ships.',
    'Ships carry grain and ships carry sand.',
    'Ships rust.',
  ]);
  const words = wordsOf(index, 'the harbour');
  expect(words[0]).toBe('breakwaters');
  expect(words.indexOf('breakwaters')).toBeLessThan(words.indexOf('ships'));
  expect(words).not.toContain('harbour');
  expect(words).not.toContain('everywhere');
  expect(words).not.toContain('42');
  expect(wordsOf(index, 'nowhere')).toEqual([]);
});

test('how rare a word is, is told by the admitted rows alone', () => {
  const texts = ['harbour alpha beta', ...Array.from({ length: 20 }, () => 'alpha'), 'beta'];
  const index = indexOf(texts);
  expect(wordsOf(index, 'harbour')).toEqual(['beta', 'alpha']);
  expect(wordsOf(index, 'harbour', new Set([0, 21]))).toEqual(['alpha', 'beta']);
});

test('answers few words whatever the text', () => {
  const many = Array.from({ length: 5000 }, (_, at) => `w${at.toString(36)}x`).join(' ');
  expect(wordsOf(indexOf([`harbour ${many}`]), 'harbour')).toHaveLength(FEEDBACK_WORDS);
});
