import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type FakeEmbedder, startFakeEmbedder } from '@svc/testing/embedder.fake.ts';
import type { Subject } from '@svc/contract/subject.ts';
import { type BrainNode, type BrainTestBed, openBrainTestBed, testCaller } from '../../../testing/brain-test-bed.ts';

let bed: BrainTestBed;
let node: BrainNode;
let embedder: FakeEmbedder;
beforeAll(async () => {
  bed = await openBrainTestBed();
  embedder = await startFakeEmbedder();
  node = await bed.start({
    SVC_EMBED_URL: embedder.url,
    SVC_EMBED_MODEL: 'fake',
    SVC_EMBED_KEY: 'secret-of-the-endpoint',
    SVC_CHAT_URL: embedder.url,
    SVC_CHAT_MODEL: 'writer',
  });
});
afterAll(async () => {
  await node.stop();
  await embedder[Symbol.asyncDispose]();
  await bed[Symbol.asyncDispose]();
});
beforeEach(() => {
  embedder.mood = 'well';
  embedder.poison = null;
  embedder.written = 'A swift vessel.';
});

interface Found {
  results: {
    file: string;
    score: number;
    explain?: { semantic?: number; bm25: number; fused: number; addends: Record<string, number> };
  }[];
  total: number;
  nextCursor?: string;
  degraded?: string[];
  embedder?: string;
}
interface Health {
  index: { pendingVectors: number; embedder: string };
  problems: { code: string; text: string }[];
}

const soon = () => ({ deadlineAt: Date.now() + 30_000 });
const operator = testCaller(() => node, null);
const BOB: Subject = { workspace: 'acme', userId: 'bob', agentId: 'bob', roles: ['editor'], verified: true };
const bob = testCaller(() => node, BOB);

const search = async (tool: string, args: object, who = operator) =>
  (await who.ok(tool, { ...args }, soon())) as unknown as Found;
const filesOf = ({ results }: Found) => results.map(({ file }) => file);
const health = async () => (await operator.ok('svc_health', {}, soon())) as unknown as Health;
const write = (brain: string, name: string, content: string) =>
  operator.ok('brain_write', { brain, name, content }, soon());
const make = (brain: string) => operator.ok('brain_push', { name: brain, create: true }, soon());
async function storedOf(brain: string): Promise<number> {
  const { rows } = await bed.database.pool.query<{ count: string }>(
    `SELECT count(*) FROM brain.brain_vectors v JOIN brain.brain_homes h ON h.id = v.brain_id WHERE h.brain = $1`,
    [brain],
  );
  return Number(rows[0]?.count);
}
/** All vectors are made, or it fails. */
const complete = (brain: string, passages: number) =>
  expect.poll(async () => [await storedOf(brain), (await health()).index.pendingVectors]).toEqual([passages, 0]);
/** Nobody remembers what was asked before. */
let asked = 0;
const anew = (words: string) => `${words} q${(asked += 1)}`;

test('finds by meaning what no word tells, by itself and beside words; explained, and with the key', async () => {
  await make('sea');
  await write('sea', 'harbour', 'The boat waits for the tide.');
  await write('sea', 'purse', 'Coins are counted twice.');
  await write('sea', 'words', 'Vehicles and the word q.');
  await complete('sea', 3);
  expect(embedder.authorization).toBe('Bearer secret-of-the-endpoint');
  const near = await search('svc_search_semantic', { brain: 'sea', query: anew('vessel'), explain: true });
  expect(near).toMatchObject({ mode: 'semantic', embedder: 'fake' });
  expect(near.results[0]).toMatchObject({ file: 'harbour.md', explain: { bm25: 0, parts: null } });
  expect(near.results[0]?.explain?.semantic).toBe(near.results[0]?.score);
  expect(near.results[0]?.score).toBeGreaterThan(0.9);
  expect(await search('svc_search', { brain: 'sea', query: 'vessel', mode: 'semantic' })).toMatchObject({
    results: [{ file: 'harbour.md' }, {}, {}],
  });
  const both = await search('svc_search_hybrid', { brain: 'sea', query: 'vessel coins', explain: true });
  expect(filesOf(both).slice(0, 2).sort()).toEqual(['harbour.md', 'purse.md']);
  expect(both.total).toBe(1);
  expect(both.degraded).toBeUndefined();
  expect(await search('svc_search', { brain: 'sea', query: 'vessel', mode: 'plain' })).toMatchObject({ results: [] });
  expect(await operator.ok('svc_embed', { text: 'boat' }, soon())).toMatchObject({ model: 'fake', dim: 5 });
  expect(await operator.ok('svc_embed_similarity', { textA: 'boat', textB: 'ship' }, soon())).toMatchObject({
    similarity: 1,
    model: 'fake',
  });
  const nobody = testCaller(() => node, {});
  expect(await nobody.no('svc_embed', { text: 'x' }, soon())).toMatchObject({ code: 'UNAUTHORIZED' });
  await operator.ok('brain_pop', {}, soon());
});

