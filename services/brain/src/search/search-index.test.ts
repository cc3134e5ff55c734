import { describe, expect, test } from 'vitest';
import { AnalysisCache } from './analysis-cache.ts';
import { analysisVersion } from './analysis.ts';
import type { SearchRequest } from './search-answer.ts';
import { SearchIndex } from './search-index.ts';
import { Block, blockLength, TermNumbers } from './snapshot-block.ts';
import { encodeFiles, indexOfBlocks } from './snapshot.ts';

const corpus = {
  'ops/deploy.md': `# Deploying the service

Build the image, push it and wait for the health check. A failed deployment is rolled back by the controller.

## Rolling back

Run the rollback command with the last good release. Draining takes at most thirty seconds, then connections are cut.
`,
  'ops/leases.md': `---
title: Leases and fencing tokens
tags: [lock, concurrency]
---
A lease is granted for a limited time. The fencing token rises with each grant, so a late writer is refused.

When the holder forgets to renew it or dies the lease expires and another agent may acquire it.
`,
  'kitchen/banana-bread.md': `# Banana bread

Mash three ripe bananas, add sugar, eggs and flour. Bake for fifty minutes. Let it cool before cutting.
`,
  'api/errors.json': JSON.stringify(
    { E_LOCKED: 'somebody else holds the lease', E_FENCED: 'the fence token is stale' },
    null,
    2,
  ),
  'garden/tomatoes.md': `# Tomatoes

Water the tomato plants in the morning. They take ninety days to ripen.
`,
};

function indexOf(files: Readonly<Record<string, string>>): SearchIndex {
  const index = new SearchIndex();
  for (const [file, content] of Object.entries(files)) index.set({ file, content, hash: `h:${file}`, chain: 0 });
  return index;
}

const base: SearchRequest = { query: '', mode: 'hybrid', limit: 10, group: 'file', admitted: null, explain: false };

function filesFor(index: SearchIndex, request: Partial<SearchRequest>): string[] {
  return index.search({ ...base, ...request }).results.map(({ file }) => file);
}

describe.each(['plain', 'hybrid'] as const)('%s', (mode) => {
  test.each([
    ['how do I roll back a failed deployment?', 'ops/deploy.md'],
    ['fencing token of a late writer', 'ops/leases.md'],
    ['concurrency', 'ops/leases.md'],
    ['how long do tomatoes need to ripen', 'garden/tomatoes.md'],
    ['baking with ripe bananas', 'kitchen/banana-bread.md'],
    ['E_FENCED', 'api/errors.json'],
    ['what the holder forgot', 'ops/leases.md'],
  ])('"%s" finds %s first', (query, file) => {
    expect(filesFor(indexOf(corpus), { query, mode })[0]).toBe(file);
  });

  test.each(['', '   ', '\u0301', '(+)*$', 'zebra'])('"%s" finds nothing', (query) => {
    expect(indexOf(corpus).search({ ...base, mode, query })).toMatchObject({ results: [], total: 0 });
  });

  test('a query of stop words alone is searched as it is', () => {
    expect(filesFor(indexOf(corpus), { query: 'it is', mode })).toContain('ops/deploy.md');
  });

  test('100 KiB of a hostile query', () => {
    expect(indexOf(corpus).search({ ...base, mode, query: '(a+)+$'.repeat(17_000) }).total).toBe(2);
    const many = Array.from({ length: 20_000 }, (_, at) => `lease${at} lease token`).join(' ');
    expect(indexOf(corpus).search({ ...base, mode, query: many }).total).toBeLessThanOrEqual(2);
  });

  test('a change is seen by the next search', () => {
    const index = indexOf(corpus);
    index.set({ file: 'new.md', content: 'the quagga grazes', hash: 'n1', chain: 0 });
    expect(filesFor(index, { query: 'quagga', mode })).toEqual(['new.md']);
    index.set({ file: 'new.md', content: 'the okapi grazes', hash: 'n2', chain: 0 });
    expect(filesFor(index, { query: 'quagga', mode })).toEqual([]);
    expect(filesFor(index, { query: 'okapi', mode })).toEqual(['new.md']);
    expect([index.delete('new.md'), index.delete('new.md')]).toEqual([true, false]);
    expect(filesFor(index, { query: 'okapi', mode })).toEqual([]);
  });

  test('equal scores are ordered by file', () => {
    const same = { 'b.md': 'one lease', 'a.md': 'one lease', 'c.md': 'one lease' };
    expect(filesFor(indexOf(same), { query: 'lease', mode })).toEqual(['a.md', 'b.md', 'c.md']);
  });
});

