import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
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
  for (const damaged of ['', 'null', '[]', '{"layout":"3"}', '{"layout":3,"previousBrain":7}']) {
    place('layout.json', damaged);
    await expect(bed.start(), damaged).rejects.toMatchObject({ code: 'BRAIN_LOAD_FAIL', status: 503 });
  }
});

it('follows no link, into a loop or out of the layout, and names it; what is no layout is left alone', async () => {
  const outside = mkdtempSync(join(tmpdir(), 'brain-outside-'));
  try {
    writeFileSync(join(outside, 'secret.md'), 'of somebody else');
    place('lessons/first.md', 'a lesson');
    place('lost+found/#7', 'of the file system');
    symlinkSync('.', join(bed.dataDir, 'lessons', 'again'));
    symlinkSync(outside, join(bed.dataDir, 'lessons', 'elsewhere'));
    symlinkSync(join(outside, 'secret.md'), join(bed.dataDir, 'note.md'));
    node = await bed.start();
    const { guidance } = await node.call('brain_migration_status', {});
    for (const name of ['3 files', 'again', 'elsewhere', 'note.md']) expect(guidance).toContain(name);
    expect(await node.call('brain_list_files', {})).toMatchObject({ files: [{ file: 'lessons/first.md' }] });
    await node.stop();
    for (const link of ['lessons/again', 'lessons/elsewhere', 'note.md']) rmSync(join(bed.dataDir, link));
    node = await bed.start();
    expect(await node.call('brain_migration_status', {})).toMatchObject({ markerVersion: 3, guidance: null });
  } finally {
    rmSync(outside, { recursive: true });
  }
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
