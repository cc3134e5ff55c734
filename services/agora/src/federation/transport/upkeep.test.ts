/** Who is said to have left: nobody whom this node could not have heard. */
import { createLog } from '@svc/runtime/log.ts';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ONLINE_MS } from '../domain/peer.ts';
import { Traffic } from './traffic.ts';
import { Upkeep } from './upkeep.ts';

const SOON_MS = ONLINE_MS - 4000;
const place = { hears: true, hasDatabase: true, looks: 0 };
let upkeep: Upkeep;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
  Object.assign(place, { hears: true, hasDatabase: true, looks: 0 });
  const now = () => Date.now();
  const answering = async () => {
    if (!place.hasDatabase) throw new Error('the database is away');
  };
  upkeep = new Upkeep({
    store: {
      change: () => Promise.reject(new Error('nothing was counted')),
      forgetNonces: answering,
      async tellLeft() {
        await answering();
        place.looks += 1;
      },
    },
    peers: { refresh: answering },
    traffic: new Traffic(now),
    log: createLog('silent', {}),
    hears: () => place.hears,
    now,
  });
  upkeep.start();
});
afterEach(async () => {
  await upkeep.close();
  vi.useRealTimers();
});

/** How often it was looked who left, in the next so many ms. */
async function looksWithin(ms: number): Promise<number> {
  const before = place.looks;
  await vi.advanceTimersByTimeAsync(ms);
  return place.looks - before;
}

async function expectPatience(): Promise<void> {
  expect(await looksWithin(SOON_MS)).toBe(0);
  expect(await looksWithin(ONLINE_MS)).toBeGreaterThan(0);
}

test('a node that has just begun to hear gives everybody the time in which one that is there is heard', expectPatience);

test('so does one that was cut off from the others', async () => {
  await looksWithin(2 * ONLINE_MS);
  place.hears = false;
  expect(await looksWithin(2 * ONLINE_MS)).toBeLessThanOrEqual(1);
  place.hears = true;
  await expectPatience();
});

test('so does one that could write down nothing that it heard', async () => {
  await looksWithin(2 * ONLINE_MS);
  place.hasDatabase = false;
  await looksWithin(2 * ONLINE_MS);
  place.hasDatabase = true;
  await expectPatience();
});

test('so does one that stood still', async () => {
  await looksWithin(2 * ONLINE_MS);
  vi.setSystemTime(Date.now() + 2 * ONLINE_MS);
  await expectPatience();
});

test('so does one whose clock was set back, and from then on, not from when it would be that late again', async () => {
  await looksWithin(2 * ONLINE_MS);
  vi.setSystemTime(Date.now() - 100 * ONLINE_MS);
  await expectPatience();
});
