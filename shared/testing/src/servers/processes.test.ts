import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { removeFolder, temporaryFolder } from './processes.ts';

test('the folder of a process that was killed goes when another one is made, and no other does', () => {
  const { pid } = spawnSync(process.execPath, ['-e', '']);
  const left = ['one', 'of-two-words'].map((name) => join(tmpdir(), `svc-test-${name}-${pid}-x`));
  const ours = temporaryFolder('still-used');
  const other = join(tmpdir(), `svc-test-${pid}`);
  for (const folder of [...left, other]) mkdirSync(folder);
  removeFolder(temporaryFolder('next'));
  expect([...left, ours, other].map((folder) => existsSync(folder))).toEqual([false, false, true, true]);
  for (const folder of [ours, other]) removeFolder(folder);
});
