/** Differences of files that their lines do not tell. */
import { execFileSync } from 'node:child_process';
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openBrainTestBed } from '../../testing/brain-test-bed.ts';

test('what makes a file executable, and an empty file, are shown as git applies them', async () => {
  await using bed = await openBrainTestBed();
  const node = await bed.start();
  const root = join(bed.dataDir, 'brains', 'svc');
  const git = (args: string[], input = '') => execFileSync('git', args, { cwd: root, input, encoding: 'utf8' });
  for (const name of ['run it.txt', 'both.txt']) await node.call('brain_write', { name, content: 'one\n' });
  await node.call('brain_write', { name: 'goes.txt', content: '' });
  const { commit: from } = await node.call('svc_commit', { message: 'before' });
  await node.call('brain_write', { name: 'both.txt', content: 'two\n' });
  await node.call('brain_write', { name: 'new.txt', content: 'new\n' });
  await node.call('brain_write', { name: 'empty.txt', content: '' });
  await node.call('brain_delete_file', { name: 'goes.txt' });
  for (const name of ['run it.txt', 'both.txt', 'new.txt']) chmodSync(join(root, name), 0o755);

  const uncommitted = await node.call('svc_diff', {});
  const dirty = await node.call('svc_branch_is_dirty', {});
  type Rows = { file: string; change: string; patch: string }[];
  const rows = uncommitted['files'] as Rows;
  expect(rows.map(({ file, change }) => ({ file, change }))).toEqual(dirty['files']);
  expect(rows.find(({ file }) => file === 'run it.txt')).toMatchObject({ change: 'modified', added: 0, removed: 0 });
  const { commit: to } = await node.call('svc_commit', { message: 'after' });
  const committed = await node.call('svc_diff', { from, to });
  expect(committed['files']).toEqual(rows);

  git(['read-tree', String(from)]);
  git(['apply', '--cached'], rows.map(({ patch }) => patch).join(''));
  expect(git(['write-tree']).trim()).toBe(git(['rev-parse', `${String(to)}^{tree}`]).trim());
  git(['read-tree', 'HEAD']);
  expect(await node.call('svc_diff', { from, to, bytes: 0 })).toMatchObject({
    files: rows.map(({ file }) => ({ file, patch: '', truncated: true })),
  });
  await node.stop();
});
