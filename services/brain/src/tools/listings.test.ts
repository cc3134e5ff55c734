/** What a page of a large brain costs, through the dispatcher. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { openBrainTestBed, testCaller } from '../../testing/brain-test-bed.ts';
import { FileTable } from '../files/file-table.ts';

const FILES = 300;
const PAGE = 10;

test('a page judges its own names alone, however many files there are, and leaves none out', async () => {
  await using bed = await openBrainTestBed();
  const node = await bed.start();
  const { ok } = testCaller(() => node, null);
  await ok('brain_switch', { name: 'listed', create: true });
  const folder = join(bed.dataDir, 'brains/listed/d');
  mkdirSync(folder);
  const names = Array.from({ length: FILES }, (_, number) => `d/n${number.toString().padStart(3, '0')}.md`);
  for (const name of names) writeFileSync(join(bed.dataDir, 'brains/listed', name), 'x');
  const page = async (cursor?: unknown) =>
    (await ok('brain_list_files', { limit: PAGE, ...(cursor === undefined ? {} : { cursor }) })) as {
      files: { file: string }[];
      nextCursor?: string;
    };
  await page();
  const judging = vi.spyOn(FileTable.prototype, 'problemOf');
  const found: string[] = [];
  let cursor: string | undefined;
  do {
    judging.mockClear();
    const { files, nextCursor } = await page(cursor);
    expect(judging.mock.calls.length).toBeLessThanOrEqual(PAGE + 1);
    found.push(...files.map(({ file }) => file));
    cursor = nextCursor;
  } while (cursor !== undefined);
  judging.mockRestore();
  await node.stop();
  expect(found).toEqual(names);
});
