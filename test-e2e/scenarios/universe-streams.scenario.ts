/** Queues of work through the doors: order, leases, attempts, keys, who sees them, and what is told of them. */
import { expect } from 'vitest';
import { type Caller, codeOf, type Fields, type Reply } from '../client.ts';
import type { EventSocket } from '../instruments/event-socket.ts';
import { createMembers, memberAt } from '../instruments/members.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { newName, type Scenario, verifies } from '../verifies.ts';

const ITEMS = 100;
const POLLERS = 20;

interface Polled {
  readonly work: (Fields & { readonly id: string }) | null;
}

/** A queue of a workspace of its own, with two editors and somebody who hears of it. */
async function stageOf({ place, caller, socket }: Scenario) {
  const { workspace, members } = await createMembers(place, 'editor', 'editor');
  const at = { stream: newName('q'), workspace };
  const listener = await socket({ gateway: 1 });
  expect(await listener.subscribe({ events: ['stream:*'] })).toMatchObject({ ok: true });
  const poll = async (who: Caller, gateway = 0) => (await who.ok('stream_poll', at, { gateway })) as unknown as Polled;
  const take = async (who: Caller) => {
    const { work } = await poll(who);
    if (work === null) throw new Error('the queue is empty');
    return work.id;
  };
  const [one, other] = [memberAt({ workspace, members }, 0), memberAt({ workspace, members }, 1)];
  return { operator: caller(), at, listener, poll, take, one, other };
}

const hears = (listener: EventSocket, name: string, stream: string) =>
  listener.until(`${name} of ${stream}`, (event) => event.name === name && event['stream'] === stream);

verifies('streams:order', async (scenario) => {
  const { at, poll, one, other, listener } = await stageOf(scenario);
  for (const task of ['a', 'b', 'c']) await one.caller.ok('stream_enqueue', { ...at, task });
  for (const task of ['a', 'b', 'c']) expect((await poll(other.caller)).work).toMatchObject({ task });
  expect((await poll(other.caller)).work).toBeNull();
  const puts = Array.from({ length: ITEMS }, (_, n) =>
    one.caller.ok('stream_enqueue', { ...at, task: n }, { gateway: n % 2 }),
  );
  await Promise.all(puts);
  const taken: unknown[] = [];
  await Promise.all(
    Array.from({ length: POLLERS }, async (_, n) => {
      const { caller } = n % 2 === 0 ? one : other;
      for (let got = await poll(caller, n % 2); got.work !== null; got = await poll(caller, n % 2)) {
        taken.push(got.work['task']);
      }
    }),
  );
  expect(taken.sort((a, b) => Number(a) - Number(b))).toEqual(Array.from({ length: ITEMS }, (_, n) => n));
  for (const name of ['stream:created', 'stream:enqueued', 'stream:claimed']) await hears(listener, name, at.stream);
});

verifies('streams:lease', async (scenario) => {
  const { at, poll, take, one, other, listener } = await stageOf(scenario);
  await one.caller.ok('stream_create', { ...at, options: { leaseMs: 1000 } });
  await one.caller.ok('stream_enqueue', { ...at, task: 'x' });
  const id = await take(one.caller);
  let second: Polled['work'] = null;
  await waitFor(async () => (second = (await poll(other.caller)).work) !== null, { what: 'the lease to be over' });
  expect(second).toMatchObject({ id, attempts: 2 });
  await other.caller.ok('stream_lease', { workId: id, agentId: other.id, ttl: 60_000 });
  await one.caller.refused('E_LEASE_LOST', 'stream_complete', { id, result: 'late' });
  await other.caller.ok('stream_complete', { id, result: 'mine' });
  await other.caller.refused('E_WORK_CLOSED', 'stream_complete', { id, result: 'again' });
  expect(await one.caller.ok('stream_list', at)).toMatchObject({
    items: [{ id, status: 'completed', result: 'mine' }],
  });
  for (const name of ['stream:failed', 'stream:completed']) await hears(listener, name, at.stream);
});