test('a result shows the passage, its lines, title and a snippet around the terms', () => {
  const [first] = indexOf(corpus).search({ ...base, query: 'draining connections', limit: 1 }).results;
  expect(first).toMatchObject({
    file: 'ops/deploy.md',
    title: 'Deploying the service',
    lines: [7, 7],
    hash: 'h:ops/deploy.md',
  });
  expect(first?.content).toContain('Draining takes at most thirty seconds');
  const long = indexOf({ 'long.txt': `${'filler words here '.repeat(40)}needle in it ${'more filler '.repeat(30)}` });
  const [found] = long.search({ ...base, query: 'needle' }).results;
  expect(found?.snippet).toContain('needle in it');
  expect(found?.snippet).toMatch(/^….*…$/);
  expect(found?.snippet.length).toBeLessThanOrEqual(242);
});

test('bare results are the same passages in the same order, without headings and snippets', () => {
  const request = { ...base, query: 'deploy lease tomatoes', group: 'passage' } as const;
  const { results, ...rest } = indexOf(corpus).search(request);
  expect(results.some(({ headings }) => headings.length > 0)).toBe(true);
  const bare = results.map((row) => ({ ...row, headings: [], snippet: '' }));
  expect(indexOf(corpus).search({ ...request, bare: true })).toEqual({ results: bare, ...rest });
});

test('the title is the front matter title, else the first heading, else the file name', () => {
  const index = indexOf({
    'x/quagga.txt': 'grazes',
    'b.md': '# Top\nquagga',
    'c.md': '---\ntitle: T\n---\n# Top\nquagga',
  });
  const { results } = index.search({ ...base, query: 'quagga' });
  expect(Object.fromEntries(results.map(({ file, title }) => [file, title]))).toEqual({
    'b.md': 'Top',
    'c.md': 'T',
    'x/quagga.txt': 'quagga',
  });
});

test.each(['plain', 'hybrid'] as const)('%s finds the words of JSON behind and in what is escaped', (mode) => {
  const notes = { note: 'first\nquagga\tgrazes "loudly"', clé: 'the café\\okapi' };
  const ascii = JSON.stringify(notes).replace(/[^ -~]/g, (letter) => `\\u00${letter.charCodeAt(0).toString(16)}`);
  const index = indexOf({ 'api/notes.json': ascii });
  for (const query of ['quagga', 'grazes', 'loudly', 'café', 'okapi', 'clé', '"quagga grazes"'])
    expect([query, filesFor(index, { query, mode })]).toEqual([query, ['api/notes.json']]);
  for (const query of ['nquagga', 'tgrazes', 'u00e9'])
    expect([query, filesFor(index, { query, mode })]).toEqual([query, []]);
});

test('an empty file is found by its path', () => {
  expect(filesFor(indexOf({ 'quagga/notes.md': '' }), { query: 'quagga' })).toEqual(['quagga/notes.md']);
});

test('grouping by passage shows several passages of a file, by file one', () => {
  const index = indexOf({ 'a.md': '# A\nlease one\n## B\nlease two\n## C\nlease three' });
  expect(filesFor(index, { query: 'lease', group: 'passage' })).toEqual(['a.md', 'a.md', 'a.md']);
  const { results, total } = index.search({ ...base, query: 'lease' });
  expect([results.length, total]).toEqual([1, 1]);
});

test('a path prefix is a directory or a file, and narrows total', () => {
  const index = indexOf({ 'ops/a.md': 'lease', 'opsx/b.md': 'lease', 'c.md': 'lease' });
  for (const pathPrefix of ['ops', 'ops/', 'ops/a.md']) {
    expect(index.search({ ...base, query: 'lease', pathPrefix })).toMatchObject({
      total: 1,
      results: [{ file: 'ops/a.md' }],
    });
  }
});

test('hybrid goes on in plain order beyond the reranked hundred', () => {
  const index = indexOf({
    'log.md': '# Log\n' + Array.from({ length: 150 }, (_, at) => `## Day ${at}\nlease lease ${at}`).join('\n'),
    'other.md': `A lease is mentioned once in a long text about ${'quite other things '.repeat(20)}.`,
  });
  const { results, total } = index.search({ ...base, query: 'lease', explain: true });
  expect(results.map(({ file }) => file)).toEqual(['log.md', 'other.md']);
  expect(total).toBe(2);
  expect(results[1]?.explain?.parts?.grams).toBe(0);
});

