/** kill -9 of the universe, and workers that go away or stand still: no work is lost, none is completed twice. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { Caller, codeOf, type Fields } from '../client.ts';
import { createMembers, memberAt } from '../instruments/members.ts';
import { insisted, persisted } from '../instruments/persistent-calls.ts';
import type { Random } from '../instruments/random.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { POLLERS, QUEUE_KILL_ROUNDS, QUEUED_ITEMS, STALLED_WORKERS } from '../settings.ts';
import { killed, type ServiceProcess } from '../targets/service-process.ts';
import type { OwnTarget, TargetPlace } from '../targets/target.ts';
import { EACH_APART, newName, ownTarget, verifies } from '../verifies.ts';

const target = ownTarget({}, { apart: EACH_APART });
const IMPATIENT = { headers: { 'x-svc-timeout-ms': '3000' } };
const LEASE_MS = 2000;
/** Of what a worker takes, one in so many it never comes back to. */
const ABANDONED_ONE_IN = 12;
const MOST_TASKS_A_ROUND = 30;

interface Done {
  readonly id: string;
  readonly result: string;
}

interface Work {
  readonly done: Done[];
  abandoned: number;
  lost: number;
  over: boolean;
}

interface Post {
  readonly place: TargetPlace;
  readonly at: Fields;
  readonly random: Random;
}

/** Takes, works, completes; what it takes it sometimes leaves behind as a worker that is killed does. */
async function keepWorking({ at, random }: Post, who: Caller, gateway: number, work: Work): Promise<void> {
  while (!work.over) {
    const { work: taken, leaseToken, retryAfterMs } = await insisted(who, 'stream_poll', at, { gateway });
    if (taken === null) {
      await delay(Math.min(Number(retryAfterMs ?? 100), 100));
      continue;
    }
    const { id } = taken as { id: string };
    if (random.int(0, ABANDONED_ONE_IN - 1) === 0) {
      work.abandoned += 1;
      continue;
    }
    const result = newName('result');
    const token = typeof leaseToken === 'string' ? { leaseToken } : {};
    const reply = await persisted(who, 'stream_complete', { id, result, ...token }, { gateway });
    const code = codeOf(reply);
    if (code === null) work.done.push({ id, result });
    else work.lost += 1;
    expect([null, 'E_LEASE_LOST', 'E_WORK_CLOSED']).toContain(code);
  }
}

async function fill({ at }: Post, who: Caller, items: readonly number[]): Promise<string[]> {
  const ids: string[] = [];
  for (const item of items) {
    ids.push(String((await insisted(who, 'stream_enqueue', { ...at, task: { item }, key: `item-${item}` })).id));
  }
  return ids;
}

function victimsOf({ place, everybody, of }: OwnTarget, round: number): readonly ServiceProcess[] {
  if (place.kind === 'embedded') return everybody;
  const both = of('universe');
  return round % 3 === 1 ? both : both.slice(round % 2, (round % 2) + 1);
}

/** Kills spread over the work: each when a further share of it is done. */
async function suffer(work: Work, random: Random): Promise<void> {
  for (let round = 0; round < QUEUE_KILL_ROUNDS; round += 1) {
    const due = Math.floor((QUEUED_ITEMS * round) / (QUEUE_KILL_ROUNDS + 1));
    await waitFor(() => work.done.length >= due, { what: `${due} items to be done` });
    await delay(random.int(0, 200));
    await killed(victimsOf(target.get(), round));
    for (const one of target.get().gateways) await one.ready();
  }
}

