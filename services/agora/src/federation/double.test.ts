/** Two deployments under one name and with one key: each of them notices. */
import { SUBJECTS } from '@svc/contract/discovery.ts';
import { systemClock, systemRandom } from '@svc/runtime/clock.ts';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type BedNode, openNodes, type NodesBed } from '../../testing/node-bed.ts';
import { EVERYBODY } from './domain/envelope.ts';
import { PRESENCE } from './domain/messages.ts';
import { createSeal, PRESENCE_SUBJECT } from './transport/wire.ts';

const BODY = { port: 3457, agentId: 'alpha-agent', instance: '00112233445566778899aabbccddeeff' };
let bed: NodesBed<'alpha' | 'beta'>;
let alpha: BedNode;

beforeAll(async () => {
  bed = await openNodes(['alpha', 'beta']);
  ({ alpha } = bed.nodes);
});
afterAll(() => bed.stop());
beforeEach(() => alpha.restart());

const seal = (node: BedNode, ahead = 0) =>
  createSeal(node.keyring, { clock: { now: () => systemClock.now() + ahead }, random: systemRandom });
const beacon = (ahead = 0): string => seal(alpha, ahead)(EVERYBODY, PRESENCE, BODY).text;
const say = (text: string): void => alpha.bus.publish(PRESENCE_SUBJECT, text);

async function conflict(): Promise<unknown> {
  return ((await alpha.agora('agora_nodes', {}))['self'] as { conflict: boolean }).conflict;
}
async function degraded(): Promise<string[]> {
  const reply = await alpha.bus.request(SUBJECTS.checks('agora'), '', { deadlineAt: Date.now() + 30_000 });
  const checks = JSON.parse(reply) as { name: string; status: string }[];
  return checks.filter(({ status }) => status === 'degraded').map(({ name }) => name);
}

test('beacons that this deployment did not send are those of a double', async () => {
  say(beacon());
  say(beacon());
  await expect.poll(conflict).toBe(true);
  expect(await degraded()).toEqual(['node-name']);
});

test('its own ones are not, nor is one that it could not note, one that is sent again, or what others forge', async () => {
  const once = beacon();
  for (const text of [
    once,
    once,
    beacon(3_600_000),
    beacon().replace('"port":3457', '"port":3458'),
    seal(bed.nodes.beta)(EVERYBODY, PRESENCE, BODY).text.replace('"from":"beta"', '"from":"alpha"'),
    seal(alpha)('beta', PRESENCE, BODY).text,
    'x',
  ]) {
    say(text);
  }
  for (const node of [bed.nodes.beta, bed.nodes.beta]) await node.restart();
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(await conflict()).toBe(false);
  expect(await degraded()).toEqual([]);
  say(beacon());
  await expect.poll(conflict).toBe(true);
});