verifies('streams:retry', async (scenario) => {
  const { operator, at, poll, take, one, other, listener } = await stageOf(scenario);
  await one.caller.ok('stream_create', { ...at, options: { maxAttempts: 2, backoffMs: 50 } });
  const { id } = await one.caller.ok('stream_enqueue', { ...at, task: 'x' });
  await take(other.caller);
  expect(await other.caller.ok('stream_fail', { id, error: 'no' })).toMatchObject({ status: 'pending', attempts: 1 });
  await waitFor(async () => (await poll(other.caller)).work !== null, { what: 'the next attempt' });
  expect(await other.caller.ok('stream_fail', { id, error: 'no' })).toMatchObject({ status: 'dead', attempts: 2 });
  await other.caller.refused('E_WORK_CLOSED', 'stream_release', { workId: id });
  await one.caller.ok('stream_release', { workId: id });
  expect((await poll(other.caller)).work).toMatchObject({ id, attempts: 1 });
  expect(await operator.ok('stream_delete', at)).toMatchObject({ removed: 1 });
  await other.caller.refused('E_WORK_ABSENT', 'stream_complete', { id, result: 1 });
  for (const name of ['stream:dead', 'stream:released', 'stream:deleted']) await hears(listener, name, at.stream);
});

verifies('streams:key', async (scenario) => {
  const { at, one, other } = await stageOf(scenario);
  const puts = await Promise.all(
    Array.from({ length: 50 }, (_, n) =>
      (n % 2 === 0 ? one : other).caller.ok('stream_enqueue', { ...at, task: n, key: 'k' }, { gateway: n % 2 }),
    ),
  );
  expect(puts.filter(({ duplicate }) => duplicate === true)).toHaveLength(49);
  const id = String(puts[0]?.['id']);
  expect(new Set(puts.map((put) => put['id'])).size).toBe(1);
  await one.caller.refused('E_LEASE_LOST', 'stream_complete', { id, result: 1 });
});

verifies('streams:hidden', async (scenario) => {
  const { at, one } = await stageOf(scenario);
  const { members } = await createMembers(scenario.place, 'admin');
  const { id: stranger, caller } = memberAt({ workspace: '', members }, 0);
  const { token } = await scenario.caller().ok('svc_habitat_mintToken', { agentId: stranger });
  const outside = await scenario.socket({ auth: { token: String(token) } });
  expect(await outside.subscribe({ events: ['stream:*'] })).toMatchObject({ ok: true });
  const { id } = await one.caller.ok('stream_enqueue', { ...at, task: 'x' });
  expect(await caller.ok('stream_info', at)).toMatchObject({ exists: false, total: 0 });
  for (const tool of ['stream_poll', 'stream_peek', 'stream_delete']) {
    await caller.refused('E_STREAM_ABSENT', tool, at);
  }
  await caller.refused('E_WORK_ABSENT', 'stream_complete', { id, result: 1 });
  await caller.fails('FORBIDDEN', 'stream_enqueue', { ...at, task: 'y' });
  const { workspace } = await createMembers(scenario.place);
  await scenario.caller().ok('svc_habitat_addRole', { workspaceId: workspace, userId: stranger, role: 'editor' });
  await caller.ok('stream_enqueue', { ...at, workspace, task: 'mine' });
  await hears(outside, 'stream:enqueued', at.stream);
  expect(outside.heard.filter((event) => event['id'] === id)).toEqual([]);
});

/** Queues of one family. */
const MOST_QUEUES = 200;

verifies('streams:quota', async (scenario) => {
  const { at, one, other } = await stageOf(scenario);
  const queue = (n: number) => ({ ...at, stream: `${at.stream}-${n}` });
  const put = (n: number) => one.caller.call('stream_enqueue', { ...queue(n), task: n }, { gateway: n % 2 });
  const more = 10;
  const answers = await Promise.all(Array.from({ length: MOST_QUEUES + more }, (_, n) => put(n)));
  const isFull = (reply: Reply): boolean => codeOf(reply) === 'E_QUOTA';
  const refused = answers.flatMap((reply, n) => (isFull(reply) ? [n] : []));
  expect(refused).toHaveLength(more);
  const [absent = -1, next = -1] = refused;
  await one.caller.refused('E_STREAM_ABSENT', 'stream_poll', queue(absent));
  await other.caller.ok('stream_enqueue', { ...queue(absent), task: 'of another family' });
  const there = answers.findIndex((reply) => !isFull(reply));
  await one.caller.ok('stream_delete', queue(there));
  await one.caller.ok('stream_enqueue', { ...queue(next), task: 'in the place of the one that went' });
});
