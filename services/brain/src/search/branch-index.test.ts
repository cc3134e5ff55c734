import { hash as digest } from 'node:crypto';
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { hidesFieldsByName } from '../domain/fields/hidden-fields.ts';
import type { HidesFields } from '../ports.ts';
import { AnalysisCache } from './analysis-cache.ts';
import { BranchIndex } from './branch-index.ts';
import { IndexMemory } from './index-memory.ts';
import type { SearchRequest } from './search-answer.ts';
import { SearchIndex } from './search-index.ts';

const folder = mkdtempSync(join(tmpdir(), 'branch-index-'));
let folders = 0;
const base: SearchRequest = {
  query: '',
  mode: 'hybrid',
  limit: 20,
  group: 'passage',
  admitted: null,
  explain: true,
};
const RULELESS = { chainOf: () => ({ id: 0, hides: () => false, indexed: (_path: string, text: string) => text }) };

function sha(text: string): string {
  return digest('sha256', text, 'hex');
}

/** A branch of which the texts are in a map, as a person and the service would change them. */
class Place {
  readonly file: string;
  readonly texts = new Map<string, string>();
  readonly problems: unknown[] = [];
  readonly memory: IndexMemory;
  cache = new AnalysisCache();
  reads = 0;
  hides: HidesFields = () => false;
  now = 0;
  index: BranchIndex;

  constructor(file = join(folder, `${(folders += 1)}`, 'main.search')) {
    this.file = file;
    this.memory = new IndexMemory({ now: () => this.now });
    memories.push(this.memory);
    this.index = this.opened();
  }

  /** As after a kill, or a restart: nothing is known but the files and the snapshot. */
  opened(): BranchIndex {
    this.cache = new AnalysisCache();
    this.index = new BranchIndex({
      source: {
        text: async (path) => {
          this.reads += 1;
          return this.texts.get(path) ?? null;
        },
      },
      cache: this.cache,
      memory: this.memory,
      snapshot: { file: this.file, hiding: async () => this.hides },
      onProblem: (error) => this.problems.push(error),
    });
    for (const [path, text] of this.texts) this.index.set(path, sha(text));
    return this.index;
  }

  write(path: string, text: string, atHand = true): void {
    this.texts.set(path, text);
    if (atHand) this.index.set(path, sha(text), text);
    else this.index.set(path, sha(text));
  }

  remove(path: string): void {
    this.texts.delete(path);
    this.index.delete(path);
  }

  async ask(query: string): Promise<string> {
    const answer = await this.index.ask(RULELESS, (index) => index.under(RULELESS).search({ ...base, query }));
    return JSON.stringify(answer);
  }

  /** What an index says that was made of the texts alone. */
  expected(query: string): string {
    const index = new SearchIndex();
    for (const [file, content] of this.texts) index.set({ file, content, hash: sha(content), chain: 0 });
    return JSON.stringify(index.search({ ...base, query }));
  }
}

