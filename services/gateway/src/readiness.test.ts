import { type Announcement, STALE_AFTER_MS, SUBJECTS } from '@svc/contract/discovery.ts';
import { createLocalBus } from '@svc/runtime/bus.local.ts';
import { createFakeClock, type FakeClock } from '@svc/testing/fakes.ts';
import { expect, onTestFinished, test } from 'vitest';
import { createTestPlatform } from '../testing/platform.ts';
import { createGatewayMetrics } from './gateway-metrics.ts';
import { createReadiness, type Standing } from './readiness.ts';
import { startServiceDirectory } from './service-directory.ts';

const HOUR_MS = 3_600_000;

/** A gateway beside one service, whose every answer is said by the test. */
async function besideBooks(): Promise<{
  clock: FakeClock;
  announce(said?: Partial<Announcement>): void;
  become(status: 'ok' | 'fail'): void;
  check(): Promise<Standing>;
}> {
  const clock = createFakeClock();
  const platform = { ...createTestPlatform({ bus: createLocalBus({ clock }) }), clock };
  const { bus, node } = platform;
  const metrics = createGatewayMetrics(platform.metrics);
  const directory = await startServiceDirectory(platform, metrics, ['books']);
  let status = 'ok';
  await bus.respond(SUBJECTS.cards('books'), async () => '[]');
  await bus.respond(SUBJECTS.checks('books'), async () => JSON.stringify([{ name: 'ledger', status }]));
  const announcement = { service: 'books', ...node, ready: true, toolsDigest: 'd' };
  const announce = (said: Partial<Announcement> = {}): void =>
    bus.publish(SUBJECTS.announce, JSON.stringify({ ...announcement, ...said }));
  const { check } = createReadiness(platform, directory, metrics, ['books']);
  onTestFinished(async () => {
    metrics.close();
    await directory.close();
    await bus.close();
  });
  announce({ sentAt: clock.now() });
  await expect.poll(() => directory.knows('books')).toBe(true);
  return { clock, announce, become: (now) => (status = now), check };
}

test('what was found is not believed for longer because the clock is set back', async () => {
  const { clock, become, check } = await besideBooks();
  expect(await check()).toMatchObject({ ready: true });
  become('fail');
  expect(await check()).toMatchObject({ ready: true });
  clock.advance(-HOUR_MS);
  expect(await check()).toMatchObject({ ready: false });
  clock.advance(HOUR_MS);
  become('ok');
  expect(await check()).toMatchObject({ ready: true });
});

test('a service whose clock is another one is named; where it is past the time of all calls, this gateway is not ready', async () => {
  const { clock, announce, check } = await besideBooks();
  const clockOf = async () => (await check()).checks.find(({ name }) => name === 'books:clock')?.status;
  for (const [aheadMs, status] of [
    [60_000, 'fail'],
    [20_000, 'degraded'],
    [-60_000, 'degraded'],
    [2000, undefined],
    [60_000, 'fail'],
  ] as const) {
    announce({ sentAt: clock.now() + aheadMs });
    await expect.poll(() => (clock.advance(300), clockOf())).toBe(status);
    expect(await check()).toMatchObject({
      ready: status !== 'fail',
      degraded: status === 'degraded' ? ['books:clock'] : [],
    });
  }
  announce({ instance: 'another', sentAt: clock.now() });
  await expect.poll(() => (clock.advance(300), clockOf())).toBe('degraded');
  clock.advance(STALE_AFTER_MS);
  announce({ instance: 'another' });
  await expect.poll(() => (clock.advance(300), clockOf())).toBe(undefined);
});

test('a service whose processes have not in common what they need alike is named with the variable, and serves', async () => {
  const { clock, announce, check } = await besideBooks();
  const degraded = async () => (clock.advance(1000), (await check()).degraded);
  announce({ instance: 'old', common: { KEY: ['a'], LIMIT: ['1'], OF_OLD: ['x'] } });
  announce({ instance: 'older' });
  for (const [key, limit, told] of [
    [['b', 'a'], ['1'], []],
    [['b'], ['1'], ['books:KEY']],
    [['b', 'c'], ['2'], ['books:KEY', 'books:LIMIT']],
    [['a'], ['1'], []],
  ] as const) {
    announce({ instance: 'new', common: { KEY: key, LIMIT: limit } });
    await expect.poll(degraded).toEqual(told);
    expect(await check()).toMatchObject({ ready: true });
  }
  announce({ instance: 'new', common: { KEY: ['b'] } });
  await expect.poll(degraded).toEqual(['books:KEY']);
  clock.advance(STALE_AFTER_MS);
  announce({ instance: 'new', common: { KEY: ['b'] } });
  await expect.poll(degraded).toEqual([]);
});
