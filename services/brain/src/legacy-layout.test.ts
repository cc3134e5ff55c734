import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type BrainNode, type BrainTestBed, openBrainTestBed } from '../testing/brain-test-bed.ts';

let bed: BrainTestBed;
let node: BrainNode | null = null;

beforeEach(async () => {
  bed = await openBrainTestBed();
});
afterEach(async () => {
  await node?.stop();
  node = null;
  await bed[Symbol.asyncDispose]();
});

const place = (path: string, content: string | Uint8Array) => {
  mkdirSync(join(bed.dataDir, path, '..'), { recursive: true });
  writeFileSync(join(bed.dataDir, path), content);
};
const inBrain = (path: string) => readFileSync(join(bed.dataDir, 'brains', 'svc', path), 'utf8');

it('imports flat files and categories by copy, under legal names, in one commit, once', async () => {
  place('identity.md', 'who I am');
  place('lessons/first.md', 'a lesson');
  place('odd names/what?.md', 'odd');
  node = await bed.start();
  expect(await node.call('brain_migration_status', {})).toMatchObject({
    markerVersion: 3,
    upToDate: true,
    legacy: false,
  });
  expect([inBrain('identity.md'), inBrain('lessons/first.md')]).toEqual(['who I am', 'a lesson']);
  expect(readFileSync(join(bed.dataDir, 'identity.md'), 'utf8')).toBe('who I am');
  const listed = await node.call('brain_list_files', { category: 'imported' });
  expect(listed['files']).toHaveLength(1);
  expect(await node.call('svc_branch_is_dirty', {})).toMatchObject({ dirty: false });
  await node.stop();
  place('identity.md', 'changed after the import');
  node = await bed.start();
  expect(inBrain('identity.md')).toBe('who I am');
});

it('does not take a damaged marker for a missing one', async () => {
  place('layout.json', '');
  await expect(bed.start()).rejects.toMatchObject({ code: 'BRAIN_LOAD_FAIL', status: 503 });
});

it('leaves no marker while a source cannot be read, says which, and completes after the repair; files of the brain win', async () => {
  place('good.md', 'good');
  place('broken.md', new Uint8Array([0xff, 0xfe, 0x00]));
  node = await bed.start();
  const waiting = await node.call('brain_migration_status', {});
  expect(waiting).toMatchObject({ markerVersion: null, upToDate: false, legacy: true });
  expect(waiting['guidance']).toContain('broken.md');
  expect(await node.call('svc_health', {})).toMatchObject({ status: 'degraded' });
  expect(inBrain('good.md')).toBe('good');
  await node.call('brain_write', { name: 'good', content: 'better' });
  await node.stop();
  place('broken.md', 'repaired');
  node = await bed.start();
  expect(await node.call('brain_migration_status', {})).toMatchObject({
    markerVersion: 3,
    legacy: false,
    guidance: null,
  });
  expect([inBrain('good.md'), inBrain('broken.md')]).toEqual(['better', 'repaired']);
});

it('does not open a directory that a newer version wrote', async () => {
  place('layout.json', JSON.stringify({ layout: 4, at: 0, imported: 0, kept: 0 }));
  await expect(bed.start()).rejects.toMatchObject({ code: 'BRAIN_LOAD_FAIL', status: 503 });
});