test('the same bytes under two names are analysed once; other bytes under the same hash are kept apart', () => {
  const cache = new AnalysisCache();
  const [main, branch] = [new SearchIndex(cache), new SearchIndex(cache)];
  main.set({ file: 'a.md', content: 'salary 91000', hash: 'x', chain: 0 });
  branch.set({ file: 'b.md', content: 'salary 91000', hash: 'x', chain: 0 });
  expect(cache.size).toBe(1);
  branch.set({ file: 'a.md', content: 'no figure', hash: 'x', chain: 0 });
  branch.delete('b.md');
  expect(filesFor(branch, { query: '91000' })).toEqual([]);
  expect(filesFor(main, { query: '91000' })).toEqual(['a.md']);
});

test('endless change does not grow the index', () => {
  const index = new SearchIndex();
  const sizes = [0, 1, 2, 3, 4, 5].map((round) => {
    for (let at = 0; at < 600; at += 1) {
      const content = `# Note ${at}\n\nword${round}x${at} and the usual lease, fence and queue.\n`;
      index.set({ file: `f${at % 20}.md`, content, hash: `${round}.${at}`, chain: 0 });
    }
    return index.stats().estimatedBytes;
  });
  expect(index.stats()).toMatchObject({ files: 20, rows: 20 });
  expect(sizes[5]).toBeLessThan((sizes[1] ?? 0) * 1.1);
});

describe('a block of a snapshot', () => {
  const source = indexOf(corpus);
  const bytes = encodeFiles(new TermNumbers(source.cache.dictionary), [...source.files()]);

  test('is not read when it was made under another version of Unicode', () => {
    expect(blockLength(bytes, analysisVersion(process.versions.unicode))).toBe(bytes.length);
    expect(blockLength(bytes, analysisVersion('15.1'))).toBeNull();
  });

  test('is not read when it is of another analyser version, cut short, or damaged anywhere', () => {
    expect(blockLength(bytes)).toBe(bytes.length);
    expect(blockLength(bytes, analysisVersion() + 1)).toBeNull();
    expect(Block.read(bytes.subarray(0, bytes.length - 4))).toBeNull();
    expect(Block.read(new Uint8Array(0))).toBeNull();
    for (let at = 0; at < bytes.length; at += 97) {
      const damaged = Uint8Array.from(bytes);
      damaged[at] = (damaged[at] ?? 0) ^ 1;
      expect(Block.read(damaged)).toBeNull();
    }
  });

  test('is read from any offset of a larger buffer, and its index goes on changing like the original', () => {
    const shifted = new Uint8Array(bytes.length + 3);
    shifted.set(bytes, 3);
    const block = Block.read(shifted.subarray(3));
    const restored = indexOfBlocks(block === null ? [] : [block]);
    const original = indexOf(corpus);
    for (const [file, content] of Object.entries(corpus))
      restored.texts.lend(restored.fileOf(file) ?? expect.fail(), content);
    for (const index of [restored, original]) {
      index.delete('ops/leases.md');
      index.set({ file: 'new.md', content: 'ripe for a lease — naïve 東京', hash: 'n', chain: 0 });
    }
    for (const query of ['lease', 'deployment', 'ripe', '東京']) {
      expect(restored.search({ ...base, query })).toEqual(original.search({ ...base, query }));
      expect(restored.search({ ...base, query }).total).toBeGreaterThan(0);
    }
    for (const _step of restored.dissolve());
    expect([restored.cache.size, restored.cache.dictionary.size]).toEqual([0, 0]);
  });

  test('a run of blocks keeps its terms apart when the index changes in between', () => {
    const index = indexOf({ 'a.md': 'okapi', 'b.md': 'zebra', 'c.md': 'gnu' });
    const numbers = new TermNumbers(index.cache.dictionary);
    const encode = (...files: string[]) =>
      Block.read(
        encodeFiles(
          numbers,
          files.flatMap((file) => index.fileOf(file) ?? []),
        ),
      );
    const first = encode('a.md', 'b.md');
    index.delete('b.md'); // its terms' ids are given to others
    index.set({ file: 'd.md', content: 'lemur vicuna', hash: 'd', chain: 0 });
    const restored = indexOfBlocks([first, encode('c.md', 'd.md')].flatMap((block) => block ?? []));
    for (const [query, file] of Object.entries({
      okapi: 'a.md',
      zebra: 'b.md',
      gnu: 'c.md',
      lemur: 'd.md',
      vicuna: 'd.md',
    }))
      expect(filesFor(restored, { query })).toEqual([file]);
  });

  test('later blocks win over earlier ones', () => {
    const later = indexOf({ 'garden/tomatoes.md': '# Tomatoes\n\nAll eaten.' });
    const blocks = [
      bytes.slice(),
      encodeFiles(new TermNumbers(later.cache.dictionary), [...later.files()], ['ops/deploy.md']),
    ].map(Block.read);
    const index = indexOfBlocks(blocks.flatMap((block) => block ?? []));
    expect(filesFor(index, { query: 'morning deployment' })).toEqual([]);
    expect(filesFor(index, { query: 'eaten bananas' }).toSorted()).toEqual([
      'garden/tomatoes.md',
      'kitchen/banana-bread.md',
    ]);
  });
});

