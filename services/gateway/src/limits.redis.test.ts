import { startOwnRedis } from '@svc/testing/servers/redis.ts';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { startGateway } from './service.ts';
import { KEYED, startHarness, until } from '../testing/harness.ts';
import { createTestPlatform, KEY } from '../testing/platform.ts';

const GATEWAYS = 3;
const LIMIT = 60;
const REQUESTS = 300;

const server = await startOwnRedis();

function connect(url: string): Redis {
  const redis = new Redis(url, { enableOfflineQueue: false, maxRetriesPerRequest: 1 });
  redis.on('error', () => {});
  return redis;
}

test.skipIf(server === null)('a limit is exact over three gateways, and shared out when Redis goes away', async () => {
  const environment = { ...KEYED, SVC_RATE_LIMIT: 'on', SVC_PLAN: 'free', SVC_GATEWAYS: String(GATEWAYS) };
  const connections = Array.from({ length: GATEWAYS }, () => connect(server?.url ?? ''));
  await until(() => connections.every(({ status }) => status === 'ready'));
  const harness = await startHarness({ environment: KEYED });
  const gateways = await Promise.all(
    connections.map((redis) =>
      startGateway(createTestPlatform({ environment, redis, bus: harness.platform.bus }), {
        expectedServices: ['probe'],
      }),
    ),
  );
  await until(async () => (await Promise.all(gateways.map(({ ready }) => ready()))).every(({ ready }) => ready));

  const calls = async (count: number, key = KEY) =>
    Promise.all(
      Array.from({ length: count }, (_, index) =>
        fetch(`http://127.0.0.1:${gateways[index % GATEWAYS]?.port}/call`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'x-api-key': key },
          body: JSON.stringify({ jsonrpc: '2.0', method: 'tools/call', params: { name: 'probe_echo' }, id: 1 }),
        }),
      ),
    );
  const passed = (replies: readonly Response[]) => replies.filter(({ status }) => status === 200).length;

  const replies = await calls(REQUESTS);
  expect([passed(replies), replies.filter(({ status }) => status === 429).length]).toEqual([LIMIT, REQUESTS - LIMIT]);
  for (const { status, headers } of replies) {
    if (status === 429) expect(headers.get('x-ratelimit-remaining')).toBe('0');
    expect(Number(headers.get('x-ratelimit-limit'))).toBe(LIMIT);
  }
  expect(harness.probe.deps.ran).toHaveLength(LIMIT);

  await connections[0]?.flushdb();
  expect(passed(await calls(1))).toBe(1);

  await server?.control?.kill();
  await until(() => connections.every(({ status }) => status !== 'ready'));
  expect(passed(await calls(REQUESTS))).toBe(LIMIT);
  expect(passed(await calls(GATEWAYS))).toBe(0);

  for (const gateway of gateways) await gateway.close();
  await harness.stop();
  for (const connection of connections) connection.disconnect();
  await server?.stop();
});
