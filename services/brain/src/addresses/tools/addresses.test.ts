import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Subject } from '@svc/contract/subject.ts';
import { poolClient } from '@svc/runtime/transaction.ts';
import { type BrainNode, type BrainTestBed, openBrainTestBed, testCaller } from '../../../testing/brain-test-bed.ts';
import { OBJECT_LIMITS } from '../address-store.ts';

let bed: BrainTestBed;
let node: BrainNode;

beforeEach(async () => {
  bed = await openBrainTestBed();
  node = await bed.start();
});
afterEach(async () => {
  await node.stop();
  await bed[Symbol.asyncDispose]();
});

const sql = (text: string, ...values: unknown[]) => poolClient(bed.database.pool).$executeRawUnsafe(text, ...values);
const nodeNow = () => node;
const ANN: Subject = { workspace: 'acme', userId: 'ann', agentId: 'ann', roles: ['editor'], verified: true };
const VIEWER: Subject = { ...ANN, roles: ['viewer'] };
const operator = testCaller(nodeNow, null);
const ann = testCaller(nodeNow, ANN);

it('gives equal data one address, and the data back by it, however it is typed', async () => {
  const first = await operator.ok('svc_memory_address', { data: { a: 1, b: 2 } });
  expect(first).toEqual({
    barcode: '9-8CJRS-ZVR7Z-KG6VC-A8C1K-M',
    hash: '43258cff783fe7036d8a43033f830adfc60ec037382473548ac742b888292777',
    existed: false,
    bytes: 13,
    brain: 'svc',
  });
  expect(await operator.ok('svc_memory_address', { data: { b: 2, a: 1 } })).toEqual({ ...first, existed: true });
  const typed = String(first.barcode).toLowerCase().replaceAll('-', '');
  expect(await operator.ok('svc_memory_locate', { barcode: typed })).toMatchObject({
    barcode: first.barcode,
    found: true,
    data: { a: 1, b: 2 },
    brain: 'svc',
  });
  expect(await operator.no('svc_memory_locate', { barcode: typed.replace('m', 'n') })).toMatchObject({
    found: false,
    code: 'E_BARCODE_INVALID',
  });
  expect(await operator.ok('svc_memory_locate', { barcode: '9-00000-00000-00000-00000-0' })).toEqual({
    barcode: '9-00000-00000-00000-00000-0',
    found: false,
  });
});

it.each([[''], ['grün\u0000'], [0], [null], [[]], [JSON.parse('{"__proto__":{"a":[true]}}')]])(
  'gives %j back as it was',
  async (data: unknown) => {
    const { barcode } = await operator.ok('svc_memory_address', { data });
    expect(JSON.stringify(await operator.ok('brain_geo_load', { barcode }))).toBe(
      JSON.stringify({ barcode, found: true, data, keys: [], brain: 'svc' }),
    );
  },
);

it.each([
  ['svc_memory_address', {}],
  ['brain_geo_store', { key: 'other' }],
] as const)('%s never replaces what lies under an address', async (tool, more) => {
  const { barcode } = await operator.ok(tool, { ...more, data: 'first' });
  await sql("UPDATE brain.brain_objects SET sha256 = repeat('a', 64)");
  expect(await operator.no(tool, { ...more, data: 'first' })).toMatchObject({ code: 'E_ADDRESS_COLLISION', barcode });
  const [row] = await poolClient(bed.database.pool).$queryRawUnsafe<{ content: Uint8Array }[]>(
    'SELECT content FROM brain.brain_objects',
  );
  expect(Buffer.from(row?.content ?? []).toString()).toBe('first');
});

it.each(['svc_memory_locate', 'brain_geo_load'])('%s shows nothing that was changed behind its back', async (tool) => {
  const { barcode } = await operator.ok('svc_memory_address', { data: 'first' });
  await sql("UPDATE brain.brain_objects SET content = 'other'::bytea");
  expect(await operator.no(tool, { barcode })).toMatchObject({ found: false, code: 'E_ADDRESS_CORRUPT' });
  expect(await operator.no(tool, { barcode: 'x' })).toMatchObject({ found: false, code: 'E_BARCODE_INVALID' });
});

