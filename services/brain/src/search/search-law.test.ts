import * as fc from 'fast-check';
import { runs } from '@svc/testing/counts.ts';
import { expect, test } from 'vitest';
import { AnalysisCache } from './analysis-cache.ts';
import type { Nearness } from './nearness.ts';
import type { SearchRequest, SearchResult, ShownBefore } from './search-answer.ts';
import { SearchIndex } from './search-index.ts';
import type { FileSource } from './search-index.ts';
import { titleOfText } from './title.ts';
import { Block, TermNumbers } from './snapshot-block.ts';
import { encodeFiles, indexOfBlocks } from './snapshot.ts';

const words = [
  'lease',
  'leases',
  'fence',
  'deploy',
  'writer',
  'queue',
  'the',
  'of',
  'fooBar',
  'snake_case',
  '東京都',
  'rare',
];
const operators = [
  'absent',
  'deplyo',
  'queeu',
  'OR',
  '-fence',
  '"the lease"',
  '-"of queue"',
  'le*',
  'path:ops',
  'since:2026-02',
  'until:2026-02',
  'path:*.md',
  '"',
];
const sentence = fc
  .array(fc.constantFrom(...words), { minLength: 1, maxLength: 12 })
  .map((found) => `${found.join(' ')}.`);
const block = fc.oneof(
  sentence,
  sentence.map((text) => `## ${text.slice(0, 30)}\n${text}`),
  sentence.map((text) => text.repeat(25)),
);
const content = fc.oneof(
  { weight: 5, arbitrary: fc.array(block, { maxLength: 6 }).map((blocks) => blocks.join('\n\n')) },
  { weight: 1, arbitrary: sentence.map((text) => `---\ntitle: ${text}\ntags: [fence, rare]\n---\n${text}`) },
  { weight: 1, arbitrary: sentence.map((text) => JSON.stringify({ title: text, body: text })) },
);
const path = fc
  .tuple(
    fc.constantFrom('', 'ops/', 'ops/deploy/'),
    fc.constantFrom('a', 'b', 'lease', 'z'),
    fc.constantFrom('.md', '.json', '.txt'),
  )
  .map((parts) => parts.join(''));
const source = fc.record({ file: path, content, chain: fc.nat(3) }).map((found): FileSource => {
  return { ...found, hash: `hash of ${found.content}` };
});
const step = fc.oneof(
  { weight: 4, arbitrary: source.map((set) => ({ set, remove: '' })) },
  { weight: 1, arbitrary: path.map((remove) => ({ set: null, remove })) },
);
const request = fc.record({
  query: fc.array(fc.constantFrom(...words, ...operators), { maxLength: 6 }).map((found) => found.join(' ')),
  mode: fc.constantFrom('plain', 'hybrid'),
  limit: fc.integer({ min: 1, max: 30 }),
  group: fc.constantFrom('file', 'passage'),
  pathPrefix: fc.constantFrom('', 'ops', 'ops/deploy/', 'a.md'),
  explain: fc.boolean(),
  recency: fc.constantFrom('off', 'mild', 'strong'),
});
type Question = Omit<SearchRequest, 'admitted'>;

/** Of some nobody knows when they were written. */
const TIMES: readonly (number | null)[] = [Date.UTC(2026, 0, 9), Date.UTC(2026, 1, 3), Date.UTC(2026, 2, 20), null];
const changedAt = (file: string): number | null => TIMES[(file.length + file.charCodeAt(0)) % TIMES.length] ?? null;

function build(sources: readonly FileSource[]): SearchIndex {
  const index = new SearchIndex();
  for (const found of sources) index.set(found);
  return index;
}

function replay(steps: readonly { set: FileSource | null; remove: string }[], index = new SearchIndex()) {
  const files = new Map<string, FileSource>();
  for (const { set, remove } of steps) {
    if (set === null) {
      expect(index.delete(remove)).toBe(files.delete(remove));
    } else {
      index.set(set);
      files.set(set.file, set);
    }
  }
  return { index, files };
}

/** With the texts, which no snapshot has. */
function restoredOf(
  index: SearchIndex,
  files: ReadonlyMap<string, FileSource>,
  cache = new AnalysisCache(),
): SearchIndex {
  const numbers = new TermNumbers(index.cache.dictionary);
  const blocks = Array.from(index.files(), (file) => Block.read(encodeFiles(numbers, [file])));
  const restored = indexOfBlocks(
    blocks.flatMap((block) => block ?? []),
    cache,
  );
  for (const file of restored.files())
    expect(restored.texts.lend(file, files.get(file.file)?.content ?? '')).toBe(true);
  return restored;
}

/** Its terms have other numbers than those of an index of its own. */
function usedCache(): AnalysisCache {
  const cache = new AnalysisCache();
  for (const term of ['elsewhere', 'rare']) cache.dictionary.retain(term);
  return cache;
}

/** What the page after these has to leave out. */
function shownBy(results: readonly SearchResult[], group: Question['group']): ShownBefore {
  const nameOf = ({ file, lines }: Pick<SearchResult, 'file' | 'lines'>): string =>
    group === 'file' ? file : `${file} ${lines[0]}`;
  const names = new Set(results.map(nameOf));
  return { count: names.size, has: (row) => names.has(nameOf(row)) };
}

/** Two pages, and what stands out in what was found. */
function ask(index: SearchIndex, question: Question, admitted: ReadonlySet<number> | null): string {
  const request = { ...question, admitted, changedAt };
  const answer = index.search(request);
  const next = index.search({ ...request, shown: shownBy(answer.results, question.group) });
  return JSON.stringify([answer, next, index.expand(question.query, admitted, answer.results)]);
}

