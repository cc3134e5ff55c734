import { expect, test } from 'vitest';
import type { Subject } from '@svc/contract/subject.ts';
import { bedOfFile } from '../../../testing/bed-of-file.ts';
import { testCaller } from '../../../testing/brain-test-bed.ts';

const bed = await bedOfFile();
const node = await bed.start();

const LATER = { deadlineAt: Number.MAX_SAFE_INTEGER };
const operator = testCaller(() => node, null);
const ANN: Subject = { workspace: 'acme', userId: 'ann', agentId: 'ann', roles: ['admin'], verified: true };
const BOB: Subject = { workspace: 'acme', userId: 'bob', agentId: 'bob', roles: ['editor'], verified: true };

interface Built {
  assembled: string;
  tokens: number;
  cache: { state: string; breakpoints: { after: string; hash: string }[] };
  citations: { file: string; lines: [number, number]; layer: string }[];
  layers: { name: string; truncated: boolean }[];
}

const build = async (args: object, who = operator) =>
  (await who.ok('context_build', { ...args }, LATER)) as unknown as Built;
const write = (brain: string, name: string, content: string) =>
  operator.ok('brain_write', { brain, name, content }, LATER);
const make = (brain: string) => operator.ok('brain_push', { name: brain, create: true }, LATER);

test('tells notes, islands that are called up or always told, passages, history and what is open, each cited', async () => {
  await make('whole');
  await write('whole', 'goals', '---\nowner: ann\n---\n\n# Goals\n\nShip the breakwater.');
  await write('whole', 'islands/ops', '---\ntriggers: [deploy]\n---\nRoll one by one.');
  await write('whole', 'islands/style', '---\nalways: true\n---\nShort sentences.');
  await write('whole', 'islands/off', '---\nalways: true\nenabled: false\n---\nNobody reads this.');
  await write('whole', 'notes/gateway', '# Gateway\n\nA deploy of the gateway takes a minute.');
  await operator.ok('svc_commit', { brain: 'whole', message: 'first notes' }, LATER);
  await write('whole', 'notes/open', 'Not committed yet.');
  const built = await build({ brain: 'whole', query: 'how to deploy the gateway', includeTools: true });
  for (const text of [
    'Ship the breakwater.',
    'Roll one by one.',
    'Short sentences.',
    'takes a minute',
    'first notes',
    'added notes/open.md',
    '- brain_read: ',
  ])
    expect(built.assembled).toContain(text);
  for (const text of ['owner: ann', 'Nobody reads']) expect(built.assembled).not.toContain(text);
  expect(built.citations).toContainEqual(
    expect.objectContaining({ file: 'goals.md', lines: [5, 7], layer: 'static', commit: expect.any(String) as string }),
  );
  expect(built.layers.map(({ name }) => name)).toEqual([
    'static',
    'tools',
    'islands',
    'knowledge',
    'history',
    'dynamic',
  ]);
  // Without a question: what was changed last.
  expect((await build({ brain: 'whole' })).assembled).toContain('takes a minute');
});

test('is given again while nothing has changed, and made anew when anything has', async () => {
  await make('kept');
  await write('kept', 'goals', 'Stay.');
  await write('kept', 'k', 'knowledge of ships');
  const wish = { brain: 'kept', query: 'ships' };
  const first = await build(wish);
  const second = await build(wish);
  expect([first.cache.state, second.cache.state]).toEqual(['miss', 'hit']);
  expect(second.assembled).toBe(first.assembled);
  await write('kept', 'k', 'knowledge of many ships');
  const third = await build(wish);
  expect([third.cache.state, third.assembled.includes('many ships')]).toEqual(['miss', true]);
  const hashOf = (built: Built, layer: string) => built.cache.breakpoints.find(({ after }) => after === layer)?.hash;
  expect(hashOf(third, 'static')).toBe(hashOf(first, 'static'));
  expect(hashOf(third, 'knowledge')).not.toBe(hashOf(first, 'knowledge'));
  await operator.ok('svc_lock', { action: 'acquire', brain: 'kept', agentId: 'keeper' }, LATER);
  expect((await build(wish)).assembled).toContain('held by keeper');
  expect(await operator.ok('context_cache', {}, LATER)).toMatchObject({ hits: 1 });
});

