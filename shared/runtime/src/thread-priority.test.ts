import { constants, getPriority } from 'node:os';
import { Worker } from 'node:worker_threads';
import { afterEach, expect, test } from 'vitest';

const MODULE = new URL('./thread-priority.ts', import.meta.url).href;
/** `priority`: that of the thread before. */
const sourceWith = (priority: number): string => `
  import { readlinkSync } from 'node:fs';
  import { setPriority, getPriority } from 'node:os';
  import { parentPort } from 'node:worker_threads';
  import { letOthersGoFirst } from '${MODULE}';
  const id = Number(readlinkSync('/proc/thread-self').split('/').at(-1));
  if (getPriority(id) < ${priority}) setPriority(id, ${priority});
  parentPort.postMessage([letOthersGoFirst(), getPriority(id)]);
`;

const workers: Worker[] = [];
afterEach(async () => {
  for (const worker of workers.splice(0)) await worker.terminate();
});

function prioritiesIn(source: string): Promise<unknown> {
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(source)}`));
  workers.push(worker);
  return new Promise((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
  });
}

const { PRIORITY_BELOW_NORMAL, PRIORITY_LOW } = constants.priority;

test.skipIf(process.platform !== 'linux').each([
  ['one that is as important as all others', getPriority(), Math.max(getPriority(), PRIORITY_BELOW_NORMAL)],
  ['one that stands further back already stays there', PRIORITY_LOW, PRIORITY_LOW],
])('a thread steps back, and its process does not: %s', async (_name, before, after) => {
  const ofProcess = getPriority();
  expect(await prioritiesIn(sourceWith(before))).toEqual([after, after]);
  expect(getPriority()).toBe(ofProcess);
});
