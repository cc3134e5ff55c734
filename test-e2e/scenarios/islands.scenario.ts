/** Islands without a boundary: files with triggers that load. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { codeOf, type Fields } from '../client.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { brainFolder } from '../targets/target.ts';
import { newName, verifies } from '../verifies.ts';

const names = ({ islands }: Fields) => (islands as Fields[]).map(({ name }) => name);

verifies('islands:create', async ({ fresh, place }) => {
  const { user, brain } = await fresh();
  await user.ok('svc_create_branch', { name: 'without' });
  const made = await user.ok('svc_create_island', {
    name: 'ops',
    triggers: ['Deploy', ' deploy ', 'PR'],
    content: '# How we ship\n',
    description: 'Shipping',
  });
  expect(made).toMatchObject({ created: true, name: 'ops', type: 'static', kind: 'text', enabled: true, brain });
  expect([made.triggers, made.file, made.branch]).toEqual([['deploy', 'pr'], 'islands/ops.md', 'main']);
  const text = readFileSync(join(brainFolder(place, brain), 'islands', 'ops.md'), 'utf8');
  expect(text).toBe(
    '---\ntype: static\ntriggers: [deploy, pr]\nenabled: true\ndescription: Shipping\n---\n# How we ship\n',
  );
  expect(await user.ok('brain_read', { name: 'islands/ops' })).toMatchObject({ content: text, hash: made.hash });
  expect(names(await user.ok('svc_get_islands'))).toEqual(['ops']);
  expect(names(await user.ok('svc_get_islands', { branch: 'without' }))).toEqual([]);
  expect(await user.ok('svc_get_island', { name: 'ops', branch: 'without' })).toEqual({ name: 'ops', found: false });
  expect(await user.refused('E_ISLAND_EXISTS', 'svc_create_island', { name: 'ops', content: {} })).toMatchObject({
    created: false,
  });
  expect(await user.ok('svc_load_island', { name: 'ops' })).toMatchObject({
    loaded: true,
    kind: 'text',
    triggers: ['deploy', 'pr'],
    data: { name: 'ops', type: 'static', content: '# How we ship\n', source: brain, files: [] },
    truncated: false,
    hash: made.hash,
  });
  expect(await user.ok('svc_delete_island', { name: 'ops' })).toEqual({ deleted: true, name: 'ops' });
  expect(await user.refused('E_ISLAND_ABSENT', 'svc_delete_island', { name: 'ops' })).toMatchObject({ deleted: false });
  expect(await user.refused('E_ISLAND_ABSENT', 'svc_load_island', { name: 'ops' })).toMatchObject({
    name: 'ops',
    loaded: false,
  });
});

verifies('islands:disabled', async ({ fresh }) => {
  const { user } = await fresh();
  await user.ok('svc_create_island', { name: 'ops', triggers: ['deploy'], content: 'x' });
  const find = () => user.ok('svc_find_islands_by_trigger', { trigger: 'deploy' });
  expect(await find()).toMatchObject({ count: 1, islands: [{ name: 'ops', matched: ['deploy'] }] });
  expect(await user.ok('svc_disable_island', { name: 'ops' })).toEqual({ name: 'ops', enabled: false, changed: true });
  expect(await user.ok('svc_disable_island', { name: 'ops' })).toEqual({ name: 'ops', enabled: false, changed: false });
  expect(await user.refused('E_ISLAND_DISABLED', 'svc_load_island', { name: 'ops' })).toMatchObject({ loaded: false });
  expect(await find()).toMatchObject({ count: 0, islands: [] });
  expect(await user.ok('svc_get_islands')).toMatchObject({ count: 1, islands: [{ name: 'ops', enabled: false }] });
  expect(await user.ok('svc_get_island', { name: 'ops' })).toMatchObject({ found: true, enabled: false });
  await user.ok('svc_update_island_triggers', { name: 'ops', triggers: ['ship'] });
  expect(await user.ok('svc_enable_island', { name: 'ops' })).toEqual({ name: 'ops', enabled: true, changed: true });
  expect(await user.ok('svc_load_island', { name: 'ops' })).toMatchObject({ loaded: true, triggers: ['ship'] });
  expect(await user.refused('E_ISLAND_ABSENT', 'svc_enable_island', { name: 'none' })).toMatchObject({ name: 'none' });
});

verifies('islands:bulk', async ({ fresh }) => {
  const { user } = await fresh();
  await user.ok('svc_create_island', { name: 'second', content: 'mine' });
  const islands = ['first', 'second', 'third'].map((name) => ({ name, content: `of ${name}` }));
  expect(await user.refused('E_ISLAND_EXISTS', 'svc_bulk_create_islands', { islands })).toMatchObject({
    created: 0,
    results: [{ name: 'second', created: false, code: 'E_ISLAND_EXISTS' }],
  });
  expect(await user.ok('brain_list_files')).toMatchObject({ files: [{ file: 'islands/second.md' }] });
  const twice = [{ name: 'same' }, { name: 'same', content: {} }];
  expect(await user.refused('E_ISLAND_EXISTS', 'svc_bulk_create_islands', { islands: twice })).toMatchObject({
    created: 0,
  });
  await user.ok('svc_delete_island', { name: 'second' });
  const made = await user.ok('svc_bulk_create_islands', { islands: [...islands, { name: 'data', content: { a: 1 } }] });
  expect(made).toMatchObject({ created: 4, results: [{ name: 'first', created: true }, {}, {}, { name: 'data' }] });
  expect(names(await user.ok('svc_get_islands'))).toEqual(['data', 'first', 'second', 'third']);
  const many = Array.from({ length: 201 }, (_, index) => ({ name: `n${index}` }));
  await user.fails('VAF_INPUT_INVALID', 'svc_bulk_create_islands', { islands: many });
});

verifies(
  'islands:bulk',
  async ({ fresh }) => {
    const { user } = await fresh();
    const wanted = Array.from({ length: 8 }, (_, caller) =>
      Array.from({ length: 5 }, (_, n) => ({ name: `i${(caller * 3 + n) % 12}`, content: `of ${caller}` })),
    );
    const replies = await Promise.all(
      wanted.map((islands, gateway) => user.call('svc_bulk_create_islands', { islands }, { gateway })),
    );
    const winners = replies.flatMap((reply, caller) => (codeOf(reply) === null ? [caller] : []));
    expect(new Set(replies.map(codeOf))).toEqual(new Set([null, 'E_ISLAND_EXISTS']));
    const made = winners.flatMap((caller) => (wanted[caller] ?? []).map(({ name, content }) => [name, content]));
    expect(new Set(made.map(([name]) => name)).size).toBe(made.length);
    const { islands } = await user.ok<{ islands: Fields[] }>('svc_export_islands');
    expect(Object.fromEntries(islands.map(({ name, content }) => [name, content]))).toEqual(Object.fromEntries(made));
  },
  { title: 'overlapping sets at once: each is there whole or not at all' },
);

verifies('islands:switching', async ({ fresh }) => {
  const { user } = await fresh();
  await user.ok('svc_create_island', { name: 'ops', triggers: ['deploy'], content: 'body\n' });
  const replies = await Promise.all(
    Array.from({ length: 100 }, async (_, n) => {
      const tool = n % 2 === 0 ? 'svc_enable_island' : 'svc_disable_island';
      return user.ok<{ enabled: boolean; changed: boolean }>(tool, { name: 'ops' }, { gateway: n });
    }),
  );
  const on = replies.filter(({ enabled, changed }) => enabled && changed).length;
  const off = replies.filter(({ enabled, changed }) => !enabled && changed).length;
  const { enabled } = await user.ok<{ enabled: boolean }>('svc_get_island', { name: 'ops' });
  expect(off).toBeGreaterThan(0);
  // it began switched on, and each change is the opposite of the one before
  expect(off - on).toBe(enabled ? 0 : 1);
  expect((await user.ok('brain_read', { name: 'islands/ops' })).content).toBe(
    `---\ntype: static\ntriggers: [deploy]\nenabled: ${String(enabled)}\n---\nbody\n`,
  );
});

verifies('islands:triggers', async ({ fresh, place }) => {
  const { user, brain } = await fresh();
  const text = '---\r\n# how we name things\r\ntriggers: [a] # old\r\ncustom:   kept\r\n---\r\n# Body  \r\n';
  await user.ok('brain_write', { name: 'islands/hand', content: text });
  const amended = await user.ok('svc_update_island_triggers', { name: 'hand', triggers: ['PR', 'pull request'] });
  expect(amended).toMatchObject({ name: 'hand', triggers: ['pr', 'pull request'], changed: true });
  const after = readFileSync(join(brainFolder(place, brain), 'islands', 'hand.md'), 'utf8');
  expect(after).toBe(text.replace('[a]', '[pr, pull request]'));
  expect(await user.ok('svc_update_island_triggers', { name: 'hand', triggers: ['pr', 'Pull Request'] })).toMatchObject(
    {
      changed: false,
      hash: amended.hash,
    },
  );
  await user.ok('svc_create_island', { name: 'other', triggers: ['pr'] });
  const find = async (trigger: string) => names(await user.ok('svc_find_islands_by_trigger', { trigger }));
  expect(await find('review my pr')).toEqual(['hand', 'other']);
  expect(await find('a Pull\nRequest?')).toEqual(['hand']);
  expect(await find('april')).toEqual([]);
  const first = await user.ok('svc_find_islands_by_trigger', { trigger: 'pr', limit: 1 });
  expect([names(first), first.count]).toEqual([['hand'], 1]);
  const { nextCursor } = first;
  const second = await user.ok('svc_find_islands_by_trigger', { trigger: 'pr', limit: 1, cursor: nextCursor });
  expect([names(second), second.nextCursor]).toEqual([['other'], undefined]);
  await user.fails('VAF_INPUT_INVALID', 'svc_create_island', { name: 'x', triggers: ['t'.repeat(65)] });
  await user.fails('VAF_INPUT_INVALID', 'svc_create_island', { name: '../x' });
});

verifies('islands:sources', async ({ fresh }) => {
  const { user, brain } = await fresh();
  await user.ok('brain_write', { name: 'notes/a', content: 'of a' });
  await user.ok('brain_write', { name: 'notes/sub/b', content: 'of b' });
  await user.ok('brain_write', { name: 'notesx/c', content: 'of c' });
  await user.ok('svc_create_island', { name: 'ops', content: 'body', source: ['notes'] });
  expect((await user.ok('svc_load_island', { name: 'ops' })).data).toEqual({
    name: 'ops',
    type: 'static',
    content: 'body\n\nof a\n\nof b',
    source: brain,
    files: ['notes/a.md', 'notes/sub/b.md'],
  });
  await user.ok('brain_write', { name: 'notes/b', content: 'é'.repeat(40_000) });
  const { data, truncated } = await user.ok<{ data: Fields; truncated: boolean }>('svc_load_island', { name: 'ops' });
  expect([truncated, data.files]).toEqual([true, ['notes/a.md', 'notes/b.md']]);
  const appended = Buffer.byteLength(String(data.content)) - 'body'.length;
  expect(appended).toBeLessThanOrEqual(65_536);
  expect(appended).toBeGreaterThan(65_530);
  expect(await user.ok('svc_export_islands')).toMatchObject({ count: 1, islands: [{ name: 'ops', content: 'body' }] });
});

verifies('islands:events', async ({ fresh, socket }) => {
  const listener = await socket();
  const { user, brain } = await fresh();
  await user.ok('svc_create_island', { name: 'ops', triggers: ['a'] });
  await user.ok('svc_disable_island', { name: 'ops' });
  await user.ok('svc_disable_island', { name: 'ops' });
  await user.ok('svc_update_island_triggers', { name: 'ops', triggers: ['a'] });
  await user.ok('svc_delete_island', { name: 'ops' });
  await listener.until('the end', (event) => event.brain === brain && event.name === 'island:deleted');
  const file = 'islands/ops.md';
  const resources = [`brain:${brain}`, `brain:${brain}/islands`, `brain:${brain}/${file}`, '_island:ops'];
  const heard = listener.of(brain).filter(({ name }) => name !== 'brain:created');
  expect(heard).toMatchObject([
    { name: 'brain:change', file, change: 'created', source: 'tool', resources },
    { name: 'island:created', island: 'ops', branch: 'main', resources },
    { name: 'brain:change', file, change: 'updated' },
    { name: 'island:updated', island: 'ops' },
    { name: 'brain:change', file, change: 'deleted' },
    { name: 'island:deleted', island: 'ops' },
  ]);
});

verifies('islands:idempotency', async ({ fresh }) => {
  const { user } = await fresh();
  const keyed = (key: string) => ({ headers: { 'idempotency-key': newName(key) } });
  const create = keyed('create');
  const args = { islands: [{ name: 'a' }, { name: 'b' }] };
  const first = await user.call('svc_bulk_create_islands', args, create);
  const again = await user.call('svc_bulk_create_islands', args, create);
  expect([again.text, again.headers['idempotency-replayed']]).toEqual([first.text, 'true']);
  await user.refused('E_ISLAND_EXISTS', 'svc_bulk_create_islands', args);
  await user.fails('IDEMPOTENCY_KEY_REUSED', 'svc_bulk_create_islands', { islands: [{ name: 'c' }] }, create);
  const remove = keyed('remove');
  const removed = await user.call('svc_delete_island', { name: 'a' }, remove);
  await user.ok('svc_create_island', { name: 'a' });
  expect((await user.call('svc_delete_island', { name: 'a' }, remove)).text).toBe(removed.text);
  expect(names(await user.ok('svc_get_islands'))).toEqual(['a', 'b']);
});

verifies('islands:invalid', async ({ fresh, place }) => {
  const { user, brain } = await fresh();
  await user.ok('svc_create_island', { name: 'good', triggers: ['x'] });
  const folder = join(brainFolder(place, brain), 'islands');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'broken.md'), '---\ntriggers: [x\n---\nBody');
  writeFileSync(join(folder, 'bad.json'), '{"data":{}}');
  await waitFor(async () => names(await user.ok('svc_get_islands')).length === 3, {
    what: 'the files by hand',
  });
  const { islands } = await user.ok<{ islands: Fields[] }>('svc_get_islands');
  expect(islands.map(({ name, invalid = false }) => [name, invalid])).toEqual([
    ['bad', true],
    ['broken', true],
    ['good', false],
  ]);
  for (const name of ['bad', 'broken']) {
    await user.refused('E_ISLAND_INVALID', 'svc_load_island', { name });
    await user.refused('E_ISLAND_INVALID', 'svc_enable_island', { name });
    await user.refused('E_ISLAND_EXISTS', 'svc_create_island', { name });
  }
  expect(names(await user.ok('svc_find_islands_by_trigger', { trigger: 'x' }))).toEqual(['good']);
  expect(readFileSync(join(folder, 'broken.md'), 'utf8')).toBe('---\ntriggers: [x\n---\nBody');
  await user.ok('svc_delete_island', { name: 'broken' });
});

verifies('islands:stack', async ({ fresh }) => {
  const { user, brain: below } = await fresh();
  await user.ok('svc_create_island', { name: 'both', triggers: ['t'], content: 'below' });
  await user.ok('svc_create_island', { name: 'only', triggers: ['t'], content: 'below' });
  const top = newName('b');
  await user.ok('brain_push', { name: top, create: true });
  await user.ok('svc_create_island', { name: 'both', triggers: ['u'], content: 'top' });
  const { islands } = await user.ok<{ islands: Fields[] }>('svc_get_islands');
  expect(islands.map(({ name, brain }) => [name, brain])).toEqual([
    ['both', top],
    ['only', below],
  ]);
  expect(names(await user.ok('svc_find_islands_by_trigger', { trigger: 't' }))).toEqual(['only']);
  expect(await user.ok('svc_load_island', { name: 'both' })).toMatchObject({ brain: top, data: { content: 'top' } });
  for (const place of [{ brain: below }, { options: { brain: below } }]) {
    expect(await user.ok('svc_load_island', { name: 'both', ...place })).toMatchObject({ data: { content: 'below' } });
  }
  await user.fails('VAF_INPUT_INVALID', 'svc_load_island', { name: 'both', brain: top, options: { brain: below } });
});

verifies('islands:cas', async ({ fresh }) => {
  const { user } = await fresh();
  const { hash } = await user.ok<{ hash: string }>('svc_create_island', { name: 'ops', triggers: ['start'] });
  const replies = await Promise.all(
    Array.from({ length: 20 }, (_, n) =>
      user.call('svc_update_island_triggers', { name: 'ops', triggers: [`t${n}`], ifMatch: hash }, { gateway: n }),
    ),
  );
  const won = replies.filter((reply) => codeOf(reply) === null);
  expect([won.length, new Set(replies.map(codeOf))]).toEqual([1, new Set([null, 'E_CONFLICT'])]);
  const winner = won[0]?.body.result?.content as Fields;
  const { triggers, hash: now } = await user.ok('svc_get_island', { name: 'ops' });
  expect([triggers, now]).toEqual([winner.triggers, winner.hash]);
  for (const reply of replies.filter((one) => codeOf(one) !== null)) {
    expect(reply.body.result?.content).toMatchObject({ hash: now });
  }
});
