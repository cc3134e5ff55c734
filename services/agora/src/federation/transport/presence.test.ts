import { createLocalBus } from '@svc/runtime/bus.local.ts';
import { createLog } from '@svc/runtime/log.ts';
import { systemClock } from '@svc/runtime/clock.ts';
import { expect, onTestFinished, test } from 'vitest';
import { startPresence } from './presence.ts';
import { Traffic } from './traffic.ts';
import { PRESENCE_SUBJECT } from './wire.ts';

const COUNTS = [0, 1, 2, 3, 4, 5];
const beaconOf = (node: string, count: number): string => `{"count":${count},"from":"${node}"}`;

test('beacons that cannot be heard because the database is away are told of once', async () => {
  const bus = createLocalBus();
  const told: string[] = [];
  let calls = 0;
  const presence = await startPresence({
    bus,
    self: 'alpha',
    traffic: new Traffic(() => systemClock.now()),
    log: createLog('error', {}, { write: (line) => void told.push(line) }),
    beacon: async () => beaconOf('nobody', 0),
    receiver: {
      onRequest: async () => null,
      async onPresence() {
        calls += 1;
        throw Object.assign(new Error('refused'), { code: '28P01' });
      },
    },
  });
  onTestFinished(() => presence.close());
  for (const count of COUNTS) bus.publish(PRESENCE_SUBJECT, beaconOf('beta', count));
  await expect.poll(() => calls).toBeGreaterThanOrEqual(COUNTS.length);
  expect(told).toHaveLength(1);
});
