import { startRedis } from '@svc/testing/servers/redis.ts';
import { Redis } from 'ioredis';
import { afterAll, expect, test } from 'vitest';
import { createMcpSessions } from './sessions.ts';
import { createTaskLeases, LEASE_MS } from './task-leases.ts';
import { shelfContract } from '../../testing/shelf.contract.ts';

const server = await startRedis();
const redis = server === null ? null : new Redis(server.url);
const others = server === null ? null : new Redis(server.url);

afterAll(async () => {
  await Promise.all([redis?.quit(), others?.quit()]);
});

const sharedOn =
  (link: Redis | null) =>
  <Thing>({ redis: make }: { redis(redis: Redis): Thing }) =>
    make(link as Redis);

if (redis !== null) shelfContract('Redis', sharedOn(redis));

test.skipIf(server === null)('a session that one gateway opened is known to the others until it ends', async () => {
  const [first, second] = [createMcpSessions(sharedOn(redis)), createMcpSessions(sharedOn(others))];
  const session = { principal: 'tok:a1', revision: '2025-11-25' };
  const name = await first.open(session, 'family:a1');
  expect(await second.find(name, 'tok:a1')).toEqual({ ...session, resources: [] });
  expect(await second.find(name, 'tok:a2')).toBeNull();
  expect(await redis?.pttl(`svc:mcp:session:${name}`)).toBeGreaterThan(3_590_000);
  await second.want(name, (uris) => [...uris, 'brain:///b/n.md']);
  expect(await first.find(name, 'tok:a1')).toMatchObject({ resources: ['brain:///b/n.md'] });
  expect(await second.count()).toBe(1);
  await second.end(name);
  expect(await first.find(name, 'tok:a1')).toBeNull();
  expect(await first.count()).toBe(0);
});

test.skipIf(server === null)(
  'a task in the hands of one gateway is taken up by none until it lets go or vanishes',
  async () => {
    const [mine, theirs] = [createTaskLeases(sharedOn(redis), 'one'), createTaskLeases(sharedOn(others), 'two')];
    expect(await theirs.isHeld('t1')).toBe(false);
    expect(await mine.hold('t1')).toBe(true);
    expect(await mine.hold('t1')).toBe(true);
    expect([await theirs.isHeld('t1'), await theirs.hold('t1')]).toEqual([true, false]);
    expect(await redis?.pttl('svc:mcp:held:t1')).toBeLessThanOrEqual(LEASE_MS);
    await theirs.drop('t1');
    expect(await theirs.isHeld('t1')).toBe(true);
    await mine.drop('t1');
    expect(await theirs.hold('t1')).toBe(true);
  },
);
