/** Sessions that are followed through several gateways. */
import { follow } from '@svc/testing/mcp-wire.ts';
import { startRedis } from '@svc/testing/servers/redis.ts';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { startEventLog } from '../../testing/event-log.ts';
import { KEYED, startHarness, until } from '../../testing/harness.ts';
import { createTestPlatform, KEY } from '../../testing/platform.ts';
import { startGateway } from '../service.ts';

const server = await startRedis();
const KEY_HEADER = { authorization: `Bearer ${KEY}` };

async function startTwo() {
  const redis = new Redis(server?.url ?? '');
  const harness = await startHarness({ redis });
  const { bus } = harness.platform;
  const log = await startEventLog(harness.platform);
  const second = await startGateway(createTestPlatform({ environment: KEYED, bus, redis }));
  onTestFinished(async () => {
    await second.close();
    await log.stop();
    await harness.stop();
    await redis.quit();
  });
  return { log, urls: [harness.url, `http://127.0.0.1:${second.port}`] as const };
}

test.skipIf(server === null)('a session speaks through the stream opened last, at whichever gateway', async () => {
  const { log, urls } = await startTwo();
  const [first, second] = urls;
  const begun = await fetch(new URL('/mcp', first), {
    method: 'POST',
    headers: { ...KEY_HEADER, 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25' } }),
  });
  const session = begun.headers.get('mcp-session-id') ?? '';
  const opened = [await follow(first, KEY_HEADER, session)];
  for (const url of [second, first, first, second]) {
    const before = opened.at(-1);
    opened.push(await follow(url, KEY_HEADER, session));
    await before?.ended;
  }
  const last = opened.pop();
  log.emit(1);
  await until(() => (last?.messages.length ?? 0) > 0);
  expect(opened.flatMap(({ messages }) => messages)).toEqual([]);
  last?.leave();
});
