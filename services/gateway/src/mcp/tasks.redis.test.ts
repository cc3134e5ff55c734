/** Tasks of several gateways over one Redis: each finds them all, and goes on with those whose gateway was lost. */
import { startRedis } from '@svc/testing/servers/redis.ts';
import { Redis } from 'ioredis';
import { afterAll, expect, test } from 'vitest';
import { createTestPlatform } from '../../testing/platform.ts';
import type { TaskCall } from '../domain/mcp-tasks.ts';
import { LEASE_MS } from './task-leases.ts';
import { TaskDesk, type TaskWork } from './tasks.ts';

const server = await startRedis();
const links: Redis[] = [];

afterAll(async () => {
  await Promise.all(links.map((link) => link.quit()));
});

function gateway(): TaskDesk {
  const redis = new Redis(server?.url ?? '');
  links.push(redis);
  return new TaskDesk(createTestPlatform({ redis }));
}

const CALL: TaskCall = { name: 'probe_long', args: { forMs: 1 }, key: 'k1', sessionName: null };
const never: TaskWork = () => new Promise(() => {});
const answered =
  (text: string): TaskWork =>
  async () => ({ members: JSON.stringify({ text }).slice(1, -1) });
const unwanted = (): TaskWork => {
  throw new Error('somebody works on it');
};

function begun(desk: TaskDesk, id: string, work: TaskWork, call: TaskCall | null = CALL) {
  return desk.start({ id, principal: 'tok:a1', owner: 'family:a1', requestId: 'r1', call, work });
}

const at = (desk: TaskDesk, id: string, resume: (call: TaskCall) => TaskWork = unwanted) =>
  desk.get(id, { principal: 'tok:a1', requestId: 'r2', resume });

test.skipIf(server === null)('a task is found through every gateway, and worked on by one', async () => {
  const [first, second] = [gateway(), gateway()];
  const id = first.newId();
  const { promise, resolve } = Promise.withResolvers<void>();
  await begun(first, id, async () => {
    await promise;
    return { members: '"text":"done"' };
  });
  expect((await at(second, id)).members).toContain('"status":"working"');
  resolve();
  await expect.poll(async () => (await at(second, id)).members).toContain('"result":{"text":"done"}');
  await expect(second.get(id, { principal: 'tok:a2', requestId: 'r', resume: unwanted })).rejects.toThrow(
    'no such task',
  );
});

test.skipIf(server === null)(
  'a gateway that leaves hands over its tasks, which are called again under their key',
  async () => {
    const [first, second] = [gateway(), gateway()];
    const [id, lost] = [first.newId(), first.newId()];
    await begun(first, id, never);
    await begun(first, lost, never, null);
    await first.leave();
    const resumed: TaskCall[] = [];
    const resume = (call: TaskCall): TaskWork => {
      resumed.push(call);
      return answered('again');
    };
    await at(second, id, resume);
    await expect.poll(async () => (await at(second, id, resume)).members).toContain('"result":{"text":"again"}');
    expect(resumed).toEqual([CALL]);
    expect((await at(second, lost)).members).toContain('E_OUTCOME_UNKNOWN');
  },
);

test.skipIf(server === null)('the tasks of a gateway that vanished are taken up within seconds', async () => {
  const second = gateway();
  const lost = new Redis(server?.url ?? '', { lazyConnect: true, enableOfflineQueue: false });
  await lost.connect();
  const first = new TaskDesk(createTestPlatform({ redis: lost }));
  const id = first.newId();
  await begun(first, id, never);
  lost.disconnect();
  expect((await at(second, id)).members).toContain('"status":"working"');
  const wait = { timeout: 2 * LEASE_MS, interval: 200 };
  await expect
    .poll(async () => (await at(second, id, () => answered('taken up'))).members, wait)
    .toContain('"result":{"text":"taken up"}');
});

test.skipIf(server === null)('a task that was cancelled elsewhere keeps no result', async () => {
  const [first, second] = [gateway(), gateway()];
  const id = first.newId();
  const { promise, resolve } = Promise.withResolvers<void>();
  await begun(first, id, async () => {
    await promise;
    return { members: '"text":"late"' };
  });
  await second.cancel(id, 'tok:a1');
  resolve();
  await expect.poll(async () => (await at(first, id)).members).toContain('"status":"cancelled"');
  expect((await at(first, id)).members).not.toContain('late');
});