const steps = fc.array(step, { maxLength: 30 });
const questions = fc.array(request, { minLength: 1, maxLength: 6 });

test('an answer over admitted chains is that of an index of the admitted files alone', () => {
  fc.assert(
    fc.property(steps, questions, fc.uniqueArray(fc.nat(4)), (changes, asked, chains) => {
      const { index, files } = replay(changes);
      const admitted = new Set(chains);
      const alone = build([...files.values()].filter(({ chain }) => admitted.has(chain)));
      for (const question of asked) expect(ask(index, question, admitted)).toBe(ask(alone, question, null));
    }),
    { numRuns: runs(300) },
  );
});

test('incremental changes equal a rebuild in any order, and a snapshot of it', () => {
  fc.assert(
    fc.property(steps, questions, (changes, asked) => {
      const { index, files } = replay(changes);
      const rebuilt = build([...files.values()].reverse());
      const restored = restoredOf(index, files);
      const restoredBesideOthers = restoredOf(index, files, usedCache());
      const { files: count, rows, terms } = index.stats();
      expect(rebuilt.stats()).toMatchObject({ files: count, rows, terms });
      for (const question of asked) {
        const answer = ask(index, question, null);
        expect(ask(rebuilt, question, null)).toBe(answer);
        expect(ask(restored, question, null)).toBe(answer);
        expect(ask(restoredBesideOthers, question, null)).toBe(answer);
        expect(ask(index, question, null)).toBe(answer);
      }
    }),
    { numRuns: runs(300) },
  );
});

test('a file without a word of the query is not found, and takes no other file from what is', () => {
  const stranger: FileSource = { file: 'zzzz.md', content: '# Zzzz\n\nZzzz zzzz.\n', hash: 'hash of it', chain: 0 };
  fc.assert(
    fc.property(steps, questions, (changes, asked) => {
      const { index, files } = replay(changes);
      const withStranger = build([...files.values(), stranger]);
      for (const question of asked) {
        const request = { ...question, limit: 1_000, admitted: null, changedAt };
        const [before, after] = [index.search(request), withStranger.search(request)];
        const found = ({ results }: typeof before): string[] =>
          results.map(({ file, lines }) => `${file} ${lines[0]}`).sort();
        expect(after.total).toBe(before.total);
        expect(after.corrected).toEqual(before.corrected);
        if (question.group === 'passage') expect(found(after)).toEqual(found(before));
        else
          expect(new Set(after.results.map(({ file }) => file))).toEqual(
            new Set(before.results.map(({ file }) => file)),
          );
      }
    }),
    { numRuns: runs(200) },
  );
});

test('indexes that share a cache answer as if alone, and leave nothing behind', () => {
  fc.assert(
    fc.property(steps, steps, questions, (left, right, asked) => {
      const cache = new AnalysisCache();
      const main = replay(left, new SearchIndex(cache));
      const branch = replay(right, new SearchIndex(cache));
      for (const { index, files } of [main, branch]) {
        for (const question of asked)
          expect(ask(index, question, null)).toBe(ask(build([...files.values()]), question, null));
      }
      for (const _step of main.index.dissolve());
      const alone = build([...branch.files.values()]);
      for (const question of asked) expect(ask(branch.index, question, null)).toBe(ask(alone, question, null));
      for (const _step of branch.index.dissolve());
      expect([cache.size, cache.dictionary.size, branch.index.stats().terms]).toEqual([0, 0, 0]);
    }),
    { numRuns: 100 },
  );
});

/** A cosine for each passage, by its hash alone; nothing is known of some. */
const nearness: Nearness = {
  weight: 0.7,
  cosinesOf: ({ hash, rows }) =>
    hash.length % 5 === 0 ? null : Array.from({ length: rows }, (_, at) => ((hash.length * 7 + at * 3) % 11) / 10),
};

const sumOf = (parts: Readonly<Record<string, number>> = {}): number =>
  Object.values(parts).reduce((sum, part) => sum + part, 0);

function expectExplained({ score, explain = expect.fail() }: SearchResult): void {
  const { fused, addends, terms, bm25, parts, maxima } = explain;
  expect(fused).toBe(score);
  expect(sumOf(addends)).toBeCloseTo(score, 8);
  expect(terms.reduce((sum, { part }) => sum + part, 0)).toBeCloseTo(bm25, 8);
  if (maxima !== undefined) expect((addends['words'] ?? NaN) * maxima.words).toBeCloseTo(sumOf(parts ?? {}), 7);
  else if (parts !== null) expect(addends).toEqual(parts);
}

test('what an explanation says adds up to the score in every mode', () => {
  const modes = fc.constantFrom(
    { mode: 'plain' } as const,
    { mode: 'hybrid' } as const,
    { mode: 'hybrid', nearness } as const,
    { mode: 'semantic', nearness } as const,
  );
  fc.assert(
    fc.property(steps, questions, modes, (changes, asked, way) => {
      const { index } = replay(changes);
      for (const question of asked)
        index.search({ ...question, ...way, explain: true, admitted: null }).results.forEach(expectExplained);
    }),
    { numRuns: runs(200) },
  );
});

test('the title of a text is the one that the index has', () => {
  const heading = fc.constantFrom(
    '# Top',
    'Under\n===',
    '##',
    '```\n# code\n```',
    '---\ntags: [x]\n---',
    '- # item',
    '',
  );
  const headed = fc.tuple(heading, content, heading, content).map((parts) => parts.join('\n'));
  fc.assert(
    fc.property(path, fc.oneof(content, headed), (file, text) => {
      const index = build([{ file, content: text, hash: 'h', chain: 0 }]);
      expect(titleOfText(file, text)).toBe(index.titleOf(file));
    }),
    { numRuns: runs(500) },
  );
});
