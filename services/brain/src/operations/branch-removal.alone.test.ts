/** What a branch costs that goes: its files are known, so they are not read once more. */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { openBrainTestBed, testCaller } from '../../testing/brain-test-bed.ts';
import { CLOCK_STEP_MS } from '../files/file-stamp.ts';

const FILES = 24;
const FILE_BYTES = 512 * 1024;
const ALL_BYTES = FILES * FILE_BYTES;

/** All that this process has read, of files and of sockets. */
function bytesRead(): number {
  return Number(/rchar: (\d+)/.exec(readFileSync('/proc/self/io', 'utf8'))?.[1]);
}

test.runIf(process.platform === 'linux')('a deletion reads no file that has not changed', async () => {
  await using bed = await openBrainTestBed();
  const node = await bed.start();
  const { ok } = testCaller(() => node, null);
  await ok('svc_create_branch', { name: 'draft' });
  for (let number = 0; number < FILES; number += 1)
    await ok('brain_write', { name: `f${number}.md`, content: `${number}`.padEnd(FILE_BYTES, '.'), branch: 'draft' });
  await ok('svc_commit', { message: 'all', branch: 'draft' });
  await sleep(2 * CLOCK_STEP_MS); // what changed just now is read again, whatever its stamp says
  const before = bytesRead();
  expect(await ok('svc_branch_delete', { name: 'draft' })).toMatchObject({ deleted: true, setAside: false });
  const read = bytesRead() - before;
  await node.stop();
  expect(read).toBeLessThan(ALL_BYTES / 2);
});
