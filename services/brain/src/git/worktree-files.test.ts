import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { blobId } from './blob-id.ts';
import { makeTestBed, type TestBed, text } from '../../testing/git-test-bed.ts';
import { readBlob } from './objects.ts';
import { isGone, storeFiles } from './worktree-files.ts';

let bed: TestBed;
let root: string;
beforeEach(async () => {
  bed = await makeTestBed();
  root = join(bed.root, 'tree');
  mkdirSync(root);
});
afterEach(() => bed[Symbol.asyncDispose]());

it('stores files as they lie there, large ones too, and never reads through a link', async () => {
  mkdirSync(join(root, 'outside'));
  writeFileSync(join(root, 'outside', 'secret.md'), 'secret');
  writeFileSync(join(root, 'plain.md'), 'plain\r\n');
  writeFileSync(join(root, 'run.sh'), '#!');
  chmodSync(join(root, 'run.sh'), 0o755);
  symlinkSync('outside/secret.md', join(root, 'link.md'));
  symlinkSync(join(root, 'outside'), join(root, 'was-a-directory'));
  spawnSync('mkfifo', [join(root, 'pipe')]);
  const large = Buffer.alloc(3 * 1024 * 1024, 'large ');
  writeFileSync(join(root, 'large.bin'), large);
  const paths = [
    'plain.md',
    'run.sh',
    'link.md',
    'was-a-directory/secret.md',
    'pipe',
    'outside',
    'absent',
    'large.bin',
  ];
  const stored = await storeFiles(bed.repository, root, paths);
  const shown = Array.from(stored, ([path, file]) => [path, file && `${file.entry.mode} ${file.entry.oid}`]);
  expect(Object.fromEntries(shown)).toEqual({
    'plain.md': `100644 ${blobId(text('plain\r\n'))}`,
    'run.sh': `100755 ${blobId(text('#!'))}`,
    'link.md': `120000 ${blobId(text('outside/secret.md'))}`,
    'was-a-directory/secret.md': null,
    pipe: null,
    outside: null,
    absent: null,
    'large.bin': `100644 ${blobId(large)}`,
  });
  expect(await readBlob(bed.repository, blobId(large))).toEqual(large);
  expect((await readBlob(bed.repository, blobId(text('outside/secret.md')))).toString()).toBe('outside/secret.md');
});

it('does not read again what has not changed, and reads what has', async () => {
  writeFileSync(join(root, 'a.md'), 'a');
  writeFileSync(join(root, 'b.md'), 'b');
  await delay(50); // past the step of the file system's clock
  const known = await storeFiles(bed.repository, root, ['a.md', 'b.md']);
  writeFileSync(join(root, 'b.md'), 'c');
  const again = await storeFiles(bed.repository, root, ['a.md', 'b.md'], { known });
  expect(again.get('a.md')).toBe(known.get('a.md'));
  expect(again.get('b.md')?.entry.oid).toBe(blobId(text('c')));
});

it('takes a path for gone when nothing is there, or a directory, or the way to it ends', () => {
  mkdirSync(join(root, 'dir'));
  writeFileSync(join(root, 'dir', 'x'), '');
  symlinkSync('dir', join(root, 'link'));
  expect(
    ['dir', 'dir/x', 'dir/y', 'dir/x/y', 'link', 'link/x', 'no'].filter((path) => isGone(root, path, '100644')),
  ).toEqual(['dir', 'dir/y', 'dir/x/y', 'link/x', 'no']);
  expect(['dir', 'no', 'link'].filter((path) => isGone(root, path, '160000'))).toEqual(['no']);
  rmSync(join(root, 'dir'), { recursive: true });
});

it('takes a large file that is shortened while git reads it as what it has become', async () => {
  const file = join(root, 'large.bin');
  writeFileSync(file, randomBytes(32 * 1024 * 1024));
  const storing = storeFiles(bed.repository, root, ['large.bin']);
  await delay(150);
  truncateSync(file, 10);
  const stored = (await storing).get('large.bin');
  expect(stored?.entry.oid).toBe(blobId(readFileSync(file)));
});
