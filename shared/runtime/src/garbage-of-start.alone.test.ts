/** What the collection after a start leaves behind it: a process as fast as before. */
import { setImmediate as turnOfLoop, setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { releaseGarbageWhenIdle } from './garbage-of-start.ts';

const AT_ONCE = 1000;
const BATCHES = 300;

/** Processor time of many ticks, in their best moment: others on the machine only add to it. */
async function costOfTicks(): Promise<number> {
  let least = Infinity;
  for (let batch = 0; batch < BATCHES; batch += 1) {
    const before = process.cpuUsage();
    for (let tick = 0; tick < AT_ONCE; tick += 1) process.nextTick(() => {});
    await turnOfLoop();
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, user + system);
  }
  return least;
}

test('ticks cost after it hardly more than before it', async () => {
  const before = await costOfTicks();
  let isGone = false;
  const watched = new FinalizationRegistry(() => (isGone = true));
  (() => watched.register({}, 0))();
  releaseGarbageWhenIdle(50);
  while (!isGone) await sleep(100);
  expect(await costOfTicks()).toBeLessThan(before * 2.2);
});
