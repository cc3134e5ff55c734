/** What the collection after a start leaves behind it: a process as fast as before. */
import { setImmediate as turnOfLoop, setTimeout as sleep } from 'node:timers/promises';
import { getHeapSpaceStatistics } from 'node:v8';
import { expect, test } from 'vitest';
import { releaseGarbageWhenIdle } from './garbage-of-start.ts';

const AT_ONCE = 1000;
const BATCHES = 300;
const TURNS = 60_000;

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

async function releaseGarbage(): Promise<void> {
  let isGone = false;
  const watched = new FinalizationRegistry(() => (isGone = true));
  (() => watched.register({}, 0))();
  releaseGarbageWhenIdle(50);
  while (!isGone) await sleep(100);
}

function oldSpaceUsed(): number {
  return getHeapSpaceStatistics().find(({ space_name: name }) => name === 'old_space')?.space_used_size ?? 0;
}

const thing = () => Array.from({ length: 100 }, (_, index) => ({ index }));

/** By which factor what is there has grown at most before it was collected, while each thing is replaced by another in turn. */
async function growth(things: unknown[]): Promise<number> {
  const before = oldSpaceUsed();
  let most = before;
  for (let turn = 0; turn < TURNS; turn += 1) {
    things[turn % things.length] = thing();
    if (turn % AT_ONCE > 0) continue;
    await turnOfLoop();
    most = Math.max(most, oldSpaceUsed());
  }
  return most / before;
}

test('ticks cost after it hardly more than before it', async () => {
  const before = await costOfTicks();
  await releaseGarbage();
  expect(await costOfTicks()).toBeLessThan(before * 2.2);
});

test('what is in use for long doubles after it until it is collected again', async () => {
  const things = Array.from({ length: 20_000 }, thing);
  await releaseGarbage();
  const most = await growth(things);
  expect(most).toBeGreaterThan(1.5);
  expect(most).toBeLessThan(2.7);
});