test('tells what the workspace learned last on the brain, the newest first, and nothing that another one learned', async () => {
  await make('learned');
  const [ann, eve] = [
    testCaller(() => node, ANN),
    testCaller(() => node, { ...BOB, workspace: 'beta', userId: 'eve' }),
  ];
  const wish = { brain: 'learned', query: 'tides' };
  expect((await build(wish, ann)).assembled).not.toContain('Insights');
  for (const insight of ['Moor early.', ' \n', 'Two lines\nare better than one.'])
    await ann.ok('brain_evolution_insight', { brain: 'learned', insight }, LATER);
  await ann.ok('brain_evolution_end', { brain: 'learned' }, LATER);
  const told = await build(wish, ann);
  expect(told.cache.state).toBe('miss');
  expect(told.assembled).toContain('## Insights, newest first\n\n- Two lines are better than one.\n- Moor early.\n');
  expect((await build(wish, ann)).cache.state).toBe('hit');
  await ann.ok('brain_evolution_insight', { brain: 'learned', insight: 'Never on Fridays.' }, LATER);
  expect((await build(wish, ann)).assembled).toContain('first\n\n- Never on Fridays.\n- Two lines');
  expect((await build(wish, eve)).assembled).not.toContain('Insights');
});

test('what a subject may not read is nowhere in it, and no two subjects share one', async () => {
  await make('split');
  await write('split', 'islands/secret', '---\nalways: true\ntriggers: [quay]\n---\nThe canary of the island.');
  await write('split', 'hr/pay', 'The canary of the quay.');
  await write('split', 'open', 'The quay is open.');
  await operator.ok('svc_commit', { brain: 'split', message: 'canary commit' }, LATER);
  bed.registry.setPolicy('_island:secret', { readableBy: ['role:admin'], writableBy: ['role:admin'] });
  bed.registry.setPolicy('brain:split/hr', { readableBy: ['role:admin'], writableBy: ['role:admin'] });
  const wish = { brain: 'split', query: 'quay' };
  const ann = await build(
    wish,
    testCaller(() => node, ANN),
  );
  const bob = await build(
    wish,
    testCaller(() => node, BOB),
  );
  expect(ann.assembled).toContain('canary of the island');
  expect(ann.assembled).toContain('canary of the quay');
  expect(JSON.stringify(bob)).not.toMatch(/canary of|secret|hr\/pay/);
  expect(bob.assembled).toContain('quay is open');
  expect(bob.cache.state).toBe('miss');
});

test('a session knows its last context, builds it again, and no other session does', async () => {
  await make('again');
  await write('again', 'goals', 'One.');
  const session = testCaller(() => node, ANN);
  const stranger = testCaller(() => node, { ...ANN, agentId: 'somebody' });
  expect(await stranger.ok('context_inspect', {}, LATER)).toEqual({ built: false });
  await build({ brain: 'again', budget: 300 }, session);
  expect(await session.ok('context_inspect', {}, LATER)).toMatchObject({ built: true, brain: 'again', budget: 300 });
  expect(await session.ok('context_refresh', {}, LATER)).toMatchObject({ brain: 'again', changed: false });
  await write('again', 'goals', 'Two.');
  expect(await session.ok('context_refresh', {}, LATER)).toMatchObject({ refreshed: true, changed: true });
  expect(await stranger.ok('context_refresh', {}, LATER)).toMatchObject({ brain: 'svc', changed: true });
});

test('a context of what is gone is not built again', async () => {
  await make('gone');
  await operator.ok('svc_create_branch', { brain: 'gone', name: 'side' }, LATER);
  const session = testCaller(() => node, { ...ANN, agentId: 'goer' });
  await build({ brain: 'gone', branch: 'side' }, session);
  await operator.ok('svc_branch_delete', { brain: 'gone', name: 'side' }, LATER);
  expect(await session.no('context_refresh')).toMatchObject({ code: 'E_BRANCH_ABSENT' });
  await build({ brain: 'gone' }, session);
  await operator.ok('brain_delete', { name: 'gone', confirm: 'gone' }, LATER);
  expect(await session.no('context_refresh')).toMatchObject({ code: 'BRAIN_LOAD_FAIL' });
});

