/** Inboxes beside the real registry: what is delegated arrives once, is its agent's alone, and its end is told. */
import { HABITAT } from '@svc/contract/operations.habitat.ts';
import { UNIVERSE } from '@svc/contract/operations.universe.ts';
import { createOperationClient } from '@svc/runtime/operations.ts';
import { poolClient } from '@svc/runtime/transaction.ts';
import { migratedDatabase } from '@svc/testing/database.ts';
import type { Fields } from '@svc/testing/service-bed.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openUniverseBed, type UniverseBed } from '../../testing/universe-bed.ts';
import { reportOf } from './domain/report.ts';

const database = await migratedDatabase();
const client = poolClient(database.pool);
let bed: UniverseBed;

beforeAll(async () => {
  bed = await openUniverseBed(database);
  await bed.enrol('eve', 'admin');
});
afterAll(async () => {
  await bed.stop();
  await database.close();
});

interface Item {
  readonly id: string;
  readonly task: unknown;
  readonly key: string;
  readonly status: string;
  readonly attempts: number;
}
const spawned = async () => String((await bed.registry('agent_spawn', {}))['agentId']);
const delegated = async (id: string, task = 'count the stars') =>
  String((await bed.registry('svc_agents_delegate_mcp', { id, task }))['taskId']);
const itemsOf = async (agent: string) =>
  ((await bed.call('stream_list', { stream: `agent:${agent}` })) as { items: Item[] }).items;
const poll = async (agent: string, as = agent) =>
  (await bed.call('stream_poll', { stream: `agent:${agent}` }, as)) as { work: Item | null };
const arrived = (agent: string, count = 1) => expect.poll(() => itemsOf(agent)).toHaveLength(count);
const taskStands = (taskId: string, fields: Fields) =>
  expect
    .poll(() =>
      client.$queryRawUnsafe(
        'SELECT status, reason, ended_at IS NULL AS open FROM habitat.agent_tasks WHERE task_id = $1',
        taskId,
      ),
    )
    .toEqual([expect.objectContaining(fields)]);

test('a delegated task is there once, for its agent and operators, and the registry hears that it is done', async () => {
  const agent = await spawned();
  expect(await poll(agent)).toMatchObject({ work: null });
  const taskId = await delegated(agent);
  await arrived(agent);
  const { fillInbox } = createOperationClient(bed.platform, UNIVERSE, 'habitat');
  const again = { taskId, agentId: agent, task: 'count the stars', failed: null };
  await Promise.all(Array.from({ length: 20 }, () => fillInbox(again)));
  expect(await itemsOf(agent)).toHaveLength(1);
  const at = { stream: `agent:${agent}` };
  for (const tool of ['stream_poll', 'stream_peek']) {
    expect(await bed.call(tool, at, 'eve')).toMatchObject({ code: 'E_STREAM_ABSENT' });
  }
  expect(await bed.call('stream_info', at, 'eve')).toMatchObject({ exists: false, total: 0 });
  expect(await bed.call('stream_list', at, 'eve')).toMatchObject({ items: [] });
  expect(await bed.call('stream_delete', at)).toMatchObject({ code: 'E_STREAM_INBOX' });
  const { work } = await poll(agent);
  expect(work).toMatchObject({ task: 'count the stars', key: taskId, attempts: 1 });
  const id = work?.id ?? '';
  for (const [tool, args] of [
    ['stream_complete', { id, result: 1 }],
    ['stream_fail', { id, error: 1 }],
    ['stream_release', { workId: id }],
    ['stream_lease', { workId: id, agentId: 'eve' }],
  ] as const) {
    expect(await bed.call(tool, args, 'eve')).toMatchObject({ code: 'E_WORK_ABSENT' });
  }
  expect((await bed.call('stream_list', {}, agent))['streams']).toContainEqual(
    expect.objectContaining({ stream: at.stream, workspace: null, working: 1 }),
  );
  expect((await bed.call('stream_list', {}, 'eve'))['streams']).toEqual([]);
  expect(await bed.call('stream_stats', {}, agent)).toMatchObject({ streams: { [at.stream]: { working: 1 } } });
  await taskStands(taskId, { status: 'queued', open: true });
  await bed.call('stream_complete', { id, result: 'many' }, agent);
  await taskStands(taskId, { status: 'completed', open: false });
});

test('a task that is dead has failed for who delegated it, and is open again when an operator begins it anew', async () => {
  const agent = await spawned();
  const taskId = await delegated(agent);
  await arrived(agent);
  await client.$executeRawUnsafe(`UPDATE universe.streams SET max_attempts = 1 WHERE name = $1`, `agent:${agent}`);
  const id = (await poll(agent)).work?.id ?? '';
  await bed.call('stream_fail', { id, error: 'no stars\0' }, agent);
  await taskStands(taskId, { status: 'failed', reason: 'no stars', open: false });
  expect(await bed.call('stream_release', { workId: id }, agent)).toMatchObject({ code: 'E_WORK_CLOSED' });
  await bed.call('stream_release', { workId: id });
  await taskStands(taskId, { status: 'queued', reason: null, open: true });
  const { reportTask } = createOperationClient(bed.platform, HABITAT, 'universe');
  await reportTask({ taskId, number: 1, status: 'failed', reason: 'late' });
  await taskStands(taskId, { status: 'queued', open: true });
});

test('what a killed agent had to do is dead in its inbox, also what comes there after its end', async () => {
  const agent = await spawned();
  const first = await delegated(agent);
  await arrived(agent);
  await bed.registry('agent_kill', { id: agent });
  await expect
    .poll(() => itemsOf(agent))
    .toMatchObject([{ key: first, status: 'dead', error: { reason: 'agent killed' } }]);
  const { fillInbox } = createOperationClient(bed.platform, UNIVERSE, 'habitat');
  const late = { taskId: 'task_late', agentId: agent, task: 'x' };
  await fillInbox({ ...late, failed: 'agent killed' });
  await fillInbox({ ...late, failed: null });
  expect(await itemsOf(agent)).toMatchObject([{}, { key: 'task_late', status: 'dead' }]);
});

test('what is told of a task is one sentence, whatever its worker said', () => {
  expect(reportOf({ status: 'completed', error: 'before' })).toEqual({ status: 'completed', reason: null });
  expect(reportOf({ status: 'working', error: 'before' })).toEqual({ status: 'queued', reason: null });
  const failed = (error: unknown) => reportOf({ status: 'dead', error }).reason;
  expect(failed({ reason: 'lease expired' })).toBe('lease expired');
  expect(failed({ code: 1 })).toBe('failed');
  expect(failed(null)).toBe('failed');
  expect(failed('x'.repeat(300))).toHaveLength(200);
  expect(failed(`${'x'.repeat(199)}\u{1f600}`)?.isWellFormed()).toBe(true);
});
