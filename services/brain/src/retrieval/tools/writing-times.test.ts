/** When a file was written, where its working tree was made later than it. */
import { readdirSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { bedOfFile } from '../../../testing/bed-of-file.ts';
import { testCaller } from '../../../testing/brain-test-bed.ts';

const bed = await bedOfFile();
const node = await bed.start();
const { ok } = testCaller(() => node, null);

/** As a clone, a pull or a new working tree leaves a file that is older. */
const LATER = Date.UTC(2090, 0, 5) / 1_000;

beforeAll(async () => {
  await ok('brain_push', { name: 'tides', create: true });
  await ok('brain_write', { name: 'old', content: 'The tide turns.' });
  await ok('svc_commit', { message: 'old' });
  await ok('brain_write', { name: 'new', content: 'The tide turns, not committed.' });
  for (const entry of readdirSync(bed.dataDir, { recursive: true, withFileTypes: true })) {
    if (['old.md', 'new.md'].includes(entry.name)) utimesSync(join(entry.parentPath, entry.name), LATER, LATER);
  }
});

const filesFor = async (query: string, more: object = {}) => {
  const { results } = await ok('svc_search', { query, explain: true, ...more });
  return (results as { file: string }[]).map(({ file }) => file).toSorted();
};

test('is that of the commit where the file is as committed, else that of the file', async () => {
  await expect.poll(() => filesFor('tide since:2090')).toEqual(['new.md']);
  expect(await filesFor('tide until:2089')).toEqual(['old.md']);
  expect(await filesFor('tide until:2000')).toEqual([]);
  const { results } = await ok('svc_search', { query: 'tide', recency: 'strong', explain: true });
  const recency = (results as { file: string; explain: { parts: { recency: number } } }[]).map(
    ({ file, explain }) => [file, explain.parts.recency] as const,
  );
  expect(Object.fromEntries(recency)).toEqual({ 'new.md': 0.5, 'old.md': 0 });
});

test('is known of a branch without a working tree', async () => {
  await ok('svc_create_branch', { name: 'quiet' });
  expect(await filesFor('tide until:2089', { brain: 'tides', branch: 'quiet' })).toEqual(['old.md']);
});
