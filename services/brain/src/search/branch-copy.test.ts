/** An index that begins as a copy of another branch's. */
import { hash as digest } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { AnalysisCache } from './analysis-cache.ts';
import { BranchIndex } from './branch-index.ts';
import { IndexMemory } from './index-memory.ts';
import type { SearchRequest } from './search-answer.ts';
import { noteDifferences, PendingChanges } from './pending-changes.ts';
import { SearchIndex } from './search-index.ts';

const FILES = 400;
const CHANGED = 20;
const RULELESS = { chainOf: () => ({ id: 0, hides: () => false, indexed: (_path: string, text: string) => text }) };
const base = { mode: 'hybrid', limit: 20, group: 'passage', admitted: null, explain: true } as const;

const folder = mkdtempSync(join(tmpdir(), 'branch-copy-'));
const memory = new IndexMemory();
afterAll(async () => {
  await memory.close();
  rmSync(folder, { recursive: true, force: true });
});

const sha = (text: string): string => digest('sha256', text, 'hex');
const textOf = (number: number): string => `# Note ${number}\n\nThe ${number % 7} pilots wait for tide ${number}.\n`;

class Branch {
  readonly texts: Map<string, string>;
  readonly cache: AnalysisCache;
  readonly read = new Set<string>();
  readonly index: BranchIndex;

  constructor(name: string, cache: AnalysisCache, texts: Iterable<readonly [string, string]>) {
    this.texts = new Map(texts);
    this.cache = cache;
    this.index = new BranchIndex({
      source: {
        text: async (path) => {
          this.read.add(path);
          return this.texts.get(path) ?? null;
        },
      },
      cache,
      memory,
      snapshot: { file: join(folder, `${name}.search`), hiding: async () => () => false },
      onProblem: (error) => expect.fail(String(error)),
    });
    for (const [path, text] of this.texts) this.index.set(path, sha(text));
  }

  write(path: string, text: string): void {
    this.texts.set(path, text);
    this.index.set(path, sha(text));
  }

  async answers(): Promise<string[]> {
    const found: string[] = [];
    for (const query of QUERIES) {
      const request: SearchRequest = { ...base, query };
      found.push(JSON.stringify(await this.index.ask(RULELESS, (index) => index.under(RULELESS).search(request))));
    }
    return found;
  }

  /** What an index says that was made of the texts alone. */
  expected(): string[] {
    const index = new SearchIndex();
    for (const [file, content] of this.texts) index.set({ file, content, hash: sha(content), chain: 0 });
    return QUERIES.map((query) => JSON.stringify(index.search({ ...base, query })));
  }
}

const QUERIES = ['pilots tide', 'note 17', 'quagga', '"wait for tide"', 'tied pilto'];

const whole = () => Array.from({ length: FILES }, (_, number) => [`n${number}.md`, textOf(number)] as const);

/** As `whole`, with some files changed, gone and new. */
function altered(): (readonly [string, string])[] {
  const files = new Map<string, string>(whole());
  for (let number = 0; number < CHANGED; number += 1) files.set(`n${number}.md`, `${textOf(number)}\nA quagga.\n`);
  files.delete(`n${FILES - 1}.md`);
  files.set('new.md', 'Another quagga on the tide.');
  return [...files];
}

test('a branch reads of its files those that another one in memory has not, and answers as if made alone', async () => {
  const cache = new AnalysisCache();
  const main = new Branch('main', cache, whole());
  expect(await main.answers()).toEqual(main.expected());
  // Only now: in the background an index with many changes is loaded before anybody asks.
  const work = new Branch('work', cache, altered());
  await work.index.ready();
  expect(work.read.size).toBe(CHANGED + 1);
  expect(await work.answers()).toEqual(work.expected());

  work.write('n300.md', 'A quagga for work.');
  main.write('n301.md', 'A quagga for main.');
  expect(await work.answers()).toEqual(work.expected());
  expect(await main.answers()).toEqual(main.expected());

  await work.index.snapshot();
  await work.index.close();
  const again = new Branch('work', new AnalysisCache(), work.texts);
  await again.index.ready();
  expect([...again.read]).toEqual([]);
  expect(await again.answers()).toEqual(work.expected());
  await main.index.close();
  await again.index.close();
  for (const used of [cache, again.cache]) expect([used.size, used.dictionary.size]).toEqual([0, 0]);
});

test('a branch of other files is made of its own', async () => {
  const cache = new AnalysisCache();
  const main = new Branch('main2', cache, whole());
  await main.index.ready();
  const other = new Branch('other', cache, whole().slice(0, FILES / 2));
  await other.index.ready();
  expect(other.read.size).toBe(FILES / 2);
  expect(await other.answers()).toEqual(other.expected());
  await main.index.close();
  await other.index.close();
  expect([cache.size, cache.dictionary.size]).toEqual([0, 0]);
});

/** Runs it to its end; `after` so many steps. */
function stepsOf(copying: Generator<void, SearchIndex | null>, after = 0): { count: number; copy: SearchIndex | null } {
  for (let count = after; ; count += 1) {
    const step = copying.next();
    if (step.done === true) return { count, copy: step.value };
  }
}

test('what changed while it was copied is no copy, and holds nothing, however far the copy had come', () => {
  const cache = new AnalysisCache();
  const index = new SearchIndex(cache);
  for (const [file, content] of whole()) index.set({ file, content, hash: sha(content), chain: 0 });
  const { count, copy } = stepsOf(SearchIndex.copyOf(index));
  for (const _step of copy?.dissolve() ?? []);
  // Others are let in between its files.
  expect(count).toBeGreaterThan(FILES);
  for (const [changed, before] of [1, count - FILES / 2].entries()) {
    const copying = SearchIndex.copyOf(index);
    for (let step = 0; step < before; step += 1) expect(copying.next().done).toBe(false);
    index.delete(`n${changed}.md`);
    expect(stepsOf(copying, before).copy).toBeNull();
  }
  for (const _step of index.dissolve());
  expect([cache.size, cache.dictionary.size]).toEqual([0, 0]);
});

test('a look at what differs lets others in between its files', () => {
  const wanted = new Map(whole().map(([file, content]) => [file, sha(content)] as const));
  const pending = new PendingChanges();
  const index = { files: () => ['gone.md'], hashOf: () => null };
  const looking = noteDifferences(index, wanted, pending, { isLeft: () => false });
  expect([...looking].length).toBe(FILES + 1);
  expect(pending.size).toBe(FILES + 1);
});