test('files that are only near in meaning have pages too', async () => {
  await make('fleet');
  for (const name of ['a', 'b', 'c', 'd']) await write('fleet', name, `The boat ${name} waits.`);
  await write('fleet', 'word', 'The vessel.');
  await complete('fleet', 5);
  const args = { brain: 'fleet', query: 'vessel', group: 'file' };
  const whole = filesOf(await search('svc_search', args));
  expect(whole).toHaveLength(5);
  const found: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await search('svc_search', { ...args, limit: 2, ...(cursor === undefined ? {} : { cursor }) });
    expect(page.total).toBe(1);
    found.push(...filesOf(page));
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  expect(found).toEqual(whole);
  await operator.ok('brain_pop', {}, soon());
});

test.each(['plain', 'hybrid', 'hyde', 'multiquery', 'semantic', 'rag'])(
  'what is explained adds up to the score in the mode %s',
  async (mode) => {
    const query = 'vessel and coins, vehicles and words "the word"';
    const { results } = await search('svc_search', { brain: 'sea', query, mode, explain: true });
    expect(results.length).toBeGreaterThan(1);
    for (const { score, explain } of results) {
      expect(Object.values(explain?.addends ?? {}).reduce((sum, part) => sum + part, 0)).toBeCloseTo(score, 8);
      expect(explain?.fused).toBe(score);
    }
  },
);

test('makes a vector once for each passage, and removes it with the text', async () => {
  await make('once');
  await write('once', 'a', 'A swift animal.');
  await complete('once', 1);
  await write('once', 'b', 'A swift animal.');
  await write('once', 'c', 'A dwelling.');
  await complete('once', 2);
  expect(embedder.asked.filter((text) => text === 'A swift animal.')).toHaveLength(1);
  await operator.ok('brain_remove', { brain: 'once', name: 'a' }, soon());
  await write('once', 'c', 'A dwelling, and cash in it.');
  await complete('once', 2);
  await operator.ok('brain_remove', { brain: 'once', name: 'b' }, soon());
  await complete('once', 1);
  await operator.ok('brain_pop', {}, soon());
});

test('goes by what the caller may read alone, and never sends a hidden field', async () => {
  await make('ruled');
  await write('ruled', 'secret/plan', 'A fast boat.');
  await write('ruled', 'open', 'The vessel.');
  bed.registry.setPolicy('brain:ruled/secret', { readableBy: ['user:ann'] });
  bed.registry.setPolicy('brain:ruled/pay', { readableBy: ['public'], mask: ['salary'] });
  await write('ruled', 'pay/ann.json', '{"salary": "zq91000 coins", "name": "Ann at home"}');
  await complete('ruled', 3);
  const seen = await search('svc_search_semantic', { brain: 'ruled', query: 'boat money' }, bob);
  expect(filesOf(seen)).not.toContain('secret/plan.md');
  expect(seen.total).toBe(2);
  expect(filesOf(await search('svc_search_hybrid', { brain: 'ruled', query: 'boat' }, bob))).not.toContain(
    'secret/plan.md',
  );
  expect(embedder.asked.join('\n')).toContain('Ann at home');
  expect(embedder.asked.join('\n')).not.toContain('zq91000');
  await operator.ok('brain_pop', {}, soon());
});

test('every tool that needs the endpoint for its answer refuses while it fails', async () => {
  const brain = 'needs';
  await make(brain);
  await write(brain, 'a', 'A boat.');
  await complete(brain, 1);
  embedder.mood = 'failing';
  for (const [tool, args] of [
    ['svc_search', { brain, query: anew('boat'), mode: 'semantic' }],
    ['svc_embed', { text: anew('boat') }],
    ['svc_embed_similarity', { textA: anew('boat'), textB: anew('ship') }],
  ] as const) {
    expect(await bob.no(tool, { ...args }, soon()), tool).toMatchObject({ code: 'E_EMBEDDER_UNAVAILABLE' });
  }
  embedder.mood = 'well';
  await operator.ok('brain_pop', {}, soon());
});

const PATIENCE_MS = 4500;

/** It is answered before the deadline that its caller set. */
async function inTime(tool: string, args: object): Promise<Found> {
  const deadlineAt = Date.now() + PATIENCE_MS;
  const found = await operator.ok(tool, { ...args }, { deadlineAt });
  expect(Date.now()).toBeLessThan(deadlineAt);
  return found as unknown as Found;
}

test('what was deleted leaves no vector behind while the endpoint is away, in any brain', async () => {
  for (const brain of ['gone-1', 'gone-2']) {
    await make(brain);
    await write(brain, 'kept', `A boat of ${brain}.`);
    await write(brain, 'deleted', `Coins of ${brain}, which nobody may know of.`);
    await complete(brain, 2);
  }
  embedder.mood = 'gone';
  // Something is to be made in each, so that the endpoint is asked, and fails, wherever it begins.
  for (const brain of ['gone-1', 'gone-2']) await write(brain, 'new', `A house of ${brain}.`);
  await expect.poll(async () => (await health()).problems.map(({ code }) => code)).toContain('E_EMBEDDER_UNAVAILABLE');
  for (const brain of ['gone-1', 'gone-2']) await operator.ok('brain_remove', { brain, name: 'deleted' }, soon());
  for (const brain of ['gone-1', 'gone-2']) await expect.poll(() => storedOf(brain)).toBe(1);
  embedder.mood = 'well';
  for (const brain of ['gone-1', 'gone-2']) await complete(brain, 2);
});

