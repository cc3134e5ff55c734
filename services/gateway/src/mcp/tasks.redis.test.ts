/** Tasks of several gateways over one Redis: each finds them all, and goes on with those whose gateway was lost. */
import { startOwnRedis, startRedis } from '@svc/testing/servers/redis.ts';
import { Redis } from 'ioredis';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { modernRequest, WITH_TASKS } from '@svc/testing/mcp-wire.ts';
import { startHarness } from '../../testing/harness.ts';
import { createTestPlatform } from '../../testing/platform.ts';
import type { TaskCall } from '../domain/mcp-tasks.ts';
import { LEASE_MS } from './task-leases.ts';
import { type ResumeTask, TaskDesk, type TaskWork } from './tasks.ts';

const server = await startRedis();
const links: Redis[] = [];
/** Longer than a command is waited for, and shorter than two. */
const HANGS_FOR_MS = 1500;

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
const unwanted: ResumeTask = () => Promise.reject(new Error('somebody works on it'));

function begun(desk: TaskDesk, id: string, work: TaskWork, call: TaskCall | null = CALL) {
  return desk.start({ id, principal: 'tok:a1', owner: 'family:a1', requestId: 'r1', call, work });
}

const at = (desk: TaskDesk, id: string, resume: ResumeTask = unwanted) =>
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
    const resume: ResumeTask = async (call) => {
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
    .poll(async () => (await at(second, id, async () => answered('taken up'))).members, wait)
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

test.skipIf(server === null)(
  'a task that has done its work while Redis hung is not told to have failed',
  async ({ skip }) => {
    const own = await startOwnRedis();
    if (own?.control === undefined) {
      skip();
      return;
    }
    const redis = new Redis(own.url, { commandTimeout: HANGS_FOR_MS * 0.7 });
    onTestFinished(async () => {
      redis.disconnect();
      await own.stop();
    });
    const desk = new TaskDesk(createTestPlatform({ redis }));
    const id = desk.newId();
    const { promise, resolve } = Promise.withResolvers<void>();
    await begun(desk, id, async () => {
      await promise;
      return { members: '"text":"done"' };
    });
    await own.control.pause();
    resolve();
    await sleep(HANGS_FOR_MS);
    await own.control.resume();
    const members = async () => (await at(desk, id, async () => answered('done again')).catch(() => null))?.members;
    await expect.poll(members, { timeout: 2 * LEASE_MS }).toContain('"result":{"text":"done');
  },
);

test.skipIf(server === null)('a lost task stays for who may do what it does, whoever asks for it before', async () => {
  const [redis, lost] = [new Redis(server?.url ?? ''), gateway()];
  links.push(redis);
  const harness = await startHarness({ redis });
  onTestFinished(() => harness.stop());
  harness.registry.grant('a1', 'acme', 'editor');
  const id = lost.newId();
  await begun(lost, id, never);
  await lost.leave();
  const ask = async (token: string): Promise<string> => {
    const request = modernRequest('tasks/get', { taskId: id, _meta: WITH_TASKS }, token);
    const response = await harness.fetch('/mcp', request);
    return response.text();
  };
  expect(await ask(harness.registry.mint('a1', { readOnly: true }))).toContain('FORBIDDEN');
  const may = harness.registry.mint('a1');
  await expect.poll(() => ask(may)).toContain('"status":"completed"');
  expect(await ask(may)).toContain('"structuredContent":{"key":"k1"},"isError":false');
});
