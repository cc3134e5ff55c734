import { expect, test } from 'vitest';
import { codeOf, enrol } from '../../testing/test-people.ts';
import { useHabitat } from '../../testing/test-habitat.ts';

type Fields = Record<string, unknown>;

const { node } = useHabitat();

const spawned = async (args: Fields = {}): Promise<string> => String((await node.call('agent_spawn', args)).agentId);
const delegate = (id: string) => node.call('svc_agents_delegate_mcp', { id, task: 'count the stars' });

test('a delegated task is kept with its event, and the agent works until it ends', async () => {
  const id = await spawned({ team: 'one' });
  const { taskId, ...rest } = await delegate(id);
  expect(rest).toEqual({ delegated: true, agentId: id, stream: `agent:${id}`, status: 'queued' });
  expect(taskId).toMatch(/^task_[0-9a-f]{32}$/);
  expect(await node.rows('SELECT task_id, agent_id, task, status, "by" FROM habitat.agent_tasks')).toEqual([
    { task_id: taskId, agent_id: id, task: 'count the stars', status: 'queued', by: 'operator' },
  ]);
  expect(await node.rows("SELECT workspace, payload FROM habitat.outbox WHERE name = 'agent:delegated'")).toEqual([
    {
      workspace: 'org-one',
      payload: { agentId: id, taskId, stream: `agent:${id}`, by: 'operator', parties: [id, 'operator'] },
    },
  ]);
  const stateOf = async () => ((await node.call('agent_list', { workspace: 'org-one' })).agents as Fields[])[0]?.state;
  expect(await stateOf()).toBe('working');
  await node.deps.store.client.$executeRawUnsafe(`UPDATE habitat.agent_tasks SET ended_at = now() - interval '1 ms'`);
  expect(await stateOf()).toBe('idle');
});

test('only who may command an agent puts tasks into its inbox', async () => {
  const id = await spawned({ team: 'two' });
  const viewer = await enrol(node, 'v2', { role: 'viewer', workspace: 'org-two' });
  const editor = await enrol(node, 'e2', { role: 'editor', workspace: 'org-two' });
  const stranger = await enrol(node, 's2', { role: 'admin' });
  const creator = await enrol(node, 'c2', { role: 'editor' });
  const args = { id, task: 'x' };
  expect(await viewer.code('svc_agents_delegate_mcp', args)).toBe('FORBIDDEN');
  expect(await editor.code('svc_agents_delegate_mcp', args)).toBeNull();
  expect(await stranger.call('svc_agents_delegate_mcp', args)).toEqual({
    delegated: false,
    error: `AGENT_NOT_FOUND: ${id}`,
    code: 'AGENT_NOT_FOUND',
  });
  expect(await stranger.call('svc_agents_delegate_mcp', { ...args, id: 'ghost' })).toEqual({
    delegated: false,
    error: 'AGENT_NOT_FOUND: ghost',
    code: 'AGENT_NOT_FOUND',
  });
  const { agentId } = await creator.call('agent_spawn', { team: 'of-c2' });
  expect(await creator.code('svc_agents_delegate_mcp', { id: agentId, task: 'x' })).toBeNull();
});

test('a quarantined agent gets no task and gives none', async () => {
  const id = await spawned();
  const editor = await enrol(node, 'e3', { role: 'editor' });
  await node.call('trust_record', { entityId: id, type: 'quarantine' });
  expect(await delegate(id)).toMatchObject({ delegated: false, code: 'E_QUARANTINED' });
  await node.call('trust_record', { entityId: id, type: 'release' });
  expect(await editor.code('svc_agents_delegate_mcp', { id, task: 'x' })).toBeNull();
  await node.call('trust_record', { entityId: 'e3', type: 'quarantine' });
  expect(await editor.code('svc_agents_delegate_mcp', { id, task: 'x' })).toBe('E_QUARANTINED');
});

