import { createLocalBus } from '@svc/runtime/bus.local.ts';
import type { Bus } from '@svc/runtime/bus.ts';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type HabitatNode, type HabitatTestBed, openHabitatTestBed } from '../../testing/habitat-test-bed.ts';
import { serveBrain } from '../../testing/test-brain.ts';
import { codeOf } from '../../testing/test-people.ts';

let bed: HabitatTestBed;
let node: HabitatNode;

beforeAll(async () => {
  bed = await openHabitatTestBed();
  node = await start(3);
});
afterAll(async () => {
  await node.stop();
  await bed[Symbol.asyncDispose]();
});

/** A node beside a brain of that layout version; null = one whose import is not finished. */
async function start(version: number | null | 'away'): Promise<HabitatNode> {
  const bus: Bus = createLocalBus();
  if (version !== 'away') await serveBrain(bus, { layout: async () => ({ version }) });
  return bed.start({ bus });
}

const info = () => node.call('svc_succession_info');

it('tells a fresh node of the defaults', async () => {
  expect(await info()).toEqual({
    trustLevel: 'medium',
    currentVersion: 3,
    previousBrain: null,
    levels: {
      high: expect.any(String),
      medium: expect.any(String),
      low: expect.any(String),
      none: expect.any(String),
    },
    trust: { start: 0.5, positive: 0.05, negative: 0.1, decayPer30d: 0.01, required: { default: 0.3 } },
  });
});

it('shows what actions require', async () => {
  await node.call('trust_setRequired', { permission: 'vote', minTrust: 0.6 });
  expect(await info()).toMatchObject({ trust: { required: { default: 0.3, vote: 0.6 } } });
});

it('keeps the brain that was taken over, over a restart, whatever comes late', async () => {
  const at = Date.now();
  await node.registry.succession({ previousBrain: 'old', at });
  await node.registry.succession({ previousBrain: 'older', at: at - 1 });
  expect(await info()).toMatchObject({ previousBrain: 'old', trustLevel: 'medium' });
  await node.stop();
  node = await start(3);
  expect(await info()).toMatchObject({ previousBrain: 'old' });
  await node.registry.succession({ previousBrain: 'newer', at: at + 1 });
  expect(await info()).toMatchObject({ previousBrain: 'newer' });
});

it.each(['away', null] as const)('cannot tell without the version of the brain (%s)', async (version) => {
  await node.stop();
  node = await start(version);
  expect(await codeOf(info())).toBe('SERVICE_UNAVAILABLE');
});
