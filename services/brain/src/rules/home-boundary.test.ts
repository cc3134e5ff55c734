import { join } from 'node:path';
import { readFileSync } from 'node:fs';
import { type EventBatch, SUBJECTS } from '@svc/contract/discovery.ts';
import type { Subject } from '@svc/contract/subject.ts';
import { beforeAll, expect, test } from 'vitest';
import { bedOfFile } from '../../testing/bed-of-file.ts';
import { testCaller } from '../../testing/brain-test-bed.ts';

type Content = Record<string, unknown>;

const bed = await bedOfFile();
let node = await bed.start();
const events: Content[] = [];

beforeAll(async () => {
  await listen();
});

async function listen(): Promise<void> {
  await node.bus.subscribe(SUBJECTS.events('brain'), (payload) => {
    for (const { event } of (JSON.parse(payload) as EventBatch).events)
      events.push({ ...event.payload, is: event.name });
  });
}

const caller = (subject: Subject) => testCaller(() => node, { ...subject, verified: true });
const ADA = caller({ userId: 'ada', agentId: 'ada', workspace: 'acme', roles: ['editor'] });
const SAM = caller({ userId: 'sam', agentId: 'sam', workspace: 'acme', roles: ['viewer'] });
const EVE = caller({ userId: 'eve', agentId: 'eve', workspace: 'else', roles: ['admin'] });
const OPERATOR = testCaller(() => node, null);

const EDITORS = { container: 'acme', readableBy: ['role:editor'], writableBy: ['role:editor'] };
const open = (policy: Content | null) => bed.registry.setPolicy('_home:acme', policy);

async function seenBy(who: typeof ADA, brain: string): Promise<string[]> {
  const { files } = await who.ok('brain_list_files', { brain });
  return (files as Content[]).map(({ file }) => String(file)).sort();
}

test('what a workspace makes has its boundary on every way to it, until it has one of its own', async () => {
  const brain = 'svc';
  open(EDITORS);
  await OPERATOR.ok('brain_write', { brain, name: 'common/open', content: 'rome for all' });
  await ADA.ok('brain_write', { brain, name: 'common/ours', content: 'rome for us' });
  await ADA.ok('svc_create_island', { brain, name: 'ours', content: 'rome', triggers: ['rome'] });
  for (const who of [EVE, SAM]) {
    expect(await who.no('brain_read', { brain, name: 'common/ours' })).toMatchObject({ code: 'E_FILE_ABSENT' });
    expect(await seenBy(who, brain)).toEqual(['common/open.md']);
    expect(await who.ok('svc_search', { brain, query: 'rome' })).toMatchObject({ total: 1 });
    expect(await who.ok('svc_find_islands_by_trigger', { brain, trigger: 'rome' })).toMatchObject({ count: 0 });
    expect(await who.no('svc_load_island', { brain, name: 'ours' })).toMatchObject({ code: 'E_ISLAND_ABSENT' });
    const [listed] = (await who.ok('brain_list'))['brains'] as Content[];
    expect(listed).toMatchObject({ name: 'svc', files: 1 });
  }
  expect(await EVE.no('brain_write', { brain, name: 'common/ours', content: 'x' })).toMatchObject({
    code: 'RLS_DENIED',
  });
  expect(await ADA.ok('svc_search', { brain, query: 'rome' })).toMatchObject({ total: 3 });
  expect((await ADA.ok('brain_list'))['brains']).toMatchObject([{ name: 'svc', files: 3 }]);
  await ADA.ok('svc_commit', { brain, message: 'all' });
  expect(JSON.stringify(await EVE.ok('svc_history', { brain }))).not.toContain('ours');

  // A process that starts knows it as well; a boundary of the file's own takes its place.
  await node.stop();
  node = await bed.start();
  await listen();
  expect(await seenBy(EVE, brain)).toEqual(['common/open.md']);
  bed.registry.setPolicy(`brain:${brain}/common/ours.md`, { container: 'public', writableBy: ['role:admin'] });
  expect(await seenBy(EVE, brain)).toEqual(['common/open.md', 'common/ours.md']);
  expect(await EVE.ok('svc_search', { brain, query: 'rome' })).toMatchObject({ total: 2 });
  bed.registry.setPolicy(`brain:${brain}/common/ours.md`, null);
  expect(await seenBy(EVE, brain)).toEqual(['common/open.md']);
  open(null);
  expect(await seenBy(EVE, brain)).toEqual(['common/open.md', 'common/ours.md', 'islands/ours.md']);
});

test('nobody makes what the boundary of its home would not let it write', async () => {
  open({ ...EDITORS, writableBy: ['role:admin'] });
  expect(await ADA.no('brain_write', { brain: 'svc', name: 'common/mine', content: 'x' })).toMatchObject({
    code: 'RLS_DENIED',
  });
  await EVE.ok('brain_write', { brain: 'svc', name: 'common/mine', content: 'x' });
  open(null);
});

test('a brain that a workspace makes has it from the first moment; what is on a branch too', async () => {
  open(EDITORS);
  await ADA.ok('brain_push', { name: 'hers', create: true });
  expect(await EVE.no('brain_push', { name: 'hers' })).toMatchObject({ code: 'BRAIN_LOAD_FAIL' });
  await ADA.ok('brain_write', { brain: 'svc', name: 'side', content: 'x' });
  await ADA.ok('svc_commit', { brain: 'svc', message: 'side' });
  await ADA.ok('svc_create_branch', { brain: 'svc', name: 'side' });
  expect(await EVE.no('brain_read', { brain: 'svc', branch: 'side', name: 'side' })).toMatchObject({
    code: 'E_FILE_ABSENT',
  });
  open(null);
});

test('events name where a file is at home, and no hash of what it hides', async () => {
  open({ ...EDITORS, mask: ['salary'] });
  await ADA.ok('brain_write', { brain: 'svc', name: 'pay.json', content: '{"salary":91000,"name":"x"}' });
  const told = () => events.find(({ is, file }) => is === 'brain:change' && file === 'pay.json');
  await expect.poll(told).toMatchObject({
    hash: null,
    resources: ['brain:svc', 'brain:svc/pay.json', '_home:acme|brain:svc/pay.json'],
  });
  const { content } = await ADA.ok('brain_read', { brain: 'svc', name: 'pay.json' });
  expect(content).toBe('{"salary":"[masked]","name":"x"}');
  expect(await ADA.ok('svc_search', { brain: 'svc', query: '91000' })).toMatchObject({ total: 0 });
  expect(readFileSync(join(bed.dataDir, 'brains', 'svc', 'pay.json'), 'utf8')).toContain('91000');
  open(null);
});
