import { connectRedis } from '@svc/runtime/redis.ts';
import { startRedis } from '@svc/testing/servers/redis.ts';
import { afterAll, expect, test } from 'vitest';
import { createRedisKeyStates } from './key-states.redis.ts';
import { describeQos } from './qos.contract.ts';
import { createQos } from './qos.ts';

const server = await startRedis();
const silent = { info() {}, warn() {} };
const connect = () => connectRedis({ url: server?.url ?? '', name: 'qos', log: silent });
const connections = server === null ? [] : await Promise.all([connect(), connect(), connect()]);
afterAll(async () => {
  for (const redis of connections) redis.disconnect();
  await server?.stop();
});

if (server === null) test.skip('no Redis here');
else {
  describeQos('Redis', { open: async () => connections.map(createRedisKeyStates) });

  test.skipIf(server.control === undefined)(
    'without Redis nothing is allowed and nothing is called a bug',
    async () => {
      const [redis] = connections;
      if (redis === undefined) throw new Error('no connection');
      await server.control?.kill();
      const qos = createQos(createRedisKeyStates(redis));
      await expect(qos.canProceed('ws:a', 'k', 1)).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
      await server.control?.start();
    },
  );
}
