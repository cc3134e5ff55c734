import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Subject } from '@svc/contract/subject.ts';
import { poolClient } from '@svc/runtime/transaction.ts';
import { type BrainNode, type BrainTestBed, openBrainTestBed, testCaller } from '../../../testing/brain-test-bed.ts';
import { fillBrain, fullDatabase } from '../../../testing/refusing-disk.ts';
import { sweepAddresses } from '../address-store.ts';

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

const operator = testCaller(() => node, null);
const ANN: Subject = { workspace: 'acme', userId: 'ann', agentId: 'ann', roles: ['editor'], verified: true };
const ann = testCaller(() => node, ANN);
const remember = (key: string, content: string, more = {}) =>
  operator.ok('svc_geometry_remember', { category: 'city', key, content, ...more });
const sql = (text: string) => poolClient(bed.database.pool).$executeRawUnsafe(text);

it('finds a document by its place, its key and its address', async () => {
  const rome = await remember('rome', 'x');
  expect(rome).toMatchObject({ stored: true, file: 'geometry/city/rome.md', changed: true, category: 'city' });
  const { barcode } = rome;
  for (const brainPath of ['city/rome', barcode, String(barcode).toLowerCase()])
    expect(await operator.ok('svc_geometry_recall', { brainPath })).toMatchObject({
      found: true,
      content: 'x',
      file: 'geometry/city/rome.md',
      barcode,
      brain: 'svc',
    });
  expect(await remember('roma', 'x')).toMatchObject({ barcode });
  expect(await operator.ok('svc_geometry_knows', { key: barcode })).toMatchObject({
    known: true,
    places: [{ file: 'geometry/city/roma.md' }, { file: 'geometry/city/rome.md' }],
  });
  expect(await operator.ok('svc_geometry_knows', { key: 'rome' })).toMatchObject({
    places: [{ file: 'geometry/city/rome.md', barcode }],
  });
  expect(await operator.ok('svc_geometry_knows', { key: 'paris' })).toEqual({ key: 'paris', known: false, places: [] });
  expect(await operator.no('svc_geometry_recall', { brainPath: 'rome' })).toMatchObject({ code: 'E_BARCODE_INVALID' });
  expect(await operator.ok('svc_geometry_recall', { brainPath: 'city/paris' })).toMatchObject({ found: false });
});

it('believes the files and not what it remembers of them', async () => {
  const first = await remember('rome', 'first');
  const second = await remember('rome', 'second');
  expect(await operator.ok('svc_geometry_recall', { brainPath: first['barcode'] })).toMatchObject({ found: false });
  expect(await operator.ok('svc_geometry_knows', { key: 'rome' })).toMatchObject({
    places: [{ barcode: second['barcode'] }],
  });
  await operator.ok('svc_commit', { message: 'second' });
  rmSync(join(bed.dataDir, 'brains', 'svc', 'geometry', 'city', 'rome.md'));
  expect(await operator.ok('svc_geometry_knows', { key: 'rome' })).toMatchObject({ known: false });
  const { commit } = await operator.ok('brain_current');
  expect(await operator.ok('svc_geometry_recall', { brainPath: second['barcode'], at: commit })).toMatchObject({
    content: 'second',
  });
});

it('shows nobody a document that it may not read', async () => {
  const { barcode } = await remember('rome', 'secret');
  bed.registry.setPolicy('brain:svc/geometry', { container: 'beta' });
  for (const brainPath of ['city/rome', barcode])
    expect(await ann.ok('svc_geometry_recall', { brainPath })).toMatchObject({ found: false, content: null });
  expect(await ann.ok('svc_geometry_knows', { key: 'rome' })).toMatchObject({ known: false });
});

it('is found by its address as stored data is, and counted, for who may read it', async () => {
  const { barcode } = await remember('rome', 'on seven hills');
  await remember('oslo', 'at a fjord');
  const found = { barcode, found: true, data: 'on seven hills', brain: 'svc' };
  expect(await ann.ok('svc_memory_locate', { barcode: String(barcode).toLowerCase() })).toEqual({
    ...found,
    storedAt: expect.any(Number),
  });
  expect(await ann.ok('brain_geo_load', { barcode })).toEqual({ ...found, keys: [] });
  expect(await ann.ok('svc_geometry_init')).toMatchObject({ objects: 0, documents: 2 });
  bed.registry.setPolicy('brain:svc/geometry/city/rome.md', { container: 'beta' });
  for (const tool of ['svc_memory_locate', 'brain_geo_load'])
    expect(await ann.ok(tool, { barcode })).toEqual({ barcode, found: false });
  expect(await ann.ok('svc_geometry_init')).toMatchObject({ documents: 1 });
  bed.registry.setPolicy('brain:svc/geometry/city/rome.md', null);
  // What the file does not say any more lies nowhere.
  await remember('rome', 'elsewhere');
  expect(await ann.ok('svc_memory_locate', { barcode })).toEqual({ barcode, found: false });
});