test.each([
  ['claude-sonnet-4', { family: 'claude', supported: true, maxBreakpoints: 4 }],
  ['gpt-5', { family: 'gpt', supported: true, maxBreakpoints: 0 }],
  ['gemini-3', { family: 'gemini', supported: true }],
  ['my own model', { family: 'unknown', supported: false }],
])('of the family of %j', async (model, known) => {
  expect(await operator.ok('context_cache', { model }, LATER)).toMatchObject({ model, ...known });
});

test('refuses a branch that is not there, a budget that is none, and what is no text', async () => {
  expect(await operator.no('context_build', { branch: 'nowhere' })).toMatchObject({ code: 'E_BRANCH_ABSENT' });
  expect(await operator.no('context_build', { brain: 'nowhere' })).toMatchObject({ code: 'BRAIN_LOAD_FAIL' });
  for (const args of [{ budget: 255 }, { query: 'half \ud800' }, { query: 'a\0b' }])
    expect(await operator.no('context_build', args)).toMatchObject({ code: 'VAF_INPUT_INVALID' });
});

test('without a query, what is attended to most comes before what was changed last', async () => {
  await make('attended');
  for (const name of ['a', 'b', 'c']) await write('attended', name, `Text of ${name}.`);
  await operator.ok('svc_commit', { brain: 'attended', message: 'three' }, LATER);
  const wish = { brain: 'attended' };
  const before = await build(wish);
  await operator.ok('brain_attend', { brain: 'attended', name: 'c', score: 0.4 }, LATER);
  await operator.ok('brain_attend', { brain: 'attended', name: 'b.md', score: 0.9 }, LATER);
  await operator.ok('brain_attend', { brain: 'attended', name: 'nothing', score: 1 }, LATER);
  const after = await build(wish);
  expect(after.cache.state).toBe('miss');
  const order = (built: Built) => built.citations.filter(({ layer }) => layer === 'knowledge').map(({ file }) => file);
  expect(order(before).sort()).toEqual(['a.md', 'b.md', 'c.md']);
  expect(order(after)).toEqual(['b.md', 'c.md', 'a.md']);
  expect((await build(wish)).cache.state).toBe('hit');
  // What others attend to steers nobody else's.
  const eve = testCaller(() => node, { workspace: 'beta', userId: 'eve', agentId: 'eve', verified: true });
  await eve.ok('brain_attend', { brain: 'attended', name: 'a', score: 1 }, LATER);
  const same = await build(wish);
  expect([same.cache.state, order(same)]).toEqual(['hit', ['b.md', 'c.md', 'a.md']]);
});

test('an island brings the readable files of its sources, each cited; of one that is switched off nothing is told', async () => {
  await make('sourced');
  await write('sourced', 'learnings/tide', '# Tide\n\nThe tide is high at noon.');
  await write('sourced', 'learnings/secret', 'The password of the quay.');
  await write('sourced', 'islands/ops', '---\ntriggers: [quay]\nsource: [learnings]\n---\nRoll one by one.');
  await write('sourced', 'islands/off', '---\nalways: true\nenabled: false\n---\nThe quay is closed to all.');
  await operator.ok('svc_commit', { brain: 'sourced', message: 'islands' }, LATER);
  bed.registry.setPolicy('brain:sourced/learnings/secret.md', { readableBy: ['user:ann'] });
  const bob = testCaller(() => node, BOB);
  const built = await build({ brain: 'sourced', query: 'quay' }, bob);
  expect(built.assembled).toContain('high at noon');
  expect(built.citations.filter(({ layer }) => layer === 'islands')).toMatchObject([
    { file: 'islands/ops.md' },
    { file: 'learnings/tide.md', lines: [1, 3] },
  ]);
  for (const told of [built, await build({ brain: 'sourced' }, bob)])
    for (const text of ['password', 'closed to all']) expect(told.assembled).not.toContain(text);
});

test('a context built again under a key is told again as it was: whether it changed is heard by whoever missed it', async () => {
  await make('refreshed');
  await write('refreshed', 'goals', 'One.');
  await build({ brain: 'refreshed' });
  await write('refreshed', 'goals', 'Two.');
  const refresh = () => operator.ok('context_refresh', {}, { ...LATER, idempotencyKey: 'refresh-once' });
  const first = await refresh();
  expect(first).toMatchObject({ changed: true });
  expect(await refresh()).toEqual(first);
  expect(await operator.ok('context_refresh', {}, LATER)).toMatchObject({ changed: false });
});
