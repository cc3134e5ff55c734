/** Rows that cannot be among the first are left out of the scoring, and nobody can tell. */
import { beforeAll, expect, test } from 'vitest';
import type { SearchRequest } from './search-answer.ts';
import { SearchIndex } from './search-index.ts';

const FILES = 1_200;
const WORDS = 400;
const QUERIES = 10;

/** The sequence of a linear congruential generator. */
function sequence(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const next = sequence(17);
/** The first few are in nearly every file. */
const word = (): string => `w${Math.floor(WORDS ** next())}`;
const words = (count: number): string => Array.from({ length: count }, word).join(' ');

let index: SearchIndex;
beforeAll(() => {
  index = new SearchIndex();
  for (let number = 0; number < FILES; number += 1) {
    const content = `# ${words(2)}\n\n${words(40)}.\n\n## ${words(1)}\n\n${words(20 + (number % 50))}.`;
    index.set({ file: `f${number}.md`, content, hash: `h${number}`, chain: number % 3 });
  }
});

const ways = (['plain', 'hybrid'] as const).flatMap((mode) =>
  (['file', 'passage'] as const).flatMap((group) =>
    [null, new Set([0, 2])].map(
      (admitted) => ({ mode, group, admitted, explain: false }) satisfies Partial<SearchRequest>,
    ),
  ),
);

test.each(ways)('the first of $mode by $group are those of all, under the rules too', (way) => {
  for (let number = 0; number < QUERIES; number += 1) {
    const query = words(2 + (number % 4));
    const few = index.search({ ...way, query, limit: 10 });
    const all = index.search({ ...way, query, limit: FILES * 4 });
    expect(few.results).toEqual(all.results.slice(0, 10));
    expect(few.total).toBe(all.total);
    expect(few.total).toBe(new Set(all.results.map(({ file }) => file)).size);
  }
});