it('keeps some texts of each file, and counts what it keeps', async () => {
  for (let text = 0; text < 12; text += 1) await remember('rome', `text ${text}`);
  const count = async (query: string) =>
    (await poolClient(bed.database.pool).$queryRawUnsafe<{ n: number }[]>(query))[0]?.n;
  expect(await count('SELECT count(*)::int AS n FROM brain.brain_places')).toBe(8);
  expect(await count("SELECT items::int AS n FROM brain.brain_usage WHERE kind = 'places'")).toBe(8);
});

it('verifies what is stored', async () => {
  for (let data = 0; data < 40; data += 1) await operator.ok('svc_memory_address', { data });
  const { barcode } = await operator.ok('brain_geo_store', { key: 'k', data: 'x' });
  expect(await operator.ok('svc_geometry_init')).toEqual({
    initialized: true,
    scheme: 'sha256/100 base32 + check',
    objects: 41,
    keys: 1,
    documents: 0,
    brain: 'svc',
  });
  await sql(`UPDATE brain.brain_objects SET content = 'y'::bytea WHERE barcode = '${String(barcode)}'`);
  expect(await operator.no('svc_geometry_init')).toMatchObject({ code: 'E_ADDRESS_CORRUPT', barcodes: [barcode] });
});

it('refuses with a code what it cannot do, and changes nothing', async () => {
  const refused = (content = 'new') => operator.no('svc_geometry_remember', { category: 'city', key: 'new', content });
  await remember('rome', 'x');
  {
    await using _disk = await fullDatabase(bed.database);
    expect(await refused()).toMatchObject({ code: 'E_STATE_WRITE', stored: false });
  }
  expect(await operator.no('svc_geometry_remember', { category: '..', key: 'up', content: 'x' })).toMatchObject({
    code: 'VAF_PATH_BLOCKED',
  });
  expect(await operator.no('svc_geometry_recall', { brainPath: '../up' })).toMatchObject({ code: 'VAF_PATH_BLOCKED' });
  await sql("UPDATE brain.brain_places SET sha256 = repeat('a', 64)");
  expect(await refused('x')).toMatchObject({ code: 'E_ADDRESS_COLLISION' });
  await sql("UPDATE brain.brain_usage SET items = 100000 WHERE kind = 'places'");
  expect(await refused()).toMatchObject({ code: 'E_QUOTA' });
  expect(await operator.ok('svc_geometry_knows', { key: 'new' })).toMatchObject({ known: false });
  expect(await operator.no('svc_geometry_knows', { key: 'rome', branch: 'none' })).toMatchObject({
    code: 'E_BRANCH_ABSENT',
  });
  await sql("UPDATE brain.brain_usage SET items = 1 WHERE kind = 'places'");
  fillBrain(bed.dataDir, 'svc');
  await expect.poll(() => operator.ok('svc_branch_is_dirty')).toMatchObject({ left: [{ file: 'large.bin' }] });
  expect(await refused()).toMatchObject({ code: 'E_QUOTA' });
});

it('forgets what belonged to brains that are gone for good', async () => {
  const client = poolClient(bed.database.pool);
  const count = async () =>
    (await client.$queryRawUnsafe<{ n: number }[]>('SELECT count(*)::int AS n FROM brain.brain_objects'))[0]?.n;
  await operator.ok('svc_memory_address', { data: 'stays' });
  await operator.ok('brain_push', { name: 'research', create: true });
  await operator.ok('brain_geo_store', { key: 'k', data: 'goes' });
  await operator.ok('brain_delete', { name: 'research', confirm: 'research' });
  await sweepAddresses(client);
  expect(await count()).toBe(2);
  await sql('DELETE FROM brain.brain_deleted');
  await sweepAddresses(client);
  expect(await count()).toBe(1);
});
