/** Queues, jobs, operations and crews with something of theirs in each state, and what must hold of them after a restart. */
import { expect } from 'vitest';
import { Caller, type Fields } from '../client.ts';
import type { TargetPlace } from '../targets/target.ts';
import { newName } from '../verifies.ts';
import { createMembers, memberAt, type WorkspaceMember } from './members.ts';

/** Longer than any restart takes. */
const LEASE_MS = 3_600_000;
const DAY_MS = 86_400_000;

interface Queue {
  readonly at: Fields;
  /** Who takes it has until the end of this lease, and shows this token. */
  readonly working: { readonly id: string; readonly leaseToken: string };
}

/** Work that is completed, dead, under a lease, delayed and waiting, in this order. */
async function layQueue({ caller }: WorkspaceMember, workspace: string): Promise<Queue> {
  const at = { stream: newName('q'), workspace };
  await caller.ok('stream_create', { ...at, options: { leaseMs: LEASE_MS, maxAttempts: 1 } });
  const put = (task: string, more: Fields = {}) => caller.ok('stream_enqueue', { ...at, task, ...more });
  const take = async () => {
    const { work, leaseToken } = await caller.ok('stream_poll', at);
    return { id: String((work as Fields).id), leaseToken: String(leaseToken) };
  };
  for (const task of ['done', 'failed', 'begun']) await put(task);
  const [done, failed, working] = [await take(), await take(), await take()];
  await caller.ok('stream_complete', { ...done, result: { of: 'done' } });
  await caller.ok('stream_fail', { ...failed, error: 'no' });
  await put('later', { delayMs: DAY_MS });
  await put('next');
  return { at, working };
}

/** Resolves with what has to be there afterwards, and goes on. */
export async function layWork(place: TargetPlace): Promise<() => Promise<void>> {
  const operator = new Caller(place);
  const home = await createMembers(place, 'editor', 'viewer');
  const { workspace } = home;
  const [ann, viewer] = [memberAt(home, 0), memberAt(home, 1)];
  const { at, working } = await layQueue(ann, workspace);
  const task = { tool: 'stream_enqueue', arguments: { ...at, task: 'of a job' } };
  const job = { id: newName('job'), workspace };
  await ann.caller.ok('cron_schedule', { ...job, interval: DAY_MS, task });
  await ann.caller.ok('cron_run', job);
  const operation = newName('op');
  const steps = ['upper', 'length'];
  await ann.caller.ok('recursion_register', { name: operation, type: 'pipeline', steps, workspace });
  const crew = newName('crew');
  await ann.caller.ok('svc_scenario_crew', { name: crew });
  await ann.caller.ok('svc_scenario_task', { crew, task: 'before', cost: 1 });
  const shown = async () => ({
    items: (await viewer.caller.ok('stream_list', at, { gateway: 1 })).items as Fields[],
    jobs: await ann.caller.ok('cron_list', job),
    batch: await viewer.caller.ok('recursion_batch', { operation, items: ['a', 'bc'], workspace }),
    crew: await ann.caller.ok('svc_scenario_status', { crew }, { gateway: 1 }),
  });
  const before = await shown();
  const states = before.items.map(({ status }) => status);
  expect(states).toEqual(['completed', 'dead', 'working', 'pending', 'pending', 'pending']);
  expect(before.batch).toMatchObject({ results: [1, 2], errors: [] });
  return async () => {
    expect(await shown()).toEqual(before);
    expect(await ann.caller.ok('stream_complete', { ...working, result: 1 })).toMatchObject({ attempts: 1 });
    expect((await ann.caller.ok('stream_poll', at)).work).toMatchObject({ task: 'next' });
    expect(await ann.caller.ok('svc_scenario_task', { crew, task: 'after', cost: 1 })).toMatchObject({ no: 2 });
    expect(await operator.ok('cron_cancel', job)).toMatchObject({ cancelled: true });
  };
}