test('an inbox takes a thousand open tasks', async () => {
  const id = await spawned();
  await node.deps.store.client.$executeRawUnsafe(
    `INSERT INTO habitat.agent_tasks (task_id, agent_id, task, status, "by", at)
     SELECT 'task_' || $1 || n, $1, 'x', 'queued', 'test', now() FROM generate_series(1, 999) n`,
    id,
  );
  expect(await codeOf(delegate(id))).toBeNull();
  expect(await delegate(id)).toMatchObject({ delegated: false, code: 'E_INBOX_FULL' });
  await node.deps.store.client.$executeRawUnsafe(
    `UPDATE habitat.agent_tasks SET ended_at = now() - interval '1 ms' WHERE task_id = $1`,
    `task_${id}1`,
  );
  expect(await codeOf(delegate(id))).toBeNull();
});

test('tasks and messages are 1 to 4096 characters of text', async () => {
  const id = await spawned();
  for (const words of ['', 'x'.repeat(4097), 'a\0b', '\ud800']) {
    expect(await codeOf(node.call('svc_agents_delegate_mcp', { id, task: words }))).toBe('VAF_INPUT_INVALID');
    expect(await codeOf(node.call('svc_agents_broadcast', { message: words }))).toBe('VAF_INPUT_INVALID');
  }
});

test('a message goes to every live agent of the workspace and to no other', async () => {
  const ids = [await spawned({ team: 'six', name: 'a' }), await spawned({ team: 'six', name: 'b' })];
  const dead = await spawned({ team: 'six', name: 'c' });
  await node.call('agent_kill', { id: dead });
  const other = await spawned({ team: 'six-other' });
  const sent = await node.call('svc_agents_broadcast', { message: 'hello', workspace: 'org-six' });
  expect(sent).toEqual({
    broadcast: true,
    id: expect.stringMatching(/^msg_/),
    workspace: 'org-six',
    count: 2,
    results: [
      { agentId: ids[0], name: 'a', queued: true },
      { agentId: ids[1], name: 'b', queued: true },
    ],
  });
  expect(JSON.stringify(sent)).not.toContain(other);
  expect(
    await node.rows('SELECT message, recipients FROM habitat.agent_messages WHERE message_id = $1', sent.id),
  ).toEqual([{ message: 'hello', recipients: ids }]);
  expect(await node.rows("SELECT workspace, payload FROM habitat.outbox WHERE name = 'agent:messaged'")).toEqual([
    {
      workspace: 'org-six',
      payload: { messageId: sent.id, channel: 'agents:org-six', count: 2, by: 'operator' },
    },
  ]);
  await node.call('svc_habitat_createWorkspace', { workspaceId: 'empty6' });
  expect(await node.call('svc_agents_broadcast', { message: 'x', workspace: 'empty6' })).toMatchObject({ count: 0 });
});

test('editors of the workspace send, ten times a minute', async () => {
  const viewer = await enrol(node, 'v7', { role: 'viewer', workspace: 'org-seven' });
  const editor = await enrol(node, 'e7', { role: 'editor', workspace: 'org-seven' });
  const foreign = await enrol(node, 'f7', { role: 'admin', workspace: 'org-other7' });
  const args = { message: 'x', workspace: 'org-seven' };
  expect(await viewer.code('svc_agents_broadcast', args)).toBe('FORBIDDEN');
  expect(await foreign.code('svc_agents_broadcast', args)).toBe('FORBIDDEN');
  expect(await foreign.code('svc_agents_broadcast', { ...args, workspace: 'nowhere' })).toBe('FORBIDDEN');
  const codes = await Promise.all(Array.from({ length: 12 }, () => editor.code('svc_agents_broadcast', args)));
  expect(codes.filter((code) => code === null)).toHaveLength(10);
  expect(codes.filter((code) => code === 'E_RATE_LIMIT')).toHaveLength(2);
  expect(await editor.call('svc_agents_broadcast', { message: 'x' }).catch(String)).toMatchObject({
    code: 'E_RATE_LIMIT',
  });
});
