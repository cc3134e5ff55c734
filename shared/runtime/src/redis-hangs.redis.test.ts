import { startOwnRedis } from '@svc/testing/servers/redis.ts';
import { expect, test } from 'vitest';
import { createLog } from './log.ts';
import { connectRedis } from './redis.ts';

test('of a Redis that hangs only the first commands wait for it; when it answers again, it is used again', async ({
  skip,
}) => {
  const server = await startOwnRedis();
  if (server?.control === undefined) {
    skip();
    return;
  }
  const log = createLog('silent', {});
  const redis = await connectRedis({ url: server.url, name: 'test', log, giveUpAt: Date.now() + 5000 });
  await server.control.pause();
  await expect(redis.get('a')).rejects.toThrow();
  await expect.poll(() => redis.status).not.toBe('ready');
  const before = performance.now();
  for (let at = 0; at < 3; at += 1) await expect(redis.get('a')).rejects.toThrow();
  expect(performance.now() - before).toBeLessThan(2500);
  await server.control.resume();
  await expect.poll(() => redis.get('a').catch(() => 'away')).toBeNull();
  redis.disconnect();
  await server.stop();
}, 60_000);
