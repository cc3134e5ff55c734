import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type EventBatch, SUBJECTS } from '@svc/contract/discovery.ts';
import type { Subject } from '@svc/contract/subject.ts';
import { type BrainNode, type BrainTestBed, openBrainTestBed } from '../../testing/brain-test-bed.ts';

let bed: BrainTestBed;
let node: BrainNode;
const heard: EventBatch['events'][number][] = [];

beforeEach(async () => {
  bed = await openBrainTestBed();
  node = await bed.start();
  heard.length = 0;
  await node.bus.subscribe(SUBJECTS.events('brain'), (payload) => {
    heard.push(...(JSON.parse(payload) as EventBatch).events);
  });
});
afterEach(async () => {
  await node.stop();
  await bed[Symbol.asyncDispose]();
});

const as = (subject: Subject) => ({ operator: false, subject });
const SRE = as({ workspace: 'acme', userId: 'ann', agentId: 'ann', roles: ['editor'], team: 'sre', verified: true });
const OTHER = as({ workspace: 'acme', userId: 'bob', agentId: 'bob', roles: ['editor'], verified: true });
const FOREIGN = as({ workspace: 'beta', userId: 'eve', agentId: 'eve', roles: ['admin'], team: 'sre', verified: true });
const NOBODY = as({ workspace: 'acme' });

const gate = (island: string, policy = {}) =>
  bed.registry.setPolicy(`_island:${island}`, {
    container: 'acme',
    readableBy: ['team:sre'],
    writableBy: ['user:ann', 'role:admin'],
    ...policy,
  });

const file = (name: string) => join(bed.dataDir, 'brains', 'svc', 'islands', name);
const denials = () => heard.flatMap(({ event }) => (event.name === 'island:denied' ? [event] : []));

async function told(count: number): Promise<void> {
  await expect.poll(() => denials().length).toBeGreaterThanOrEqual(count);
}

it('shuts out whom the boundary denies, tells it once, and shows nothing on any other door', async () => {
  await node.call('svc_create_island', { name: 'ops', triggers: ['deploy'], content: 'secretword' });
  gate('ops');
  expect(await node.call('svc_load_island', { name: 'ops' }, SRE)).toMatchObject({ loaded: true });
  await expect(node.call('svc_load_island', { name: 'ops' }, OTHER)).rejects.toThrow('RLS_DENIED');
  await told(1);
  expect(denials()).toMatchObject([
    {
      workspace: 'acme',
      payload: { island: 'ops', mode: 'read', op: 'load', userId: 'bob', because: 'no-match', container: 'acme' },
    },
  ]);
  await expect(node.call('svc_get_island', { name: 'ops' }, FOREIGN)).rejects.toThrow('RLS_DENIED');
  await expect(node.call('svc_load_island', { name: 'ops' }, NOBODY)).rejects.toThrow('RLS_DENIED');
  await told(3);
  expect(denials().map(({ payload }) => payload)).toMatchObject([
    {},
    { op: 'hydrate', userId: 'eve', because: 'container' },
    { op: 'load', because: 'no-match' },
  ]);
  expect(denials()[2]?.payload).not.toHaveProperty('userId');
  for (const [tool, args] of [
    ['svc_get_islands', {}],
    ['svc_export_islands', {}],
    ['svc_find_islands_by_trigger', { trigger: 'deploy' }],
    ['brain_list_files', {}],
    ['svc_search', { query: 'secretword' }],
  ] as const) {
    expect(JSON.stringify(await node.call(tool, args, OTHER)), tool).not.toContain('ops.md');
    expect(JSON.stringify(await node.call(tool, args, OTHER)), tool).not.toContain('"ops"');
  }
  expect(await node.call('brain_read', { name: 'islands/ops' }, OTHER)).toMatchObject({ code: 'E_FILE_ABSENT' });
  expect(await node.call('svc_island_status', { name: 'ops' }, OTHER)).toMatchObject({ exists: false, gated: true });
  await expect.poll(() => bed.registry.audited.filter(({ event }) => event === 'island:denied').length).toBe(3);
  expect(bed.registry.audited.find(({ event }) => event === 'island:denied')).toMatchObject({
    workspace: 'acme',
    subject: { agentId: 'bob', verified: true },
    data: { island: 'ops', mode: 'read', op: 'load' },
  });
});

