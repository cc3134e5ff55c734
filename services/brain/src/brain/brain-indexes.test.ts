import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type BrainNode, type BrainTestBed, openBrainTestBed } from '../../testing/brain-test-bed.ts';

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

const cache = () => join(bed.dataDir, 'cache', 'svc');
const found = async (query: string, over = {}) => {
  const { results } = await node.call('svc_search', { query, ...over });
  return (results as { file: string }[]).map(({ file }) => file);
};
const index = async () => (await node.call('svc_health', {}))['index'];

it('is in memory from the first search on, and out of it with the brain; its snapshot brings it back', async () => {
  await node.call('brain_write', { name: 'a', content: 'a quagga grazes' });
  await node.call('brain_corpus', {});
  expect(await index()).toMatchObject({ rows: 0, pending: 1, bytes: 0 });
  expect(await found('quagga')).toEqual(['a.md']);
  await node.call('brain_write', { name: 'b', content: 'an okapi grazes' });
  expect(await found('okapi')).toEqual(['b.md']);
  expect(await index()).toMatchObject({ rows: 2, pending: 0, bytes: expect.any(Number) });
  await node.stop();
  expect(readdirSync(cache())).toEqual(['main.search']);
  writeFileSync(join(bed.dataDir, 'brains', 'svc', 'a.md'), 'an okapi sleeps');
  node = await bed.start();
  expect((await found('okapi')).toSorted()).toEqual(['a.md', 'b.md']);
  expect(await found('quagga')).toEqual([]);
});

it('finds in a past state what was there', async () => {
  await node.call('brain_write', { name: 'a', content: 'a quagga grazes' });
  const { commit } = await node.call('svc_commit', { message: 'one' });
  await node.call('brain_write', { name: 'a', content: 'an okapi grazes' });
  await node.call('svc_commit', { message: 'two' });
  await node.call('svc_create_branch', { name: 'past', from: commit });
  expect(await found('quagga', { branch: 'past' })).toEqual(['a.md']);
  expect(await found('okapi', { branch: 'past' })).toEqual([]);
  expect(await found('quagga')).toEqual([]);
});

it('removes snapshots of branches that are no more', async () => {
  await node.call('brain_write', { name: 'a', content: 'a quagga grazes' });
  await found('quagga');
  await node.stop();
  mkdirSync(join(cache(), 'folder'));
  for (const stray of ['gone.search', 'main.index', 'main.search.tmp']) writeFileSync(join(cache(), stray), 'x');
  node = await bed.start();
  await node.call('brain_read', { name: 'a' });
  expect(readdirSync(cache())).toEqual(['main.search']);
  expect(existsSync(join(cache(), 'main.search'))).toBe(true);
});
