import { expect, test } from 'vitest';
import { createLocalBus } from './bus.local.ts';
import { systemClock } from './clock.ts';
import { createGroundReader, joinCommonGround, readCommonGround, tellCommonGround } from './common-ground.ts';
import { readConfig } from './config.ts';

const KEYS = { old: 'the-old-key-of-the-service', new: 'the-new-key-of-the-service' };

function standing(environment: Record<string, string>, servers: Record<string, string> = {}, bus = createLocalBus()) {
  const { config } = readConfig(environment, () => '');
  const node = { nodeId: 'first', instance: 'i', startedAt: 0, version: '0' };
  return { config, servers: async () => servers, bus, clock: systemClock, node };
}

test('what a service needs alike is told apart by digests; a secret before counts beside the one in use', async () => {
  const before = await readCommonGround(standing({ SVC_API_KEY: KEYS.old }), 'gateway');
  const rolling = standing({ SVC_API_KEY: KEYS.new, SVC_API_KEY_PREVIOUS: KEYS.old, SVC_RATE_WINDOW_S: '30' });
  const during = await readCommonGround(rolling, 'gateway');
  expect(during['SVC_API_KEY']).toHaveLength(2);
  expect(during['SVC_API_KEY']).toEqual(expect.arrayContaining([...(before['SVC_API_KEY'] ?? [])]));
  expect(during['SVC_RATE_WINDOW_S']).not.toEqual(before['SVC_RATE_WINDOW_S']);
  expect(Object.keys(during)).not.toContain('SVC_AUDIT_KEY');
  expect(JSON.stringify(during)).not.toMatch(/-key-of-the-service/);
});

test('the variable of a setting is told by the service that reads it, set or not', async () => {
  const [set, unset] = await Promise.all(
    [{ SVC_COMPUTE_ENABLED: '1' }, {}].map((environment) => readCommonGround(standing(environment), 'universe')),
  );
  expect(set?.['SVC_COMPUTE_ENABLED']).not.toEqual(unset?.['SVC_COMPUTE_ENABLED']);
  expect(await readCommonGround(standing({}), 'escrow')).not.toHaveProperty('SVC_COMPUTE_ENABLED');
});

test('a server that was started again is not another one for those who have not looked yet, whether they met it away or not', async () => {
  const server = { id: 'first' };
  const servers = async (): Promise<Record<string, string>> => (server.id === '' ? {} : { REDIS_URL: server.id });
  const reader = () => {
    const read = createGroundReader({ ...standing({}), servers }, 'escrow');
    return async () => (await read())['REDIS_URL'] ?? [];
  };
  const [early, late] = [reader(), reader()];
  const before = await late();
  expect(await early()).toEqual(before);
  server.id = '';
  expect(await early()).toEqual([]);
  server.id = 'again';
  const told = await early();
  expect(told).toEqual(expect.arrayContaining([...before]));
  for (const look of [early, late]) expect(await look()).toEqual(told);
  expect(told).toEqual(expect.arrayContaining([...(await reader()())]));
});

test('a process on another database than those that run does not join them; what it cannot know keeps nobody out', async () => {
  const bus = createLocalBus();
  const at = (servers: Record<string, string>) => standing({}, servers, bus);
  await joinCommonGround(at({ DATABASE_URL: 'one' }), 'escrow');
  await tellCommonGround(at({ DATABASE_URL: 'one', REDIS_URL: 'one' }), 'escrow');
  await joinCommonGround(at({ DATABASE_URL: 'one', REDIS_URL: 'two' }), 'escrow');
  await joinCommonGround(at({}), 'escrow');
  await joinCommonGround(at({ DATABASE_URL: 'two' }), 'market');
  await expect(joinCommonGround(at({ DATABASE_URL: 'two' }), 'escrow')).rejects.toThrow(
    'DATABASE_URL: this is not the database in which first keeps what escrow knows',
  );
});
