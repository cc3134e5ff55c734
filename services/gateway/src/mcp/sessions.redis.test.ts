import { startRedis } from '@svc/testing/servers/redis.ts';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { createMcpSessions } from './sessions.ts';

const server = await startRedis();

const sessionsOn = (redis: Redis) => createMcpSessions(({ redis: make }) => make(redis));

test.skipIf(server === null)('a session that one gateway opened is known to the others until it ends', async () => {
  const [one, other] = [new Redis(server?.url ?? ''), new Redis(server?.url ?? '')];
  const [first, second] = [sessionsOn(one), sessionsOn(other)];
  const session = { principal: 'tok:a1', revision: '2025-11-25' };
  const name = await first.open(session);
  expect(await second.find(name, 'tok:a1')).toEqual(session);
  expect(await second.find(name, 'tok:a2')).toBeNull();
  expect(await one.pttl(`svc:mcp:${name}`)).toBeGreaterThan(3_590_000);
  expect(await second.end(name, 'tok:a2')).toBe(false);
  expect(await second.end(name, 'tok:a1')).toBe(true);
  expect(await first.find(name, 'tok:a1')).toBeNull();
  await Promise.all([one.quit(), other.quit()]);
});
