/** What of a person's no tool writes over is removed where its bytes are kept, through the dispatcher and against the disk. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { bedOfFile } from '../../testing/bed-of-file.ts';
import { testCaller } from '../../testing/brain-test-bed.ts';

const bed = await bedOfFile();
const node = await bed.start();
const user = testCaller(() => node, null);
const root = () => join(bed.dataDir, 'brains', 'large');

test('a large file goes once a commit has it; what no tool removes is told with why', async () => {
  await user.ok('brain_switch', { name: 'large', create: true });
  const rm = (path: string) => user.no('svc_storage_rm', { path });
  mkdirSync(join(root(), 'a'));
  writeFileSync(join(root(), 'large.txt'), Buffer.alloc(2_500_000, 'text'));
  writeFileSync(join(root(), 'a', 'large.txt'), Buffer.alloc(1_500_000, 'then'));
  expect(await rm('large.txt')).toMatchObject({ code: 'E_CONFLICT', error: expect.stringContaining('svc_commit') });
  expect(await user.no('svc_storage_rm', { path: 'a', recursive: true })).toMatchObject({ code: 'E_CONFLICT' });
  const { commit } = await user.ok('svc_commit', { message: 'large' });
  writeFileSync(join(root(), 'large.txt'), Buffer.alloc(2_500_000, 'else'));
  expect(await rm('large.txt')).toMatchObject({ code: 'E_CONFLICT' });
  writeFileSync(join(root(), 'large.txt'), Buffer.alloc(2_500_000, 'text'));
  await user.ok('svc_branch_is_dirty', {});
  expect(await user.ok('svc_storage_rm', { path: 'large.txt' })).toMatchObject({ removed: true, files: 1 });
  expect(await user.ok('svc_storage_rm', { path: 'a', recursive: true })).toMatchObject({ removed: true, files: 1 });
  expect(await user.ok('svc_commit', { message: 'gone' })).toMatchObject({ count: 2 });
  expect(await user.ok('svc_storage_read', { path: 'large.txt', encoding: 'base64', at: commit })).toMatchObject({
    bytes: 2_500_000,
  });

  writeFileSync(join(root(), 'huge.bin'), '');
  truncateSync(join(root(), 'huge.bin'), 50 * 1024 * 1024 + 1);
  symlinkSync('nowhere', join(root(), 'link'));
  expect(await rm('huge.bin')).toMatchObject({
    code: 'E_CONFLICT',
    error: 'What lies at huge.bin is larger than 50 MiB; only a person removes it, in the folder of the brain.',
  });
  expect(await rm('link')).toMatchObject({ code: 'E_CONFLICT', error: expect.stringContaining('symbolic link') });
  expect(existsSync(join(root(), 'huge.bin'))).toBe(true);
  expect(await rm('nothing')).toMatchObject({ code: 'E_FILE_ABSENT' });
});

test('a large file that is no text is kept like a large text: no tool writes over it, and it goes once a commit has it', async () => {
  await user.ok('brain_switch', { name: 'large', create: true });
  const film = Buffer.alloc(2_500_000, 255);
  const file = join(root(), 'film.mp4');
  writeFileSync(file, film);
  await user.ok('brain_write', { name: 'note', content: 'small' });
  // Whether or not its bytes have been looked at.
  for (const look of [() => Promise.resolve(), () => user.ok('svc_branch_is_dirty', {})]) {
    await look();
    for (const refused of [
      await user.no('svc_storage_write', { path: 'film.mp4', content: 'x' }),
      await user.no('svc_storage_cp', { src: 'note.md', dest: 'film.mp4', overwrite: true }),
      await user.no('svc_storage_rm', { path: 'film.mp4' }),
    ])
      expect(refused).toMatchObject({
        code: 'E_CONFLICT',
        error: expect.stringContaining('What lies at film.mp4 is larger than 1 MiB; '),
      });
    expect(await user.no('svc_storage_cp', { src: 'film.mp4', dest: 'b.mp4' })).toMatchObject({ code: 'E_LIMIT' });
    expect(readFileSync(file).equals(film)).toBe(true);
  }
  await user.ok('svc_commit', { message: 'film' });
  expect(await user.no('svc_storage_write', { path: 'film.mp4', content: 'x' })).toMatchObject({ code: 'E_CONFLICT' });
  expect(await user.ok('svc_storage_rm', { path: 'film.mp4' })).toMatchObject({ removed: true, files: 1 });
});

test('what is in the last commit and was not put into the working tree is not told as absent', async () => {
  await user.ok('brain_switch', { name: 'large', create: true });
  const git = (args: readonly string[], input = '') =>
    execFileSync('git', ['-c', 'user.name=p', '-c', 'user.email=p@x', ...args], {
      cwd: root(),
      input,
      encoding: 'latin1',
    }).trim();
  const tree = git(['mktree'], `160000 commit ${git(['rev-parse', 'main'])}\tother.md\n`);
  git(['update-ref', 'refs/heads/other', git(['commit-tree', tree, '-p', 'main'], 'a repository inside')]);
  const branch = 'other';
  await user.ok('brain_write', { name: 'x', content: 'x', branch });
  expect(await user.ok('brain_list_files', { branch })).toMatchObject({
    files: [{ file: 'other.md', kind: 'other' }, { file: 'x.md' }],
  });
  for (const refused of [
    await user.no('svc_storage_rm', { path: 'other.md', branch }),
    await user.no('brain_delete_file', { name: 'other.md', branch }),
  ])
    expect(refused).toMatchObject({
      code: 'E_CONFLICT',
      error: expect.stringMatching(/^What the last commit has at other\.md .*; only a person removes it, with git\.$/),
    });
  expect(await user.no('svc_storage_rm', { path: 'none.md', branch })).toMatchObject({ code: 'E_FILE_ABSENT' });
  expect(await user.no('svc_storage_rm', { path: 'other.md/below', branch })).toMatchObject({ code: 'E_FILE_ABSENT' });
});
