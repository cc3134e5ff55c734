/** What people store must not end the process: the index takes what there is memory for, and says what it left out. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CORPORA } from '@svc/testing/index-corpora.ts';
import { expect, test } from 'vitest';
import { openBrainTestBed, testCaller } from '../../testing/brain-test-bed.ts';

const MEBIBYTE = 1024 * 1024;
const FILES = 6;

test('an index that is full leaves files out, tells of it, refuses more text, and goes on when there is room', async () => {
  const words = CORPORA.find(({ name }) => name === 'distinct words of four letters');
  await using bed = await openBrainTestBed();
  const node = await bed.start({ SVC_SEARCH_MEMORY_MIB: '32' });
  const { ok, no } = testCaller(() => node, null);
  const place = (name: string): string => join(bed.dataDir, 'brains', 'svc', name);
  const found = async (): Promise<number> => {
    const queries = Array.from({ length: FILES }, (_, file) => `canary${file}`);
    const answers = await Promise.all(queries.map((query) => ok('svc_search', { query })));
    return answers.filter(({ total }) => total === 1).length;
  };
  const problems = async () =>
    ((await ok('svc_health'))['problems'] as { code: string; text: string }[]).map(({ code }) => code);
  await ok('brain_write', { name: 'small', content: 'before' });
  for (let file = 0; file < FILES; file += 1) {
    writeFileSync(place(`big${file}.txt`), `canary${file} ${words?.file(file).content}`);
  }

  await expect.poll(found, { timeout: 60_000 }).toBeGreaterThan(0);
  expect(await found()).toBeLessThan(FILES);
  const { bytes } = (await ok('svc_health'))['index'] as { bytes: number };
  // One file may be too much: whether there is room is known afterwards.
  expect(bytes).toBeLessThan(32 * MEBIBYTE * 1.6);
  expect(await problems()).toContain('E_QUOTA');
  expect(await no('brain_write', { name: 'more', content: 'text' })).toMatchObject({
    code: 'E_QUOTA',
    error: expect.stringContaining('SVC_SEARCH_MEMORY_MIB') as string,
  });
  expect(await ok('brain_write', { name: 'small', content: 'less' })).toMatchObject({ changed: true });

  for (let file = 1; file < FILES; file += 1) rmSync(place(`big${file}.txt`));
  // As long as not all of them are known to be gone, what was left out is tried in vain now and then.
  const more = async () => {
    const { created = false } = await node.call('brain_write', { name: 'more', content: 'text' });
    return created;
  };
  await expect.poll(more, { timeout: 60_000 }).toBe(true);
  await expect.poll(problems, { timeout: 60_000 }).not.toContain('E_QUOTA');
  await expect.poll(found, { timeout: 60_000 }).toBe(1);
  await node.stop();
}, 180_000);
