import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { BlobReader } from '../git/blob-reader.ts';
import { commitFiles, makeTestBed } from '../../testing/git-test-bed.ts';
import type { Repository } from '../git/repository.ts';
import { commitView } from './branch-view.ts';

class CountingReader extends BlobReader {
  reads = 0;

  override read(oid: string): Promise<Buffer | null> {
    this.reads += 1;
    return super.read(oid);
  }
}

const FILES = 400;

test('a page of a commit reads the blobs of that page alone, and the next one reads them anew', async () => {
  await using bed = await makeTestBed();
  const names = Array.from({ length: FILES }, (_, index) => `d/n${index.toString().padStart(3, '0')}.md`);
  const { commit } = await commitFiles(bed.repository, 'main', Object.fromEntries(names.map((name) => [name, name])));
  using blobs = new CountingReader(bed.repository.git, bed.repository.gitDir);
  const repository: Repository = { ...bed.repository, blobs, [Symbol.dispose]: () => {} };
  const view = commitView(repository, commit, () => {
    throw new Error('nobody searches');
  });
  const page = async (after: string, limit: number): Promise<string[]> => {
    const found: string[] = [];
    for await (const { file } of view.files((path) => path > after)) {
      if (found.length === limit) break;
      found.push(file);
    }
    return found;
  };

  await page('d/n999.md', 1); // the tree itself
  const before = blobs.reads;
  expect(await page('', 10)).toEqual(names.slice(0, 10));
  expect(await page('d/n009.md', 10)).toEqual(names.slice(10, 20));
  expect(blobs.reads - before).toBe(22);
  expect(await page('', FILES)).toEqual(names);
  await view.close();
});

test('a piece of a large file of a commit does not bring the file into memory', async () => {
  await using bed = await makeTestBed();
  const content = randomBytes(2_000_000).toString('hex');
  const { commit } = await commitFiles(bed.repository, 'main', { 'large.md': content });
  using blobs = new CountingReader(bed.repository.git, bed.repository.gitDir);
  const repository: Repository = { ...bed.repository, blobs, [Symbol.dispose]: () => {} };
  const view = commitView(repository, commit, () => {
    throw new Error('nobody searches');
  });
  await view.read('large.md');
  const before = blobs.reads;

  const piece = await view.readPiece('large.md', { offset: 3_999_990, length: 1000 });
  expect(Buffer.from(piece ?? []).toString()).toBe(content.slice(3_999_990));
  expect(blobs.reads).toBe(before);
  await view.close();
});
