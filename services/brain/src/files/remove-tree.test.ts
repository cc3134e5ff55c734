import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { removeTree } from './remove-tree.ts';

const FOLDERS = 40;
const FILES = 50;
/** Far fewer than there are files. */
const AT_ONCE = 100;

let root: string;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'remove-tree-'));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

test('asks the disk for a few things at once, and follows no link', async () => {
  const [tree, outside] = [join(root, 'tree'), join(root, 'outside')];
  mkdirSync(outside);
  writeFileSync(join(outside, 'kept'), 'kept');
  for (let folder = 0; folder < FOLDERS; folder += 1) {
    mkdirSync(join(tree, `d${folder}`, 'empty'), { recursive: true });
    for (let file = 0; file < FILES; file += 1) writeFileSync(join(tree, `d${folder}`, `f${file}`), 'x');
  }
  symlinkSync(outside, join(tree, 'link'));
  let most = 0;
  let isDone = false;
  const look = (): void => {
    most = Math.max(most, process.getActiveResourcesInfo().filter((name) => name.startsWith('FSReq')).length);
    if (!isDone) setImmediate(look);
  };
  look();
  await removeTree(tree);
  isDone = true;
  expect([existsSync(tree), existsSync(join(outside, 'kept'))]).toEqual([false, true]);
  expect(most).toBeLessThan(AT_ONCE);
  await removeTree(tree);
});
