import { connectRedis } from '@svc/runtime/redis.ts';
import { startOwnRedis } from '@svc/testing/servers/redis.ts';
import { afterAll, expect, test } from 'vitest';
import { createRedisKeyStates } from './key-states.redis.ts';
import { describeQos } from './qos.contract.ts';
import { createQos } from './qos.ts';

const DAY_MS = 86_400_000;
const server = await startOwnRedis();
const silent = { error() {}, info() {}, warn() {} };
const connect = () => connectRedis({ url: server?.url ?? '', name: 'qos', log: silent });
const connections = server === null ? [] : await Promise.all([connect(), connect(), connect()]);
afterAll(async () => {
  for (const redis of connections) redis.disconnect();
  await server?.stop();
});

if (server === null) test.skip('no Redis here');
else {
  describeQos('Redis', {
    open: async (limits) => connections.map((redis) => createRedisKeyStates(redis, limits)),
  });

  test('an outcome stays for a day, and without the state that it came from', async () => {
    const [redis] = connections;
    if (redis === undefined) throw new Error('no connection');
    await redis.del(await redis.keys('svc:qos:*'));
    const qos = createQos(createRedisKeyStates(redis), 60_000);
    const idempotency = { principal: 'p', tool: 't', key: 'k', argsHash: 'h' };
    const first = await qos.canProceed({ scope: 'ws:a', key: 'k', idempotency }, 1);
    const [outcome] = await redis.keys('svc:qos:outcome:*');
    for (const key of [outcome ?? '', 'svc:qos:outcomes']) {
      expect(await redis.pttl(key)).toBeGreaterThan(DAY_MS - 60_000);
      expect(await redis.pttl(key)).toBeLessThanOrEqual(DAY_MS);
    }
    const [state] = await redis.keys('svc:qos:state:*');
    expect(await redis.pttl(state ?? '')).toBeLessThan(2 * 60_000);
    await redis.del(state ?? '');
    expect(await qos.canProceed({ scope: 'ws:a', key: 'k', idempotency }, 1)).toEqual({ ...first, replayed: true });
  });

  test.skipIf(server === null)('without Redis nothing is allowed and nothing is called a bug', async () => {
    const [redis] = connections;
    if (redis === undefined) throw new Error('no connection');
    await server.control?.kill();
    const qos = createQos(createRedisKeyStates(redis), 60_000);
    await expect(qos.canProceed({ scope: 'ws:a', key: 'k', idempotency: null }, 1)).rejects.toMatchObject({
      code: 'SERVICE_UNAVAILABLE',
    });
    await server.control?.start();
  });
}