it('a denial does not tell whether the island is there', async () => {
  gate('none');
  await expect(node.call('svc_load_island', { name: 'none' }, OTHER)).rejects.toThrow('RLS_DENIED');
  expect(await node.call('svc_load_island', { name: 'none' }, SRE)).toMatchObject({ code: 'E_ISLAND_ABSENT' });
});

it.each([
  ['svc_create_island', { name: 'new' }],
  ['svc_bulk_create_islands', { islands: [{ name: 'free' }, { name: 'new' }] }],
  ['svc_enable_island', { name: 'ops' }],
  ['svc_disable_island', { name: 'ops' }],
  ['svc_update_island_triggers', { name: 'ops', triggers: ['x'] }],
  ['svc_delete_island', { name: 'ops' }],
] as const)('%s asks the boundary first', async (tool, args) => {
  await node.call('svc_create_island', { name: 'ops', triggers: ['deploy'] });
  gate('ops');
  gate('new');
  const before = readFileSync(file('ops.md'), 'utf8');
  await expect(node.call(tool, args, OTHER)).rejects.toThrow('RLS_DENIED');
  await expect(node.call(tool, args)).rejects.toThrow('E_ISLAND_WRITE_DENIED');
  await expect(node.call(tool, args, NOBODY)).rejects.toThrow('UNAUTHORIZED');
  await told(2);
  expect(denials().map(({ payload }) => payload)).toMatchObject([
    { mode: 'write', op: 'save', userId: 'bob', because: 'no-match' },
    { mode: 'write', op: 'save', because: 'anonymous' },
  ]);
  expect(readFileSync(file('ops.md'), 'utf8')).toBe(before);
  expect(await node.call('svc_get_islands', {}, SRE)).toMatchObject({ count: 1 });
  expect(await node.call(tool, args, SRE)).not.toHaveProperty('code');
});

it('a viewer may not write, boundary or not', async () => {
  gate('ops');
  const viewer = as({ workspace: 'acme', agentId: 'vic', roles: ['viewer'] });
  await expect(node.call('svc_create_island', { name: 'ops' }, viewer)).rejects.toThrow('FORBIDDEN');
  expect(denials()).toEqual([]);
});

it('nothing is decided without the registry', async () => {
  await node.call('svc_create_island', { name: 'ops' });
  bed.registry.isAway = true;
  bed.registry.touch();
  const tools = ['svc_load_island', 'svc_get_island', 'svc_delete_island', 'islands_canAccess'];
  // At once, for each waits until it gives up.
  await Promise.all(
    tools.map((tool) => expect(node.call(tool, { name: 'ops' }), tool).rejects.toThrow('SERVICE_UNAVAILABLE')),
  );
  bed.registry.isAway = false;
  expect(await node.call('svc_load_island', { name: 'ops' })).toMatchObject({ loaded: true });
});

it('says who may, and as whom it was asked', async () => {
  const ask = (mode: string, over = {}) => node.call('islands_canAccess', { name: 'ops', mode }, over);
  expect(await ask('write', NOBODY)).toEqual({
    name: 'ops',
    mode: 'write',
    allowed: true,
    gated: false,
    verified: false,
    resolved: { anonymous: true },
  });
  gate('ops');
  expect(await ask('read', SRE)).toEqual({
    name: 'ops',
    mode: 'read',
    allowed: true,
    gated: true,
    verified: true,
    resolved: { userId: 'ann', agentId: 'ann', workspace: 'acme', roles: ['editor'], team: 'sre' },
  });
  expect(await ask('read', OTHER)).toMatchObject({ allowed: false, gated: true });
  expect(await ask('write', SRE)).toMatchObject({ allowed: true });
  gate('ops', { writableBy: ['public'] });
  expect(await ask('write', NOBODY)).toMatchObject({ allowed: false });
  expect(denials()).toEqual([]);
});

