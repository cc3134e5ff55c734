/** Rolling restarts under 50 clients behind a balancer: nobody notices. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { Caller } from '../client.ts';
import { Balancer } from '../instruments/balancer.ts';
import { Load, reader } from '../instruments/load.ts';
import { LOAD_PAUSE_MS, ROLLING_RESTARTS } from '../settings.ts';
import { servicesAlive } from '../targets/cluster.ts';
import type { ServiceProcess } from '../targets/service-process.ts';
import type { OwnTarget } from '../targets/target.ts';
import { newName, ownTarget, type Scenario, verifies } from '../verifies.ts';

const CLIENTS = 50;

const target = ownTarget({ SVC_DRAIN_WAIT_MS: '2000' }, { only: 'cluster' });

async function roll(
  { place, report }: Scenario,
  what: string,
  restart: (cluster: OwnTarget, index: number) => Promise<void>,
): Promise<void> {
  const cluster = target.get();
  const brain = newName('b');
  await new Caller(place).ok('brain_switch', { name: brain, create: true });
  await using balancer = await Balancer.start(place.gateways);
  const callers = Array.from({ length: CLIENTS }, () => new Caller({ gateways: [balancer.url], key: place.key }));
  const load = new Load(callers, { clients: CLIENTS, brain, readEvery: 2, pauseMs: LOAD_PAUSE_MS });
  try {
    for (let index = 0; index < ROLLING_RESTARTS; index += 1) await restart(cluster, index);
  } finally {
    await load.stop();
  }
  expect([...load.problems()]).toEqual([]);
  expect(await load.ledger.lost(reader(new Caller(place), brain))).toEqual([]);
  expect(load.outcomes.length).toBeGreaterThan(ROLLING_RESTARTS * 100);
  const slowest = Math.max(...load.outcomes.map(({ ms }) => ms));
  report(
    `${ROLLING_RESTARTS} restarts of a ${what}: ${load.outcomes.length} requests, 0 failed, slowest ${Math.round(slowest)} ms`,
  );
}

async function restartGently(one: ServiceProcess | undefined): Promise<void> {
  if (one === undefined) throw new Error('nothing to restart');
  const code = await one.stop();
  const said = one.tail();
  await one.start();
  expect(code, said).toBe(0);
}

verifies(
  'gateway:drain:rolling-gateway',
  (scenario) =>
    roll(scenario, 'gateway', async ({ gateways }, index) => {
      await restartGently(gateways[index % gateways.length]);
      // The balancer asks /ready every 100 ms: let it see this one before the next one goes.
      await delay(300);
    }),
  { on: target, timeoutMs: 240_000 },
);

verifies(
  'gateway:drain:rolling-brain',
  (scenario) =>
    roll(scenario, 'brain process', async ({ brains, place }, index) => {
      await restartGently(brains[index % brains.length]);
      await servicesAlive(place.gateways[0] ?? '', ['brain'], brains.length);
    }),
  { on: target, timeoutMs: 240_000 },
);
