/** Search through the door: immediate, stable, within its budget. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { type Caller, codeOf, type Fields } from '../client.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { FOUND_AT_ONCE, promised } from '../settings.ts';
import { brainFolder } from '../targets/target.ts';
import { verifies } from '../verifies.ts';

interface Found {
  readonly results: {
    file: string;
    score: number;
    lines: [number, number];
    content: string;
    hash: string;
    snippet: string;
  }[];
  readonly total: number;
  readonly context?: {
    text: string;
    tokens: number;
    citations: { file: string; lines: [number, number]; hash: string }[];
  };
}

const search = (user: Caller, args: Fields, gateway = 0) => user.ok<Found>('svc_search', args, { gateway });
const filesOf = ({ results }: Found) => results.map(({ file }) => file);

verifies('search:immediate', async ({ fresh, random }) => {
  const { user } = await fresh();
  const missed: string[] = [];
  const word = (index: number) => `zq${index.toString(36)}x${random.int(0, 1e9).toString(36)}`;
  const lane = async (from: number): Promise<void> => {
    for (let index = from; index < FOUND_AT_ONCE; index += 8) {
      const rare = word(index);
      await user.ok(
        'brain_write',
        { name: `n/${index}`, content: `# Note ${index}\n\nCommon words and ${rare} among them.` },
        { gateway: index },
      );
      for (const mode of ['plain', 'hybrid', 'multiquery']) {
        const found = await search(user, { query: rare, mode, limit: 3 }, index + 1);
        if (filesOf(found)[0] !== `n/${index}.md`) missed.push(`${mode} ${index}`);
      }
    }
  };
  await Promise.all(Array.from({ length: 8 }, (_, from) => lane(from)));
  expect(missed).toEqual([]);
});

verifies('search:pages', async ({ fresh }) => {
  const { user } = await fresh();
  const write = (name: string, content: string) => user.ok('brain_write', { name, content });
  const names = Array.from({ length: 12 }, (_, number) => `n${number}`);
  for (const [number, name] of names.entries()) await write(name, `The walrus sleeps${' again'.repeat(number)}.`);
  const asked = { query: 'walrus', limit: 5, recency: 'mild' };
  const seen: string[] = [];
  for (let [cursor, page]: [string | undefined, number] = [undefined, 0]; ; page += 1) {
    const found: Found & { readonly nextCursor?: string } = await user.ok(
      'svc_search',
      { ...asked, ...(cursor === undefined ? {} : { cursor }) },
      { gateway: page },
    );
    seen.push(...filesOf(found).filter((file) => file.startsWith('n')));
    cursor = found.nextCursor;
    if (cursor === undefined) break;
    await user.fails('VAF_INPUT_INVALID', 'svc_search', { ...asked, query: 'seal', cursor });
    await write(`other${page}`, 'A walrus, another walrus and a walrus.');
  }
  expect(seen.toSorted()).toEqual(names.map((name) => `${name}.md`).toSorted());
});

verifies('search:modes', async ({ fresh }) => {
  const { user } = await fresh();
  await user.ok('brain_write', { name: 'x', content: 'A lighthouse on the coast.' });
  for (const [asked, mode] of [
    [undefined, 'hybrid'],
    ['hybrid', 'hybrid'],
    ['plain', 'plain'],
    ['basic', 'plain'],
    ['keyword', 'plain'],
  ] as const) {
    expect(
      await user.ok('svc_search', { query: 'lighthouse', ...(asked === undefined ? {} : { mode: asked }) }),
    ).toMatchObject({
      query: 'lighthouse',
      mode,
      total: 1,
      results: [{ file: 'x.md', category: '', filename: 'x.md' }],
    });
  }
  const rag = await user.ok<Fields>('svc_search', { query: 'lighthouse', mode: 'rag' });
  expect(rag).toMatchObject({ mode: 'hybrid', context: { text: expect.stringContaining('lighthouse') } });
  const near = await user.ok<Fields>('svc_search', { query: 'lighthouses', mode: 'semantic' });
  expect(near).toMatchObject({ mode: 'semantic', embedder: 'builtin-512-v1', total: 1, results: [{ file: 'x.md' }] });
  expect(await user.ok('svc_search_semantic', { query: 'lighthouses' })).toEqual(near);
  const query = 'a lighthouse keeper, or a harbour pilot';
  await user.ok('brain_write', { name: 'y', content: 'The harbour pilot guides ships past the breakwater.' });
  await user.ok('brain_write', { name: 'z', content: 'Ships wait behind the breakwater for the tide.' });
  const hyde = await user.ok<Fields>('svc_search_hyde', { query: 'harbour pilot' });
  expect(hyde).toMatchObject({ mode: 'hyde', source: 'feedback', total: 1 });
  // In words of what the query found, what it does not name is found too.
  expect(hyde['hypothetical']).toContain('breakwater');
  expect(filesOf(hyde as unknown as Found)).toEqual(['y.md', 'z.md']);
  const multi = await user.ok<Fields>('svc_search_multiquery', { query });
  expect(multi).toMatchObject({
    mode: 'multiquery',
    queries: [{ query, source: 'query' }, { source: 'part' }, { source: 'part' }, { source: 'feedback' }],
  });
  expect(
    filesOf(multi as unknown as Found)
      .slice(0, 2)
      .sort(),
  ).toEqual(['x.md', 'y.md']);
  for (const [tool, mode] of [
    ['svc_search_hybrid', 'hybrid'],
    ['svc_search_hyde', 'hyde'],
    ['svc_search_multiquery', 'multiquery'],
    ['svc_search_semantic', 'semantic'],
  ] as const) {
    expect(await user.ok(tool, { query: ' ' })).toMatchObject({ results: [], total: 0, reason: 'empty query' });
    const own = await user.ok<Fields>(tool, { query, limit: 10 });
    const { fused, ...found } = own;
    expect(found).toEqual(await user.ok('svc_search', { query, mode, limit: 10 }));
    if (fused !== undefined) expect(fused).toEqual(found['results']);
  }
  await user.fails('VAF_INPUT_INVALID', 'svc_search', { query: 'lighthouse', mode: 'psychic' });
});

verifies('search:stable', async ({ fresh, caller }) => {
  const { user, brain } = await fresh();
  const words = ['river', 'stone', 'bridge', 'lantern', 'orchard', 'harbour'];
  await Promise.all(
    Array.from({ length: 60 }, (_, index) =>
      user.ok('brain_write', {
        name: `f${index}`,
        content: words.filter((_word, bit) => (index >> bit) % 2 === 1).join(' ') || 'nothing',
      }),
    ),
  );
  for (const args of [
    { query: 'river stone' },
    { query: 'lantern orchard harbour', mode: 'plain', limit: 50 },
    { query: 'bridges', explain: true },
  ]) {
    const texts = await Promise.all(
      [0, 1, 0, 1].map(async (gateway) => (await user.call('svc_search', { brain, ...args }, { gateway })).text),
    );
    expect(new Set(texts).size).toBe(1);
  }
  const hostile = await user.call('svc_search', { query: '(a+)+$'.repeat(1024 * 17) });
  expect(codeOf(hostile)).toBe('VAF_INPUT_INVALID');
  for (const query of [
    '(a+)+$'.repeat(300),
    '"',
    '\\',
    '*:*',
    'a AND (b OR',
    '\u0000',
    '🧠'.repeat(500),
    '%',
    "'; DROP TABLE x;--",
  ]) {
    const reply = await caller().call('svc_search', { query, brain });
    expect([200, 400]).toContain(reply.status);
  }
});

verifies('search:budget', async ({ fresh }) => {
  const { user, brain } = await fresh();
  for (let index = 0; index < 12; index += 1) {
    const lines = Array.from(
      { length: 10 },
      (_, line) => `Sentence ${line} of file ${index} tells of the glacier and its ${line * index} crevasses.`,
    );
    await user.ok('brain_write', { name: `ice/${index}`, content: `# Ice ${index}\n\n${lines.join('\n')}\n` });
  }
  const { context } = await search(user, { query: 'glacier crevasses', budget: 200 });
  if (context === undefined) throw new Error('no context');
  expect(context.tokens).toBeLessThanOrEqual(200);
  expect(Math.ceil(Buffer.byteLength(context.text) / 4)).toBeLessThanOrEqual(200);
  expect(context.citations.length).toBeGreaterThan(0);
  for (const { file, lines, hash } of context.citations) {
    const now = await user.ok<{ content: string; hash: string }>('brain_read', { name: file, brain });
    expect(now.hash).toBe(hash);
    const cited = now.content
      .split('\n')
      .slice(lines[0] - 1, lines[1])
      .join('\n');
    const quoted = context.text
      .split(/(?<=\.)\s+|\n/)
      .filter((sentence) => sentence.includes('glacier') && now.content.includes(sentence));
    expect(
      quoted.some((sentence) => cited.includes(sentence)),
      cited,
    ).toBe(true);
  }
  for (const budget of [63, 100_001]) await user.fails('VAF_INPUT_INVALID', 'svc_search', { query: 'x', budget });
});

verifies('search:scope', async ({ fresh }) => {
  const { user } = await fresh();
  for (const name of ['a/one', 'a/b/two', 'ab/three', 'root'])
    await user.ok('brain_write', { name, content: `# ${name}\n\nwalrus here\n\n# More\n\nwalrus again` });
  expect(filesOf(await search(user, { query: 'walrus', category: 'a' })).sort()).toEqual(['a/b/two.md', 'a/one.md']);
  expect((await search(user, { query: 'walrus', limit: 2 })).results.length).toBe(2);
  expect((await search(user, { query: 'walrus', limit: 2 })).total).toBe(4);
  const passages = await search(user, { query: 'walrus', group: 'passage', limit: 20 });
  expect(passages.results.length).toBeGreaterThanOrEqual(4);
  expect(await user.ok('svc_search', { query: '' })).toMatchObject({
    query: '',
    results: [],
    total: 0,
    reason: 'empty query',
  });
  expect(await user.ok('svc_search', { query: 'nonexistentword' })).toMatchObject({ results: [], total: 0 });
  for (const limit of [0, 101]) await user.fails('VAF_INPUT_INVALID', 'svc_search', { query: 'x', limit });
});

verifies('search:ranking', async ({ fresh }) => {
  const { user } = await fresh();
  await user.ok('brain_write', {
    name: 'body',
    content: '# Something else\n\nOnce a volcano was mentioned in a long text about many other things and places.',
  });
  await user.ok('brain_write', {
    name: 'title',
    content: '# Volcano\n\nA long text about many other things and places, mentioned once.',
  });
  await user.ok('brain_write', {
    name: 'inflected',
    content: '# Third\n\nVolcanoes everywhere, many of them in a long text about other things.',
  });
  const found = await search(user, { query: 'volcano', mode: 'plain' });
  expect(filesOf(found)[0]).toBe('title.md');
  expect(filesOf(found)).toContain('inflected.md');
  const order = found.results.map(({ score, file }) => [score, file] as const);
  expect(order).toEqual([...order].sort(([a, x], [b, y]) => b - a || (x < y ? -1 : 1)));
  for (const name of ['twin-b', 'twin-a']) await user.ok('brain_write', { name, content: 'identical platypus' });
  const twins = await search(user, { query: 'platypus', mode: 'plain' });
  expect(twins.results.map(({ score }) => score)).toEqual([twins.results[0]?.score, twins.results[0]?.score]);
  expect(filesOf(twins)).toEqual(['twin-a.md', 'twin-b.md']);
});

verifies('search:deleted', async ({ fresh }) => {
  const { user } = await fresh();
  await user.ok('brain_write', { name: 'x', content: 'first okapi' });
  await user.ok('brain_write', { name: 'y', content: 'second okapi' });
  await user.ok('brain_write', { name: 'x', content: 'changed' });
  expect(await search(user, { query: 'okapi' })).toMatchObject({ total: 1 });
  await user.ok('brain_delete_file', { name: 'y' });
  expect(await search(user, { query: 'okapi' })).toMatchObject({ total: 0, results: [] });
});

verifies('brain:external:seen', async ({ fresh, place, socket, report }) => {
  const listener = await socket();
  const { user, brain } = await fresh();
  const { hash } = await user.ok<{ hash: string }>('brain_write', { name: 'learnings/x', content: 'before the edit' });
  const file = join(brainFolder(place, brain), 'learnings/x.md');
  writeFileSync(file, `${readFileSync(file, 'utf8')} then came axolotl`);
  const at = performance.now();
  await waitFor(async () => (await search(user, { query: 'axolotl' })).total === 1, {
    withinMs: promised(2000),
    what: 'the edited word to be found',
  });
  report(`an edit by hand was found after ${Math.round(performance.now() - at)} ms`);
  const event = await listener.until(
    'the external change',
    (one) => one.brain === brain && one.source === 'external',
    2000,
  );
  expect(event).toMatchObject({ name: 'brain:change', file: 'learnings/x.md', change: 'updated' });
  await user.refused('E_CONFLICT', 'brain_write', { name: 'learnings/x', content: 'mine', ifMatch: hash });
  expect((await user.ok<{ content: string }>('brain_read', { name: 'learnings/x' })).content).toContain('axolotl');
});

verifies('brain:rerank', async ({ caller }) => {
  const user = caller();
  const docs = [
    'Bread needs flour.',
    { content: 'The ferry leaves at noon from the old pier.', title: 'Ferry times', id: 'f' },
    { text: 'A pier is a long structure.' },
    'Nothing relevant.',
  ];
  const { results } = await user.ok<{ results: { index: number; score: number; id?: string }[] }>('svc_rerank', {
    query: 'when does the ferry leave the pier',
    docs,
    topK: 3,
  });
  expect(results.length).toBeLessThanOrEqual(3);
  expect(results[0]).toMatchObject({ index: 1, id: 'f', score: expect.any(Number) });
  const again = await user.ok('svc_rerank', { query: 'when does the ferry leave the pier', docs, topK: 3 });
  expect(again.results).toEqual(results);
  const { context } = await user.ok<{ context: { tokens: number; text: string } }>('svc_rerank', {
    query: 'ferry pier',
    docs,
    budget: 64,
  });
  expect(context.tokens).toBeLessThanOrEqual(64);
  expect(context.text).toContain('ferry');
  for (const args of [{ query: 'x', docs: [] }, { query: 'x' }, { docs: ['x'] }, { query: 'x', docs: [7] }])
    await user.fails('VAF_INPUT_INVALID', 'svc_rerank', args);
});