describe.each(['plain', 'hybrid'] as const)('what is said about words, %s', (mode) => {
  const notes = {
    'a/order.md': 'The blue harbour light. Light of the harbour, blue as ever, blue harbour.',
    'a/exact.md': 'Somewhere else stands a harbour light that nobody counts.',
    'b/other.md': 'The harbour is closed; the light is out. Deployments wait, the deployer sleeps.',
    'b/naïve.md': 'A quokka eats the lemon.',
  };
  const times: Record<string, number> = {
    'a/order.md': Date.UTC(2025, 11, 31),
    'a/exact.md': Date.UTC(2026, 0, 1),
    'b/other.md': Date.UTC(2026, 1, 28, 23),
  };
  const found = (query: string) => {
    const request = { ...base, mode, query, explain: true, changedAt: (file: string) => times[file] ?? null };
    return indexOf(notes).search(request);
  };
  const files = (query: string) => found(query).results.map(({ file }) => file);

  test('a phrase in exactly that order comes first, stop words included, and the score tells', () => {
    expect(files('"light that nobody"')[0]).toBe('a/exact.md');
    expect(files('blue "harbour light"').slice(0, 2)).toEqual(['a/order.md', 'a/exact.md']);
    expect(files('"light harbour" blue')).toHaveLength(3);
    for (const { score, explain } of found('blue "harbour light"').results) {
      const parts = explain?.parts ?? { bm25: explain?.bm25 ?? NaN, phrases: explain?.phrases ?? NaN };
      expect(Object.values(parts).reduce((sum, part) => sum + part, 0)).toBeCloseTo(score, 8);
    }
  });

  test.each([
    ['harbour -blue', ['a/exact.md', 'b/other.md']],
    ['harbour -"harbour light"', ['b/other.md']],
    ['deplo*', ['b/other.md']],
    ['harbour path:a', ['a/exact.md', 'a/order.md']],
    ['harbour path:*/o*.md', ['a/order.md', 'b/other.md']],
    ['harbour category:b', ['b/other.md']],
    ['harbour since:2026', ['a/exact.md', 'b/other.md']],
    ['harbour until:2025', ['a/order.md']],
    ['harbour since:2026-02-28 until:2026-02-28', ['b/other.md']],
    ['quokka OR deployer', ['b/naïve.md', 'b/other.md']],
    ['-blue', []],
    ['since:2026', []],
  ])('"%s"', (query, expected) => {
    expect(files(query).toSorted()).toEqual(expected);
  });

  test('an alternative counts like the other, however rare it is', () => {
    const [first] = found('harbour OR quokka').results;
    const parts = first?.explain?.terms.map(({ term }) => term);
    expect(new Set(parts)).toEqual(new Set(['harbour OR quokka']));
  });

  test('an emoji and a single letter of a script without blanks find whatever has them', () => {
    const index = indexOf({
      'a.md': '🎉🎂 at five',
      'b.md': '会議🎉',
      'c.md': '🎉🎉',
      'd.md': '黒猫',
      'e.md': '猫は寝る',
      'f.md': '猫',
    });
    expect(filesFor(index, { query: '🎉' }).toSorted()).toEqual(['a.md', 'b.md', 'c.md']);
    expect(filesFor(index, { query: '🎂' })).toEqual(['a.md']);
    expect(filesFor(index, { query: '会議' })).toEqual(['b.md']);
    expect(filesFor(index, { query: '猫' }).toSorted()).toEqual(['d.md', 'e.md', 'f.md']);
    expect(filesFor(index, { query: '🎉 猫 -猫' }).toSorted()).toEqual(['a.md', 'b.md', 'c.md']);
  });

  test.each([
    ['zurich hauptbahnhof', 'ac'],
    ['zuerich hauptbahnhof', 'ab'],
    ['Zürich Hauptbahnhof', 'abc'],
    ['Zu\u0308rich Hauptbahnhof', 'abc'],
  ])('the phrase "%s" stands where one of its spellings does: in %s', (phrase, files) => {
    const index = indexOf({
      'a.md': 'Ab Zürich Hauptbahnhof.',
      'b.md': 'Ab Zuerich Hauptbahnhof.',
      'c.md': 'Ab Zurich Hauptbahnhof.',
      'd.md': 'Ab Zürich zum Hauptbahnhof.',
    });
    const held = (query: string): string[] =>
      index
        .search({ ...base, query, explain: true })
        .results.flatMap(({ file, explain }) => ((explain?.parts?.phrases ?? 0) > 0 ? [file] : []))
        .toSorted();
    expect(held(`"${phrase}"`)).toEqual(Array.from(files, (file) => `${file}.md`));
    expect(held(`"ab ${phrase}"`)).toEqual(Array.from(files, (file) => `${file}.md`));
  });

  test('an excluded word of several parts is their order', () => {
    const index = indexOf({
      'a.md': 'retry after: über 4.17 needs C++',
      'b.md': 'retry it, and after that stop. 17, 4',
    });
    for (const not of ['-retry-after', '-C++', '-4.17', '-u\u0308ber', '-über'])
      expect(filesFor(index, { query: `retry ${not}` }), not).toEqual(['b.md']);
  });

  test('a word that nothing has is corrected, and nothing else is', () => {
    expect(found('hrabour')).toMatchObject({ corrected: [{ word: 'hrabour', as: 'harbour' }], total: 3 });
    for (const query of ['harbour', 'zzz', 'h4rbour', 'lgt', '"hrabour light"'.slice(0, 4)]) {
      expect(found(query).corrected).toEqual([]);
    }
  });

  test('a hidden file corrects nothing', () => {
    const index = indexOf(notes);
    index.set({ file: 'secret.md', content: 'wombats', hash: 's', chain: 1 });
    const request = { ...base, mode, query: 'wombts', admitted: new Set([0]) };
    expect(index.search(request)).toMatchObject({ total: 0, corrected: [] });
    expect(index.search({ ...request, query: 'wom*' })).toMatchObject({ total: 0 });
    expect(index.search({ ...request, admitted: null })).toMatchObject({ total: 1 });
  });
});