test.each(['failing', 'garbage', 'slow', 'other length', 'reset', 'gone'] as const)(
  'answers by words and says so while the endpoint is %s; the vectors are complete when it is back',
  async (mood) => {
    const brain = `down-${mood.replace(' ', '-')}`;
    await make(brain);
    await write(brain, 'a', 'A boat and a lighthouse.');
    await complete(brain, 1);
    embedder.mood = mood;
    await write(brain, 'b', 'A ship and a lighthouse.');
    const found = await inTime('svc_search', { brain, query: anew('lighthouse') });
    expect(filesOf(found).sort()).toEqual(['a.md', 'b.md']);
    expect(found.degraded).toEqual(['semantic']);
    for (const mode of ['multiquery', 'hyde', 'hybrid'])
      expect(await inTime('svc_search', { brain, query: anew('lighthouse'), mode })).toMatchObject({ total: 2 });
    const late = { deadlineAt: Date.now() + PATIENCE_MS };
    const refused = await operator.no('svc_search_semantic', { brain, query: anew('lighthouse') }, late);
    expect(Date.now()).toBeLessThan(late.deadlineAt);
    expect(refused).toMatchObject({ code: 'E_EMBEDDER_UNAVAILABLE', reason: expect.any(String) as string });
    const problems = async () => (await health()).problems.map(({ code }) => code);
    await expect.poll(problems).toContain('E_EMBEDDER_UNAVAILABLE');
    embedder.mood = 'well';
    await complete(brain, 2);
    expect(filesOf(await search('svc_search_semantic', { brain, query: anew('vessel') })).sort()).toEqual([
      'a.md',
      'b.md',
    ]);
    await operator.ok('brain_pop', {}, soon());
  },
  60_000,
);

test('a passage that the model does not take spoils itself alone', async () => {
  embedder.poison = 'unspeakable';
  await make('poisoned');
  await write('poisoned', 'bad', 'The unspeakable boat.');
  await write('poisoned', 'good', 'A ship.');
  await complete('poisoned', 2);
  expect(filesOf(await search('svc_search_semantic', { brain: 'poisoned', query: 'vessel' }))).toEqual(['good.md']);
  await operator.ok('brain_pop', {}, soon());
});

test('a model writes the passage and the queries; without it they are made of what is found', async () => {
  await make('asked');
  await write('asked', 'a', 'The vessel is swift.');
  await write('asked', 'b', 'A lighthouse.');
  await complete('asked', 2);
  // One that has just failed is left alone for some seconds.
  const hyde = () => operator.ok('svc_search_hyde', { brain: 'asked', query: 'lighthouse' }, soon());
  await expect.poll(hyde, { interval: 200 }).toMatchObject({ source: 'model' });
  const written = await hyde();
  expect(written).toMatchObject({ hypothetical: 'A swift vessel.', source: 'model' });
  expect(written['degraded']).toBeUndefined();
  embedder.written = 'sea mark\nbeacon on the coast';
  expect(await operator.ok('svc_search_multiquery', { brain: 'asked', query: 'lighthouse' }, soon())).toMatchObject({
    queries: [
      { query: 'lighthouse', source: 'query' },
      { query: 'sea mark', source: 'model' },
      { query: 'beacon on the coast', source: 'model' },
    ],
  });
  embedder.written = ' ';
  const without = await operator.ok('svc_search_hyde', { brain: 'asked', query: 'lighthouse' }, soon());
  expect(without).toMatchObject({ source: 'feedback', degraded: ['model'] });
  await operator.ok('brain_pop', {}, soon());
});

test('without an endpoint, meaning is that of the built-in embedder, and what was stored goes', async () => {
  expect(await storedOf('sea')).toBe(3);
  await node.stop();
  node = await bed.start();
  const found = await search('svc_search_semantic', { brain: 'sea', query: 'the boats wait' });
  expect(found.embedder).toBe('builtin-512-v1');
  expect(filesOf(found)[0]).toBe('harbour.md');
  expect(found.results[0]?.score).toBeLessThanOrEqual(1);
  expect((await search('svc_search_semantic', { brain: 'ruled', query: 'a fast boat' }, bob)).results).not.toEqual(
    expect.arrayContaining([expect.objectContaining({ file: 'secret/plan.md' })]),
  );
  expect((await health()).index).toMatchObject({ embedder: 'builtin-512-v1', pendingVectors: 0 });
  await expect.poll(() => storedOf('sea')).toBe(0);
});
