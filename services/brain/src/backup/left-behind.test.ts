/** Something among the leftovers of dead processes that the disk does not let go of: it stays, and keeps nothing else back. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BrainTestBed, openBrainTestBed, testCaller } from '../../testing/brain-test-bed.ts';
import { digTooDeep } from '../../testing/too-deep.ts';

let bed: BrainTestBed;
const shelf = () => join(bed.dataDir, 'backups');
const stuck = () => join(shelf(), '.svc-dead~bak_1');
const light = () => join(shelf(), '.svc-gone~bak_2');

beforeAll(async () => {
  bed = await openBrainTestBed();
  mkdirSync(stuck(), { recursive: true });
  digTooDeep(stuck());
});
afterAll(async () => {
  execFileSync('rm', ['-rf', stuck()]);
  await bed[Symbol.asyncDispose]();
});

test('a leftover that cannot be removed keeps no node from starting, no backup from being made, and no other where it is', async () => {
  writeFileSync(light(), '');
  const node = await bed.start();
  expect(existsSync(light())).toBe(false);
  writeFileSync(light(), '');
  const operator = testCaller(() => node, null);
  await operator.ok('svc_brain_backup', { path: 'kept' });
  expect(existsSync(join(shelf(), 'kept.svcb'))).toBe(true);
  expect(existsSync(light())).toBe(false);
  expect(existsSync(stuck())).toBe(true);
  await node.stop();
});