async function itemsOf(who: Caller, at: Fields): Promise<Fields[]> {
  const items: Fields[] = [];
  let cursor: string | undefined;
  do {
    const more = cursor === undefined ? {} : { cursor };
    const page = await who.ok<{ items: Fields[]; nextCursor?: string }>('stream_list', { ...at, limit: 200, ...more });
    items.push(...page.items);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return items;
}

verifies(
  'streams:killed',
  async ({ place, random, report }) => {
    const { workspace, members } = await createMembers(place, ...Array<string>(4).fill('editor'));
    const at = { stream: newName('q'), workspace };
    const workers = members.map(({ caller }) => caller.with(IMPATIENT));
    const options = { leaseMs: LEASE_MS, maxAttempts: 20, backoffMs: 0 };
    const [first = new Caller(place)] = workers;
    await insisted(first, 'stream_create', { ...at, options });
    const post = { place, at, random };
    const work: Work = { done: [], abandoned: 0, lost: 0, over: false };
    const items = Array.from({ length: QUEUED_ITEMS }, (_, item) => item);
    const filling = workers.map((who, n) =>
      fill(
        post,
        who,
        items.filter((item) => item % workers.length === n),
      ),
    );
    const working = Array.from({ length: POLLERS }, (_, n) =>
      keepWorking(post, workers[n % workers.length] ?? first, n % 2, work),
    );
    await suffer(work, random);
    await target.get().whole();
    const ids = (await Promise.all(filling)).flat();
    await waitFor(() => work.done.length >= QUEUED_ITEMS, { what: 'all work to be done' }).finally(() => {
      work.over = true;
    });
    await Promise.all(working);
    expect(ids.length).toBe(QUEUED_ITEMS);
    expect(new Set(ids).size).toBe(QUEUED_ITEMS);
    expect(work.done.map(({ id }) => id).sort()).toEqual([...ids].sort());
    const kept = await itemsOf(memberAt({ workspace, members }, 0).caller, at);
    expect(kept.map(({ seq }) => seq)).toEqual([...kept.keys()].map((n) => n + 1));
    const results = new Map(work.done.map(({ id, result }) => [id, result]));
    for (const one of kept) expect(one).toMatchObject({ status: 'completed', result: results.get(String(one.id)) });
    expect(work.abandoned).toBeGreaterThan(0);
    report(
      `${QUEUE_KILL_ROUNDS} kills, ${work.abandoned} workers gone, ${work.lost} late: ${kept.length} items, each completed once`,
    );
  },
  { on: target, timeoutMs: 300_000 + QUEUE_KILL_ROUNDS * 15_000 },
);

verifies(
  'streams:stalled',
  async (scenario) => {
    const { workspace, members } = await createMembers(scenario.place, 'editor', 'editor');
    const at = { stream: newName('q'), workspace };
    const [{ id: stalledId, caller: stalled }, { caller: other }] = [
      memberAt({ workspace, members }, 0),
      memberAt({ workspace, members }, 1),
    ];
    await stalled.ok('stream_create', { ...at, options: { leaseMs: 600_000, backoffMs: 0 } });
    const tokens = new Map<string, string>();
    for (let item = 0; item < STALLED_WORKERS; item += 1) await stalled.ok('stream_enqueue', { ...at, task: item });
    for (let item = 0; item < STALLED_WORKERS; item += 1) {
      const { work, leaseToken } = await stalled.ok('stream_poll', at, { gateway: item % 2 });
      tokens.set(String((work as Fields).id), String(leaseToken));
    }
    // Only now, because on a busy machine the first lease could end before the last item is taken.
    for (const [workId, leaseToken] of tokens) {
      await stalled.ok('stream_lease', { workId, agentId: stalledId, leaseToken, ttl: 1000 });
    }
    const again: string[] = [];
    const next = (n: number): Caller => (n % 2 === 0 ? other : stalled);
    await waitFor(
      async () => {
        const { work } = await next(again.length).ok('stream_poll', { ...at, ttl: 600_000 });
        if (work !== null) again.push(String((work as Fields).id));
        return again.length === STALLED_WORKERS;
      },
      { what: 'every lease to be over' },
    );
    expect(again.toSorted()).toEqual([...tokens.keys()].toSorted());
    for (const [id, leaseToken] of tokens) {
      await stalled.refused('E_LEASE_LOST', 'stream_complete', { id, result: 'late', leaseToken });
    }
    for (const [n, id] of again.entries()) await next(n).ok('stream_complete', { id, result: 'mine' });
    expect(await other.ok('stream_info', at)).toMatchObject({ completed: STALLED_WORKERS, dead: 0, working: 0 });
    for (const one of await itemsOf(other, at)) expect(one).toMatchObject({ result: 'mine', attempts: 2 });
  },
  { on: target },
);

verifies(
  'streams:inbox',
  async ({ place, caller, random }) => {
    const { agentId } = await caller().ok('agent_spawn', { team: newName('t').replaceAll('-', '') });
    const id = String(agentId);
    const stranger = memberAt(await createMembers(place, 'admin'), 0);
    const { token } = await caller().ok('svc_habitat_mintToken', { agentId: id });
    const agent = new Caller(place, { key: String(token), ...IMPATIENT });
    const operator = caller(IMPATIENT);
    const tasks: string[] = [];
    // An agent has only so many tasks open at once, and a kill may take long to get over.
    const stop = { over: false, at: 0 };
    const delegating = (async () => {
      while (!stop.over) {
        if (tasks.length >= stop.at) {
          await delay(20);
          continue;
        }
        const task = newName('task');
        await insisted(operator, 'svc_agents_delegate_mcp', { id, task });
        tasks.push(task);
      }
    })();
    for (let round = 0; round < QUEUE_KILL_ROUNDS; round += 1) {
      const before = tasks.length;
      stop.at = before + MOST_TASKS_A_ROUND;
      await waitFor(() => tasks.length >= before + 5, { what: 'tasks to be delegated' });
      await delay(random.int(0, 200));
      const { place: at, everybody, of, gateways } = target.get();
      await killed(at.kind === 'embedded' ? everybody : of(round % 2 === 0 ? 'universe' : 'habitat'));
      for (const one of gateways) await one.ready();
    }
    stop.over = true;
    await delegating;
    await target.get().whole();
    const at = { stream: `agent:${id}` };
    const stateOf = async () =>
      (await operator.ok<{ agents: Fields[] }>('agent_list', { limit: 200 })).agents.find((one) => one.id === id)
        ?.state;
    await waitFor(async () => Number((await agent.ok('stream_info', at)).total) >= tasks.length, {
      what: 'every task to arrive',
    });
    expect((await itemsOf(agent, at)).map(({ task }) => String(task)).toSorted()).toEqual(tasks.toSorted());
    expect(await stateOf()).toBe('working');
    await stranger.caller.refused('E_STREAM_ABSENT', 'stream_poll', at);
    expect(await stranger.caller.ok('stream_info', at)).toMatchObject({ exists: false, total: 0 });
    for (const _task of tasks) {
      const { work } = await insisted(agent, 'stream_poll', at);
      await insisted(agent, 'stream_complete', { id: (work as Fields).id, result: 'done' });
    }
    expect((await insisted(agent, 'stream_poll', at)).work).toBeNull();
    await waitFor(async () => (await stateOf()) === 'idle', { what: 'the agent to be idle' });
  },
  { on: target, timeoutMs: 300_000 + QUEUE_KILL_ROUNDS * 15_000 },
);
