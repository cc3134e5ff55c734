/** Folders in folders, deeper than anybody looks. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { openBrainTestBed } from '../../testing/brain-test-bed.ts';

const below = (folders: number): string => `${Array.from({ length: folders }, () => 'd').join('/')}/deep.md`;

test('a file that lies too deep to be looked at stays in every commit', async () => {
  await using bed = await openBrainTestBed();
  const node = await bed.start();
  const root = join(bed.dataDir, 'brains', 'svc');
  const git = (...args: string[]) => execFileSync('git', args, { cwd: root, encoding: 'utf8' });
  await node.call('brain_write', { name: 'first', content: 'x' });
  await node.call('svc_commit', { message: 'first' });
  for (const path of [below(64), below(65)]) {
    mkdirSync(join(root, dirname(path)), { recursive: true });
    writeFileSync(join(root, path), path);
  }
  git('add', '--all');
  git('-c', 'user.name=p', '-c', 'user.email=p@example.org', 'commit', '--quiet', '--message', 'deep');
  const left = [dirname(below(65)), below(65)].map((file) => ({ file, kind: 'other', problem: 'lies in 64 folders' }));
  expect(await node.call('svc_branch_is_dirty', {})).toMatchObject({ dirty: false, left });
  await node.call('brain_write', { name: 'second', content: 'x' });
  expect(await node.call('svc_commit', { message: 'second' })).toMatchObject({ count: 1 });
  expect(git('ls-tree', '-r', '--name-only', 'HEAD').trim().split('\n').sort()).toEqual(
    [below(64), below(65), 'first.md', 'second.md'].sort(),
  );
  expect(git('status', '--porcelain')).toBe('');
  await node.stop();
});
