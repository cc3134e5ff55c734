import { createHash } from 'node:crypto';
import { beforeEach, expect, test } from 'vitest';
import type { SearchAnswer, SearchRequest } from './search-answer.ts';
import { SearchIndex } from './search-index.ts';
import { textShelf } from './text-shelf.ts';

const TEXTS = new Map([
  ['a.md', '# Boats\n\nA boat lies in the harbour. The harbour is old.\n'],
  ['b.md', '# Trains\n\nThe train passes the harbour at noon.\n'],
]);

let index: SearchIndex;
let looked = 0;
const request: SearchRequest = {
  query: 'old harbour',
  mode: 'hybrid',
  limit: 10,
  group: 'file',
  admitted: new Set([0]),
  explain: false,
  recency: 'mild',
  changedAt: () => {
    looked += 1;
    return 0;
  },
};

function put(file: string, content: string): void {
  index.set({ file, content, hash: createHash('sha256').update(content).digest('hex'), chain: 0 });
}

function lendMissing(): number {
  const missing = index.texts.takeMissing();
  for (const shown of missing) index.texts.lend(shown, TEXTS.get(shown.file) ?? '');
  return missing.length;
}

const filesOf = ({ results }: SearchAnswer): string[] => results.map(({ file }) => file);

beforeEach(() => {
  index = new SearchIndex();
  for (const [file, text] of TEXTS) put(file, text);
  const whole = index.search(request);
  lendMissing();
  expect(filesOf(whole)).toEqual(['a.md', 'b.md']);
  looked = 0;
});

test('what waited for its texts is shown as it was found, and is not looked for again', () => {
  const whole = index.search({ ...request });
  const once = looked;
  textShelf.clear();
  index.texts.endLoan(null);
  expect(index.search(request).results.map(({ content }) => content)).toEqual(['', '']);
  expect(lendMissing()).toBe(2);
  expect(index.texts.endLoan(index.search({ ...request, admitted: new Set([0]) }))).toEqual(whole);
  expect(looked).toBe(2 * once);
});

test('after a change, for others, or with another wish it is looked for again', () => {
  const changes: [name: string, change: () => void, asked: SearchRequest, files: string[]][] = [
    ['another file', () => put('c.md', TEXTS.get('a.md') ?? ''), request, ['a.md', 'c.md', 'b.md']],
    ['no such file any more', () => index.delete('c.md'), request, ['a.md', 'b.md']],
    ['another query', () => {}, { ...request, query: 'train' }, ['b.md']],
    ['fewer wanted', () => {}, { ...request, limit: 1 }, ['a.md']],
    ['a file of others', () => index.rechain('a.md', 1), request, ['b.md']],
    ['who may see both', () => {}, { ...request, admitted: null }, ['a.md', 'b.md']],
  ];
  TEXTS.set('c.md', TEXTS.get('a.md') ?? '');
  for (const [name, change, asked, files] of changes) {
    textShelf.clear();
    index.texts.endLoan(null);
    index.search(request);
    change();
    lendMissing();
    expect(filesOf(index.search(asked)), name).toEqual(files);
    index.texts.takeMissing();
  }
  TEXTS.delete('c.md');
});

test('chains that are admitted to the same set meanwhile are looked into', () => {
  index.rechain('a.md', 1);
  const admitted = new Set([0]);
  textShelf.clear();
  index.texts.endLoan(null);
  expect(filesOf(index.search({ ...request, admitted }))).toEqual(['b.md']);
  admitted.add(1);
  lendMissing();
  expect(filesOf(index.search({ ...request, admitted }))).toEqual(['a.md', 'b.md']);
});