it('hides fields of the data of a data island from load, export and reading, and keeps them', async () => {
  await node.call('svc_create_island', {
    name: 'staff',
    content: { name: 'Ann', salary: 91_000, mail: 'ann@example.com', island: 'kept' },
  });
  gate('staff', { filter: ['salary'], mask: ['mail'] });
  const data = { name: 'Ann', mail: '[masked]', island: 'kept' };
  expect((await node.call('svc_load_island', { name: 'staff' }, SRE))['data']).toEqual(data);
  expect(await node.call('svc_export_islands', {}, SRE)).toMatchObject({ islands: [{ name: 'staff', data }] });
  const { content } = await node.call('brain_read', { name: 'islands/staff.json' }, SRE);
  expect(JSON.parse(String(content))).toMatchObject({ island: { enabled: true }, data });
  const { hash } = await node.call('svc_get_island', { name: 'staff' }, SRE);
  const args = { name: 'staff', triggers: ['pay'], ifMatch: hash };
  expect(await node.call('svc_update_island_triggers', args, SRE)).toMatchObject({ changed: true, triggers: ['pay'] });
  expect(JSON.parse(readFileSync(file('staff.json'), 'utf8'))).toMatchObject({
    island: { triggers: ['pay'] },
    data: { salary: 91_000, mail: 'ann@example.com' },
  });
});

it('hides nothing in the text of a text island', async () => {
  await node.call('svc_create_island', { name: 'ops', content: 'mail: a@b.c', description: 'shown' });
  gate('ops', { filter: ['description'], mask: 'all' });
  expect((await node.call('svc_load_island', { name: 'ops' }, SRE))['data']).toMatchObject({ content: 'mail: a@b.c' });
  expect(await node.call('svc_get_island', { name: 'ops' }, SRE)).toMatchObject({ description: 'shown' });
});

it('an unreadable file is as good as absent, below its folder and in the sources of another island', async () => {
  await node.call('brain_write', { name: 'notes/open', content: 'open' });
  await node.call('brain_write', { name: 'notes/shut/x', content: 'shut' });
  await node.call('svc_create_island', { name: 'sum', content: 'body', source: ['notes'] });
  await node.call('svc_create_island', { name: 'own', content: 'body' });
  bed.registry.setPolicy('brain:svc/notes/shut', { readableBy: ['team:sre'] });
  bed.registry.setPolicy('brain:svc/islands/own.md', { readableBy: ['team:sre'], writableBy: ['team:sre'] });
  const load = async (over: object) => (await node.call('svc_load_island', { name: 'sum' }, over))['data'];
  expect(await load(SRE)).toMatchObject({
    content: 'body\n\nopen\n\nshut',
    files: ['notes/open.md', 'notes/shut/x.md'],
  });
  expect(await load(OTHER)).toMatchObject({ content: 'body\n\nopen', files: ['notes/open.md'] });
  expect(await node.call('svc_load_island', { name: 'own' }, OTHER)).toMatchObject({ code: 'E_ISLAND_ABSENT' });
  expect(await node.call('svc_get_island', { name: 'own' }, OTHER)).toEqual({ name: 'own', found: false });
  for (const tool of ['svc_disable_island', 'svc_delete_island', 'svc_create_island']) {
    await expect(node.call(tool, { name: 'own' }, OTHER), tool).rejects.toThrow('RLS_DENIED');
  }
  expect(await node.call('svc_disable_island', { name: 'own' }, SRE)).toMatchObject({ changed: true });
});

it('what is switched off stays so for whom that is hidden', async () => {
  await node.call('svc_create_island', { name: 'ops', enabled: false, triggers: ['deploy'], content: 'x' });
  bed.registry.setPolicy('brain:svc/islands', { filter: ['enabled'] });
  expect(await node.call('svc_load_island', { name: 'ops' })).toMatchObject({ code: 'E_ISLAND_DISABLED' });
  expect(await node.call('svc_find_islands_by_trigger', { trigger: 'deploy' })).toMatchObject({ count: 0 });
});

it('the rules of a boundary are for those who hold a role where it lives', async () => {
  await node.call('svc_create_island', { name: 'ops' });
  const status = (over: object) => node.call('svc_island_status', { name: 'ops' }, over);
  expect(await status(OTHER)).toEqual({
    name: 'ops',
    exists: true,
    enabled: true,
    type: 'static',
    populated: false,
    gated: false,
    readableBy: null,
    writableBy: null,
    container: null,
  });
  gate('ops');
  const rules = { readableBy: ['team:sre'], writableBy: ['user:ann', 'role:admin'], container: 'acme' };
  expect(await status(SRE)).toMatchObject({ exists: true, gated: true, ...rules });
  expect(await status(OTHER)).toMatchObject({ exists: false, gated: true, ...rules });
  expect(await status(FOREIGN)).toMatchObject({ exists: false, gated: true, readableBy: null, container: null });
  expect(await status(NOBODY)).toMatchObject({ gated: true, writableBy: null });
});