it('moves a name on, and keeps what it stood for', async () => {
  const first = await operator.ok('brain_geo_store', { key: 'plan', data: 1 });
  expect(first).toMatchObject({ stored: true, previous: null, existed: false });
  const second = await operator.ok('brain_geo_store', { key: 'plan', data: 2 });
  expect(second).toMatchObject({ previous: first.barcode, existed: false });
  expect(await operator.ok('brain_geo_store', { key: 'copy', data: 2 })).toMatchObject({ existed: true });
  expect(await operator.ok('brain_geo_load', { barcode: first.barcode })).toMatchObject({ data: 1, keys: [] });
  expect(await operator.ok('brain_geo_load', { barcode: second.barcode })).toMatchObject({
    data: 2,
    keys: ['copy', 'plan'],
  });
  const page = await operator.ok('brain_geo_list', { limit: 1 });
  expect(page).toMatchObject({ keys: [{ key: 'copy', barcode: second.barcode }], brain: 'svc' });
  expect(await operator.ok('brain_geo_list', { limit: 1, cursor: page.nextCursor })).toMatchObject({
    keys: [{ key: 'plan' }],
  });
  expect(await operator.ok('brain_geo_brains')).toEqual({ brains: [{ name: 'svc', keys: 2, objects: 2, bytes: 2 }] });
});

it('stores as much as there is room for, and no more', async () => {
  const { barcode } = await operator.ok('svc_memory_address', { data: 'x' });
  await sql("UPDATE brain.brain_usage SET items = $1 WHERE kind = 'objects'", OBJECT_LIMITS.all.items - 2);
  const calls = Array.from({ length: 8 }, (_, data) => node.call('svc_memory_address', { data }));
  const answers = await Promise.all(calls);
  expect(answers.filter(({ code }) => code === undefined)).toHaveLength(2);
  expect(answers.find(({ code }) => code !== undefined)).toMatchObject({ code: 'E_QUOTA' });
  expect(await operator.ok('svc_memory_address', { data: 'x' })).toMatchObject({ existed: true, barcode });
  expect(await operator.no('brain_geo_store', { key: 'k', data: 'new' })).toMatchObject({ code: 'E_QUOTA' });
  expect(await operator.ok('brain_geo_list')).toMatchObject({ keys: [] });
  await sql("INSERT INTO brain.brain_usage SELECT 'geo-keys', scope, 10000, 0 FROM brain.brain_usage");
  expect(await operator.no('brain_geo_store', { key: 'k', data: 'x' })).toMatchObject({ code: 'E_QUOTA' });
  await expect(operator.ok('svc_memory_address', { data: 'x'.repeat(256 * 1024 + 1) })).rejects.toThrow(
    'VAF_INPUT_INVALID',
  );
});

it('belongs to a brain: it follows a renamed one, and goes with a deleted one', async () => {
  await operator.ok('brain_push', { name: 'research', create: true });
  const { barcode } = await operator.ok('brain_geo_store', { key: 'k', data: 'of research' });
  await operator.ok('brain_rename', { name: 'research', to: 'archive' });
  expect(await operator.ok('brain_geo_load', { barcode })).toMatchObject({ brain: 'archive', keys: ['k'] });
  await operator.ok('brain_delete', { name: 'archive', confirm: 'archive' });
  expect(await operator.ok('brain_geo_load', { barcode })).toMatchObject({ found: false });
  await operator.ok('brain_push', { name: 'archive', create: true });
  expect(await operator.ok('brain_geo_list')).toMatchObject({ keys: [], brain: 'archive' });
});

const STORES = [
  ['svc_memory_address', { data: 'x' }],
  ['brain_geo_store', { key: 'k', data: 'x' }],
] as const;

it.each(STORES)('%s asks the boundary of the brain', async (tool, args) => {
  const { barcode } = await operator.ok('svc_memory_address', { data: 'secret' });
  expect(await ann.no(tool, { ...args, brain: 'none' })).toMatchObject({ code: 'BRAIN_LOAD_FAIL' });
  expect(await testCaller(nodeNow, VIEWER).no(tool, args)).toMatchObject({ code: 'FORBIDDEN' });
  expect(await testCaller(nodeNow, {}).no(tool, args)).toMatchObject({ code: 'UNAUTHORIZED' });
  bed.registry.setPolicy('brain:svc', { container: 'acme', readableBy: [], writableBy: ['role:admin'] });
  expect(await ann.no(tool, args)).toMatchObject({ code: 'RLS_DENIED' });
  expect(await ann.ok('svc_memory_locate', { barcode })).toMatchObject({ found: true });
  bed.registry.setPolicy('brain:svc', { container: 'beta', readableBy: [], writableBy: [] });
  expect(await ann.no(tool, args)).toMatchObject({ code: 'BRAIN_LOAD_FAIL' });
  expect(await ann.no('brain_geo_list')).toMatchObject({ code: 'BRAIN_LOAD_FAIL' });
  expect(await ann.ok('svc_memory_locate', { barcode })).toMatchObject({ found: false });
  expect(await ann.ok('brain_geo_brains')).toEqual({ brains: [] });
});
