import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { leadsAstray, obstacleAt } from './obstacle.ts';

const root = mkdtempSync(join(tmpdir(), 'obstacle-'));
afterAll(() => rmSync(root, { recursive: true }));

it('obstacles are links and things that are no directories', () => {
  mkdirSync(join(root, 'dir'));
  writeFileSync(join(root, 'dir', 'plain.md'), '');
  symlinkSync('/etc', join(root, 'link'));
  symlinkSync('/etc/hostname', join(root, 'dir', 'link.md'));
  const free = ['dir/plain.md', 'dir/new.md', 'new/deep/file.md', 'new.md'];
  expect(free.map((path) => obstacleAt(root, path))).toEqual([null, null, null, null]);
  const astray = ['link/hostname', 'link/new/deep.md', 'dir/plain.md/below.md', 'dir/link.md/below.md'];
  for (const path of astray)
    expect([leadsAstray(root, path), obstacleAt(root, path)]).toEqual([true, expect.any(String)]);
  const taken = ['dir/link.md', 'dir', 'link'];
  for (const path of taken)
    expect([leadsAstray(root, path), obstacleAt(root, path)]).toEqual([false, expect.any(String)]);
});