it('both files of a name made by hand: the text is the island, and both go with it', async () => {
  await node.call('svc_create_island', { name: 'two', content: 'text' });
  writeFileSync(file('two.json'), '{"island":{"type":"other"},"data":{}}');
  expect(await node.call('svc_get_islands', {})).toMatchObject({ count: 1, islands: [{ name: 'two', kind: 'text' }] });
  await node.call('svc_delete_island', { name: 'two' });
  expect(await node.call('svc_get_island', { name: 'two' })).toEqual({ name: 'two', found: false });
});

it('pages through more than one page of definitions', async () => {
  const description = 'd'.repeat(2000);
  for (let start = 0; start < 800; start += 200) {
    const islands = Array.from({ length: 200 }, (_, n) => ({ name: `n${1000 + start + n}`, description }));
    await node.call('svc_bulk_create_islands', { islands });
  }
  const names: string[] = [];
  for (let cursor: unknown; ; ) {
    const page = await node.call('svc_get_islands', { limit: 300, ...(cursor === undefined ? {} : { cursor }) });
    names.push(...(page['islands'] as { name: string }[]).map(({ name }) => name));
    cursor = page['nextCursor'];
    if (cursor === undefined) break;
  }
  expect(names).toEqual(Array.from({ length: 800 }, (_, n) => `n${1000 + n}`));
});

it('a file beyond what a file may be is refused before anything happens', async () => {
  const content = 'x'.repeat(1024 * 1024 - 20);
  await expect(node.call('svc_create_island', { name: 'big', content })).rejects.toThrow('VAF_INPUT_INVALID');
  expect(await node.call('svc_get_islands', {})).toMatchObject({ count: 0 });
});

it('a file that a step is making is read when the step is done', async () => {
  await node.call('svc_create_island', { name: 'first' });
  const [brain] = node.openBrains();
  const tree = (await brain?.trees.all())?.get('main')?.tree;
  const islands = Array.from({ length: 200 }, (_, n) => ({ name: `n${n}`, content: 'x'.repeat(2000) }));
  let isOver = false;
  const making = node.call('svc_bulk_create_islands', { islands }).finally(() => (isOver = true));
  while (tree?.applying.has('islands/n7.md') === false && !isOver) await nextTurn();
  expect(isOver).toBe(false);
  expect(await node.call('brain_read', { name: 'islands/n7' })).toMatchObject({ file: 'islands/n7.md' });
  expect(await making).toMatchObject({ created: 200 });
});

it('a step that the database refuses in its last statement leaves nothing behind', async () => {
  await node.call('svc_create_island', { name: 'kept', content: 'kept' });
  const [brain] = node.openBrains();
  const sql = (text: string) => brain?.context.platform.database.pool.query(text);
  await sql(
    `ALTER TABLE brain.event_batches ADD CONSTRAINT refused CHECK (events::text NOT LIKE '%island:created%') NOT VALID`,
  );
  const islands = Array.from({ length: 20 }, (_, n) => ({ name: `n${n}`, triggers: ['x'] }));
  await expect(node.call('svc_bulk_create_islands', { islands })).rejects.toThrow('INTERNAL');
  expect(readdirSync(join(bed.dataDir, 'brains', 'svc', 'islands'))).toEqual(['kept.md']);
  expect(readdirSync(join(bed.dataDir, 'journal'))).toEqual([]);
  expect(await node.call('svc_find_islands_by_trigger', { trigger: 'x' })).toMatchObject({ count: 0 });
  await sql('ALTER TABLE brain.event_batches DROP CONSTRAINT refused');
  expect(await node.call('svc_bulk_create_islands', { islands })).toMatchObject({ created: 20 });
  await expect.poll(() => heard.filter(({ event }) => event.name === 'island:created').length).toBe(21);
  expect(heard.filter(({ event }) => event.name === 'brain:change').length).toBe(21);
});
