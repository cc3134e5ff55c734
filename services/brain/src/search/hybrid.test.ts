/** What each feature of the hybrid order is for: of two notes that are alike otherwise, the one that it is for comes first. */
import { expect, test } from 'vitest';
import type { HybridParts } from './hybrid.ts';
import { SearchIndex } from './search-index.ts';

const FILLER = Array.from({ length: 30 }, (_, number) => [`z/filler-${number}.md`, `Note ${number} on other matters.`]);

function partsOf(query: string, notes: Readonly<Record<string, string>>): Record<string, HybridParts> {
  const index = new SearchIndex();
  const files = [...Object.entries(notes), ...FILLER];
  for (const [file = '', content = ''] of files) index.set({ file, content, hash: `of ${file}`, chain: 0 });
  const asked = { query, mode: 'hybrid', limit: 10, group: 'file', admitted: null, explain: true } as const;
  const { results } = index.search(asked);
  expect(results[0]?.file, 'the first is the one that is meant').toBe(Object.keys(notes)[0]);
  return Object.fromEntries(results.flatMap(({ file, explain }) => (explain?.parts ? [[file, explain.parts]] : [])));
}

test('words in the order of the query', () => {
  const parts = partsOf('ship follows pilot', {
    'b.md': 'The ship follows the pilot.',
    'a.md': 'The pilot follows the ship.',
  });
  expect(parts['b.md']?.order).toBeGreaterThan(parts['a.md']?.order ?? 0);
  expect(parts['b.md']?.bm25).toBe(parts['a.md']?.bm25);
});

test('stop words tell apart what the other words do not', () => {
  const parts = partsOf('who gave her the lantern', {
    'b.md': 'A sailor gave her that lantern.',
    'a.md': 'A sailor sold me that lantern.',
  });
  expect(parts['b.md']?.common).toBeGreaterThan(parts['a.md']?.common ?? 0);
  expect(parts['b.md']?.bm25).toBe(parts['a.md']?.bm25);
});

test('without stop words in the query nothing is common, and a query of stop words alone has none beside its words', () => {
  expect(partsOf('lantern', { 'a.md': 'A lantern for the sailor.' })['a.md']?.common).toBe(0);
  expect(partsOf('what will be', { 'a.md': 'What will be will be.' })['a.md']?.common).toBe(0);
});

test('like the best of what is found', () => {
  const parts = partsOf('harbour', {
    'best.md': '# Harbour\n\nHarbour pilots guide tankers past the breakwater.',
    'like.md': 'A harbour where pilots guide tankers.',
    'a-other.md': 'A harbour where somebody sells apples.',
  });
  expect(parts['like.md']?.likeness).toBeGreaterThan(parts['a-other.md']?.likeness ?? 0);
});

test('a single file is like nothing else', () => {
  expect(partsOf('harbour', { 'a.md': 'The harbour.' })['a.md']?.likeness).toBe(0);
});