test('lately written counts as much as it is told to, in hybrid mode', () => {
  const index = indexOf({ 'a.md': 'the harbour', 'b.md': 'the harbour' });
  const changedAt = (file: string) => (file === 'b.md' ? Date.UTC(2026, 5) : Date.UTC(2026, 0));
  const first = (recency: 'off' | 'mild' | 'strong') =>
    index.search({ ...base, query: 'harbour', changedAt, recency, explain: true }).results[0];
  expect(first('off')?.file).toBe('a.md');
  expect(first('mild')).toMatchObject({ file: 'b.md', explain: { parts: { recency: 0.1 } } });
  expect(first('strong')?.explain?.parts?.recency).toBe(0.5);
});

test.each([
  ['Die Straße ist gesperrt.', 'strasse'],
  ['Die Strasse ist gesperrt.', 'Straße'],
  ['ท่าเรือปิดในตอนเย็น', 'ท่าเรือ'],
  ['Launched 🚀 today.', '🚀'],
  ['كتب التقرير أحمد', 'احمد'],
])('"%s" is found by "%s"', (content, query) => {
  expect(filesFor(indexOf({ 'a.md': content, 'b.md': 'Nothing of it.' }), { query })).toEqual(['a.md']);
});

test.each(['file', 'passage'] as const)('fewer results are the first of more, one for each %s', (group) => {
  const files = Array.from({ length: 300 }, (_, at) => {
    const text = `lease ${'of the writer '.repeat(at % 7)}${at % 3 === 0 ? 'fence token' : 'late queue'} number ${at}`;
    return [`n${at}.md`, `# Note ${at % 11}\n\n${text}\n\n## More\n\nAgain a lease ${'x '.repeat(at % 13)}`] as const;
  });
  const index = indexOf(Object.fromEntries(files));
  for (const query of ['lease', 'lease of a late writer', '"fence token" lease', 'lease -queue']) {
    const first = (limit: number) =>
      index.search({ ...base, query, group, limit }).results.map(({ file, lines, score }) => ({ file, lines, score }));
    const all = first(1000);
    expect(all.length).toBeGreaterThanOrEqual(100);
    for (const limit of [1, 10, 60]) expect(first(limit)).toEqual(all.slice(0, limit));
  }
});
