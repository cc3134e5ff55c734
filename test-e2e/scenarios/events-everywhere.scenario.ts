/** What tools tell the world besides their callers: an operator who only listens hears of each change, whoever made it. */
import { expect } from 'vitest';
import type { Caller, Fields } from '../client.ts';
import type { EventSocket, HeardEvent } from '../instruments/event-socket.ts';
import { createMembers, memberAt } from '../instruments/members.ts';
import { newName, type Scenario, verifies } from '../verifies.ts';

interface Stage {
  readonly operator: Caller;
  readonly listener: EventSocket;
}

/** An operator who acts, and one who listens at another gateway. */
async function stageOf({ caller, socket }: Scenario): Promise<Stage> {
  const listener = await socket({ gateway: 1 });
  expect(await listener.subscribe()).toMatchObject({ ok: true });
  return { operator: caller(), listener };
}

/** In any order: each of them with these fields. */
async function hears(
  { listener }: Stage,
  expected: readonly (readonly [name: string, fields: Fields])[],
): Promise<void> {
  for (const [name, fields] of expected) {
    const fits = (event: HeardEvent): boolean =>
      event.name === name && Object.entries(fields).every(([field, value]) => event[field] === value);
    await listener.until(`${name} ${JSON.stringify(fields)}`, fits);
  }
}

verifies('events:registry', async (scenario) => {
  const stage = await stageOf(scenario);
  const { operator } = stage;
  const { workspace, members } = await createMembers(scenario.place, 'viewer');
  const { id, caller: viewer } = memberAt({ workspace, members }, 0);
  const resource = newName('doc');
  await operator.ok('svc_habitat_setPolicy', {
    resource,
    policy: { container: workspace, readableBy: ['role:admin'] },
  });
  await viewer.fails('RLS_DENIED', 'svc_habitat_check', { resource });
  await operator.ok('svc_habitat_removePolicy', { resource });
  await operator.ok('svc_habitat_removeRole', { workspaceId: workspace, role: 'viewer', userId: id });
  await hears(stage, [
    ['workspace:created', { workspaceId: workspace }],
    ['token:minted', { agentId: id }],
    ['policy:changed', { resource }],
    ['access:denied', { resource }],
    ['policy:removed', { resource }],
    ['role:revoked', { workspace, userId: id }],
  ]);
});

verifies('events:agents', async (scenario) => {
  const stage = await stageOf(scenario);
  const { operator } = stage;
  const { id, workspace } = await operator.ok('agent_spawn', { team: newName('team') });
  await operator.ok('svc_agents_delegate_mcp', { id, task: 'Look around.' });
  await operator.ok('svc_agents_broadcast', { message: 'Look up.', workspace });
  await operator.ok('trust_record', { entityId: id, type: 'quarantine' });
  await operator.ok('trust_record', { entityId: id, type: 'release' });
  await operator.ok('agent_kill', { id });
  const permission = newName('act').toLowerCase();
  await operator.ok('trust_setRequired', { permission, minTrust: 0.6 });
  await operator.ok('governance_decide', { topic: permission });
  await hears(stage, [
    ['agent:spawned', { agentId: id }],
    ['agent:delegated', { agentId: id }],
    ['agent:messaged', { workspace }],
    ['trust:quarantined', { entityId: id }],
    ['trust:released', { entityId: id }],
    ['agent:killed', { agentId: id }],
    ['trust:required', { permission }],
    ['governance:decided', { topic: permission }],
  ]);
});

verifies('events:organisations', async (scenario) => {
  const stage = await stageOf(scenario);
  const { operator } = stage;
  const made = async (tool: string, args: Fields): Promise<string> => String((await operator.ok(tool, args)).id);
  const org = await made('teams_createOrg', { name: newName('Org') });
  await operator.ok('teams_confirmOrg', { org });
  const dept = await made('teams_createDept', { name: 'Dept', org });
  const team = await made('teams_createTeam', { name: 'Team', dept });
  const role = await made('teams_createRole', { name: 'Role', org, permissions: ['doc:*'] });
  const agentId = await made('agent_spawn', {});
  await operator.ok('teams_assign', { agentId, team, role });
  await operator.ok('teams_leave', { agentId });
  await hears(stage, [
    ['org:created', { org }],
    ['org:confirmed', { org }],
    ['dept:created', { org }],
    ['team:created', { org }],
    ['teamrole:created', { org }],
    ['team:assigned', { agentId, org }],
    ['team:left', { agentId, org }],
  ]);
});

verifies('events:names', async (scenario) => {
  const stage = await stageOf(scenario);
  const { operator } = stage;
  const [brain, to] = [newName('b'), newName('b')];
  await operator.ok('brain_switch', { name: brain, create: true });
  await operator.ok('svc_create_branch', { name: 'one', brain });
  await operator.ok('svc_branch_rename', { name: 'one', to: 'two', brain });
  await operator.ok('svc_branch_delete', { name: 'two', brain });
  await operator.ok('brain_rename', { name: brain, to });
  await hears(stage, [
    ['branch:renamed', { brain }],
    ['branch:deleted', { brain }],
    ['brain:renamed', {}],
  ]);
});

verifies('events:sudo-denied', async (scenario) => {
  const stage = await stageOf(scenario);
  const { caller: owner } = memberAt(await createMembers(scenario.place, 'editor'), 0);
  const { taskId } = await owner.ok('svc_sudo_createTask', {});
  expect(await owner.ok('svc_sudo_escalate', { taskId, scope: 'network' })).toMatchObject({ pending: true });
  await stage.operator.ok('svc_sudo_revoke', { taskId, scope: 'network' });
  await hears(stage, [['sudo:denied', { principal: `task:${String(taskId)}` }]]);
});
