/** Jobs through the doors: at their ticks, as who made them, and what is told of them to whom. */
import { expect } from 'vitest';
import type { Fields } from '../client.ts';
import { addMember, createMembers, memberAt } from '../instruments/members.ts';
import { newName, type Scenario, verifies } from '../verifies.ts';

interface Listed {
  readonly jobs: readonly Fields[];
  readonly history?: readonly Fields[];
}

async function stageOf({ place, caller, socket }: Scenario) {
  const workspace = await createMembers(place, 'editor', 'viewer');
  const [ann, bob] = [memberAt(workspace, 0), memberAt(workspace, 1)];
  const listener = await socket({ gateway: 1 });
  expect(await listener.subscribe({ events: ['cron:*'] })).toMatchObject({ ok: true });
  const at = { id: newName('job'), workspace: workspace.workspace };
  const hears = (name: string) => listener.until(name, (event) => event.name === name && event['id'] === at.id);
  return { operator: caller(), ann, bob, at, hears };
}

verifies('cron:wrong', async (scenario) => {
  const { ann, at } = await stageOf(scenario);
  const fits = { tool: 'svc_memory_state', arguments: { key: 'k', value: 'v' } };
  for (const wrong of [
    { interval: 999 },
    { interval: 86_400_001 },
    { task: { tool: 'no_such_tool' } },
    { task: { ...fits, arguments: { kye: 'k' } } },
  ]) {
    await ann.caller.fails('VAF_INPUT_INVALID', 'cron_schedule', { ...at, ...wrong });
  }
  await ann.caller.refused('E_CRON_TOOL', 'cron_schedule', {
    ...at,
    task: { tool: 'cron_run', arguments: { id: at.id } },
  });
  expect(await ann.caller.ok('cron_list', at)).toEqual({ jobs: [], history: [] });
  await ann.caller.ok('cron_schedule', { ...at, task: fits });
});

verifies('cron:rights', async (scenario) => {
  const { operator, ann, bob, at, hears } = await stageOf(scenario);
  const key = newName('k');
  const task = { tool: 'svc_memory_state', arguments: { key, value: 'v' } };
  expect(await ann.caller.ok('cron_schedule', { ...at, interval: 1000, task })).toMatchObject({ identity: ann.id });
  await hears('cron:scheduled');
  await hears('cron:ran');
  expect(await bob.caller.ok('svc_memory_recall', { key })).toMatchObject({ value: 'v' });
  await bob.caller.refused('E_CRON_ABSENT', 'cron_run', at);
  await bob.caller.refused('E_CRON_TAKEN', 'cron_schedule', at);
  expect(await bob.caller.ok('cron_list', at)).toMatchObject({ jobs: [] });
  await operator.ok('svc_habitat_removeRole', { workspaceId: at.workspace, userId: ann.id, role: 'editor' });
  expect(await hears('cron:failed')).toMatchObject({ status: 'refused', code: 'UNAUTHORIZED' });
  expect(await operator.ok('cron_list', at)).toMatchObject({ jobs: [{ enabled: false, nextAt: null }] });
  expect(await operator.ok('cron_cancel', at)).toMatchObject({ cancelled: true });
  await hears('cron:cancelled');
});

verifies('cron:heard', async (scenario) => {
  const { operator, ann, at, hears } = await stageOf(scenario);
  const other = await addMember(scenario.place, at.workspace, 'editor');
  const ears = async (agentId: string) => {
    const { token } = await operator.ok('svc_habitat_mintToken', { agentId });
    const socket = await scenario.socket({ auth: { token: String(token) } });
    expect(await socket.subscribe({ events: ['cron:*'] })).toMatchObject({ ok: true });
    return socket;
  };
  const [own, foreign] = [await ears(ann.id), await ears(other.id)];
  await ann.caller.ok('cron_schedule', { ...at, interval: 1000 });
  await other.caller.ok('cron_schedule', { ...at, id: `${at.id}-2`, interval: 1000 });
  await hears('cron:ticked');
  const ticks = (of: string) => (event: Fields) => event['name'] === 'cron:ticked' && event['id'] === of;
  await own.until('its tick', ticks(at.id));
  await foreign.until('its tick', ticks(`${at.id}-2`));
  expect(foreign.heard.filter((event) => event['id'] === at.id)).toEqual([]);
  for (const id of [at.id, `${at.id}-2`]) await operator.ok('cron_cancel', { ...at, id });
});

verifies('cron:now', async (scenario) => {
  const { ann, at } = await stageOf(scenario);
  const task = { tool: 'stream_enqueue', arguments: { stream: at.id, task: 1, workspace: at.workspace } };
  await ann.caller.ok('cron_schedule', { ...at, task, enabled: false });
  const headers = { 'idempotency-key': newName('key') };
  const runs = await Promise.all([0, 1, 0, 1].map((gateway) => ann.caller.ok('cron_run', at, { headers, gateway })));
  expect(new Set(runs.map((run) => JSON.stringify(run))).size).toBe(1);
  expect(runs[0]).toMatchObject({ run: { status: 'ok', result: { seq: 1 } } });
  const stream = { stream: at.id, workspace: at.workspace };
  expect(await ann.caller.ok('stream_info', stream)).toMatchObject({ pending: 1 });
  const { history } = await ann.caller.ok<Listed>('cron_list', at);
  expect(history).toMatchObject([{ tick: null, status: 'ok' }]);
  await ann.caller.ok('cron_cancel', at);
});

verifies('cron:session', async (scenario) => {
  const { operator, ann, at } = await stageOf(scenario);
  const bob = await addMember(scenario.place, at.workspace, 'editor');
  const runs = async ({ caller }: typeof ann, tool: string, args: Fields = {}) => {
    await caller.ok('cron_schedule', { ...at, task: { tool, arguments: args }, enabled: false });
    const { run } = await caller.ok<{ run: Fields }>('cron_run', at);
    expect(run).toMatchObject({ status: 'ok' });
    return run['result'];
  };
  const brain = newName('b');
  const untouched = await runs(ann, 'brain_stack');
  await runs(ann, 'brain_push', { name: brain, create: true });
  expect(await runs(ann, 'brain_current')).toMatchObject({ current: brain });
  for (const next of [bob, ann]) {
    await operator.ok('cron_cancel', at);
    expect(await runs(next, 'brain_stack')).toEqual(untouched);
  }
});