const memories: IndexMemory[] = [];
afterAll(async () => {
  for (const memory of memories) await memory.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('in memory', () => {
  test('nothing is read or analysed before the first search', async () => {
    const place = new Place();
    for (let at = 0; at < 100; at += 1) place.write(`n${at}.md`, `note ${at}`);
    expect([place.reads, place.cache.size, place.index.stats(), place.index.bytes]).toEqual([0, 0, null, 0]);
    expect(await place.ask('note')).toBe(place.expected('note'));
    expect(place.index.stats()?.files).toBe(100);
  });

  test('a search finds every write noted before it, while others go on writing', async () => {
    const place = new Place();
    await place.ask('x');
    for (let round = 0; round < 50; round += 1) {
      place.write(`r${round}.md`, `quagga${round} grazes`, round % 2 === 0);
      place.write('always.md', `again and again ${round}`);
      const asked = place.ask(`quagga${round}`);
      place.write('always.md', `again and again and ${round}`);
      expect(await asked).toContain(`r${round}.md`);
    }
    expect(place.index.pending()).toBeLessThan(3);
  });

  test('what changed between the note and the reading is indexed as it is, and looked at again', async () => {
    const place = new Place();
    place.write('a.md', 'okapi');
    await place.ask('okapi');
    place.index.set('a.md', sha('quagga'));
    place.texts.set('a.md', 'zebra'); // by a person; the tree has not seen it yet
    expect(JSON.parse(await place.ask('zebra')).results).toMatchObject([{ file: 'a.md', hash: sha('zebra') }]);
    place.texts.set('a.md', 'quagga'); // and taken back
    expect(await place.ask('quagga')).toBe(place.expected('quagga'));
    expect(await place.ask('zebra')).toBe(place.expected('zebra'));
  });

  test('a file that cannot be read spoils itself alone', async () => {
    const place = new Place();
    place.write('a.md', 'okapi one');
    place.write('b.md', 'okapi two');
    const index = new BranchIndex({
      source: {
        text: async (path) => {
          if (path === 'a.md') throw new Error('EACCES');
          return place.texts.get(path) ?? null;
        },
      },
      cache: new AnalysisCache(),
      memory: place.memory,
      snapshot: null,
      onProblem: (error) => place.problems.push(error),
    });
    for (const path of place.texts.keys()) index.set(path, null);
    const { results } = (await index.ready()).under(RULELESS).search({ ...base, query: 'okapi' });
    expect(results.map(({ file }) => file)).toEqual(['b.md']);
    expect(place.problems.length).toBeGreaterThan(0);
    await index.close();
  });

  test('large work is done by another thread, with the same result', async () => {
    const place = new Place();
    const text = (at: number) =>
      `# Title ${at}\n\n${'Words that fill a passage, naïvely — 東京. '.repeat(40)}quagga${at}\n`;
    for (let at = 0; at < 600; at += 1) place.write(`d/n${at}.md`, text(at), false);
    expect(await place.ask('quagga17 passage')).toBe(place.expected('quagga17 passage'));
    for (let at = 0; at < 300; at += 1) place.write(`d/n${at}.md`, text(at + 10_000), at % 2 === 0);
    expect(await place.ask('quagga10017 title')).toBe(place.expected('quagga10017 title'));
    await place.index.close();
    expect([place.cache.size, place.cache.dictionary.size, place.index.bytes]).toEqual([0, 0, 0]);
  });
});

describe('the budget', () => {
  async function loaded(
    limitBytes: number,
    idleMs: number,
  ): Promise<{ places: Place[]; memory: IndexMemory; at(now: number): void }> {
    let now = 0;
    const memory = new IndexMemory({ now: () => now, limitBytes, idleMs });
    memories.push(memory);
    const places = [0, 1, 2].map(() => new Place());
    for (const place of places) {
      place.index = new BranchIndex({
        source: { text: async (path) => place.texts.get(path) ?? null },
        cache: place.cache,
        memory,
        snapshot: { file: place.file, hiding: async () => place.hides },
        onProblem: (error) => place.problems.push(error),
      });
      for (let at = 0; at < 50; at += 1) place.write(`n${at}.md`, `note ${at} `.repeat(100));
      now += 1000;
      await place.ask('note');
    }
    return { places, memory, at: (to) => (now = to) };
  }
  const isLoaded = (places: readonly Place[]): boolean[] => places.map(({ index }) => index.stats() !== null);

  test('lets the longest unused go first, never one in use, and each after a while', async () => {
    const probe = await loaded(1e9, 600_000);
    const one = probe.places[0]?.index.bytes ?? 0;
    const { places, memory, at } = await loaded(one * 4.4, 600_000);
    memory.tend();
    await expect.poll(() => isLoaded(places)).toEqual([true, true, true]); // all are in use
    at(16_500);
    memory.tend();
    await expect.poll(() => isLoaded(places)).toEqual([false, true, true]);
    expect(memory.bytes).toBeLessThan(one * 2.5);
    for (const place of places) expect(await place.ask('note 7')).toBe(place.expected('note 7'));
    at(700_000);
    memory.tend();
    await expect.poll(() => isLoaded(places)).toEqual([false, false, false]);
    // What it held is given back piece by piece.
    await expect.poll(() => places.map(({ cache }) => cache.size)).toEqual([0, 0, 0]);
    const reads = places.map((place) => place.reads);
    for (const place of places) await place.index.ready();
    expect(places.map((place) => place.reads)).toEqual(reads); // all from the snapshots
    for (const place of places) expect(await place.ask('note 7')).toBe(place.expected('note 7'));
  });

  test('many changes warm an index before anybody searches, and its snapshot is written soon', async () => {
    const place = new Place();
    for (let at = 0; at < 300; at += 1) place.write(`n${at}.md`, `note ${at}`);
    place.memory.tend();
    expect(place.cache.size).toBe(0);
    place.now = 600;
    place.memory.tend();
    await expect.poll(() => place.index.stats()?.files).toBe(300);
    place.now = 3_000;
    place.memory.tend();
    await expect.poll(() => existsSync(place.file)).toBe(true);
    place.reads = 0;
    place.opened();
    await place.index.ready();
    expect(place.reads).toBe(0);
    expect(await place.ask('note 7')).toBe(place.expected('note 7'));
  });
});

describe('the snapshot', () => {
  async function saved(): Promise<Place> {
    const place = new Place();
    for (let at = 0; at < 40; at += 1) place.write(`n${at}.md`, `note ${at}`);
    await place.ask('note');
    await place.index.snapshot();
    return place;
  }

  test('a kill costs the tail alone', async () => {
    const place = await saved();
    const before = readFileSync(place.file).length;
    place.write('n3.md', 'changed three');
    place.remove('n4.md');
    place.write('new.md', 'a quagga');
    await place.ask('x');
    await place.index.snapshot();
    expect(readFileSync(place.file).length - before).toBeLessThan(before / 4);
    place.write('n5.md', 'changed after the last snapshot');
    place.texts.set('n6.md', 'changed while nobody looked');
    place.texts.delete('n7.md');
    place.reads = 0;
    place.opened();
    await place.index.ready();
    expect(place.reads).toBe(2);
    for (const query of ['note', 'changed three', 'quagga', 'snapshot nobody'])
      expect(await place.ask(query)).toBe(place.expected(query));
  });

  test.each([
    ['half a block at its end', (file: string) => appendFileSync(file, readFileSync(file).subarray(0, 200))],
    ['garbage at its end', (file: string) => appendFileSync(file, 'garbage that is longer than a header of a block')],
    ['a cut', (file: string) => truncateSync(file, 300)],
    ['nothing in it', (file: string) => writeFileSync(file, '')],
    ['nothing of ours in it', (file: string) => writeFileSync(file, 'x'.repeat(5000))],
    ['no file', (file: string) => rmSync(file)],
  ])('with %s: answers are right, and the next snapshot is whole', async (_what, damage) => {
    const place = await saved();
    damage(place.file);
    place.opened();
    expect(await place.ask('note 7')).toBe(place.expected('note 7'));
    place.write('new.md', 'a quagga');
    await place.ask('x');
    await place.index.snapshot();
    place.reads = 0;
    place.opened();
    await place.index.ready();
    expect(place.reads).toBe(0);
    expect(await place.ask('quagga note')).toBe(place.expected('quagga note'));
  });

  test('a folder that cannot be written costs no answer', async () => {
    const place = new Place(join(folder, 'a-file', 'main.search'));
    writeFileSync(join(folder, 'a-file'), '');
    place.write('a.md', 'okapi');
    expect(await place.ask('okapi')).toBe(place.expected('okapi'));
    await expect(place.index.snapshot()).rejects.toThrow(/EEXIST|ENOTDIR/);
    place.write('b.md', 'okapi');
    expect(await place.ask('okapi')).toBe(place.expected('okapi'));
    await place.index.close();
    expect(place.cache.size).toBe(0);
  });

  test('endless change does not make it grow', async () => {
    const place = await saved();
    for (let round = 0; round < 60; round += 1) {
      for (let at = 0; at < 20; at += 1) place.write(`n${at}.md`, `round ${round} ${'word '.repeat(1000)}${at}`);
      await place.ask('round');
      await place.index.snapshot();
    }
    expect(readFileSync(place.file).length).toBeLessThan(3 * 1024 * 1024);
    place.reads = 0;
    place.opened();
    await place.index.ready();
    expect(place.reads).toBe(0);
    expect(await place.ask('round 59')).toBe(place.expected('round 59'));
  });

  test('holds nothing of a file with hidden fields, whenever they came to be hidden', async () => {
    const place = await saved();
    const holds = (text: string) => readFileSync(place.file).includes(text);
    place.write('hr/a.json', '{"salary": "91000"}');
    await place.ask('x');
    await place.index.snapshot();
    expect(holds('91000')).toBe(true);
    place.hides = (path) => path.startsWith('hr/');
    place.write('hr/b.json', '{"salary": "92000"}');
    await place.ask('x');
    await place.index.snapshot();
    expect([holds('91000'), holds('92000'), holds('"n7.md"')]).toEqual([false, false, true]);
    place.hides = hidesFieldsByName; // nobody can be asked: nothing is added, and nothing is lost
    place.write('hr/c.json', '{"salary": "93000"}');
    await place.ask('x');
    await place.index.snapshot();
    expect([holds('93000'), holds('"n7.md"')]).toEqual([false, true]);
    place.opened();
    expect(await place.ask('93000 note')).toBe(place.expected('93000 note'));
  });
});

const WORDS = ['lease', 'fence', 'deploy', 'writer', 'queue', 'rare', '東京都'];
const path = fc.constantFrom('a.md', 'b.json', 'ops/c.md', 'ops/d.txt', 'e.yaml', 'f.md');
const text = fc.array(fc.constantFrom(...WORDS), { maxLength: 8 }).map((words) => words.join(' '));
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('write' as const), path, text, atHand: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('remove' as const), path }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('snapshot', 'evict', 'kill', 'tend') }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('ask' as const), query: fc.constantFrom(...WORDS) }) },
);

test('through any writes, searches, snapshots, evictions and kills it answers as an index of the texts alone', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const place = new Place();
      const background: Promise<unknown>[] = [];
      for (const one of steps) {
        place.now += 900;
        if (one.kind === 'write' && 'atHand' in one) place.write(one.path, one.text, one.atHand);
        else if (one.kind === 'remove') place.remove(one.path);
        else if (one.kind === 'ask') expect(await place.ask(one.query)).toBe(place.expected(one.query));
        else if (one.kind === 'kill') place.opened();
        else if (one.kind === 'tend') place.memory.tend();
        else background.push(one.kind === 'evict' ? place.index.evict() : place.index.snapshot());
      }
      for (const word of WORDS) expect(await place.ask(word)).toBe(place.expected(word));
      await Promise.all(background);
      expect(place.problems).toEqual([]);
      await place.memory.close();
    }),
    { numRuns: 150, seed: 5 },
  );
});
