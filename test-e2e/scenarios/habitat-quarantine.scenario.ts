/** Quarantine: it holds for everything but reading, on every door, and for whoever was spawned. */
import { expect } from 'vitest';
import type { Caller, Fields } from '../client.ts';
import { createMembers, memberAt } from '../instruments/members.ts';
import { callerOf } from '../instruments/tenants.ts';
import { newName, verifies } from '../verifies.ts';

verifies('habitat:trust:quarantine', async ({ place, caller, fresh, socket }) => {
  const { brain } = await fresh();
  const operator = caller();
  const workspace = await createMembers(place, 'admin', 'admin');
  const [warden, held] = [memberAt(workspace, 0), memberAt(workspace, 1)];
  await operator.ok('svc_habitat_addRole', { workspaceId: 'default', userId: held.id, role: 'editor' });
  const spawned = async (spawner: Caller): Promise<Caller & { id: string }> => {
    const { agentId } = await spawner.ok('agent_spawn', { name: newName('c') });
    const { token } = await operator.ok('svc_habitat_mintToken', { agentId });
    return Object.assign(callerOf(place, String(token)), { id: String(agentId) });
  };
  const child = await spawned(held.caller);
  const grandchild = await spawned(child);
  const bystander = await spawned(operator);
  const { token } = await operator.ok('svc_habitat_mintToken', { agentId: child.id });
  const listener = await socket({ auth: { token: String(token) } });

  const changes: readonly [string, Fields][] = [
    ['governance_decide', { topic: 'deploy' }],
    ['teams_createOrg', { name: newName('o') }],
    ['svc_habitat_createWorkspace', { workspaceId: newName('w') }],
    ['svc_habitat_addRole', { workspaceId: workspace.workspace, userId: newName('u'), role: 'viewer' }],
    ['svc_habitat_setPolicy', { resource: newName('r'), policy: { container: workspace.workspace } }],
    ['svc_habitat_mintToken', { agentId: held.id }],
    ['agent_spawn', {}],
    ['svc_sudo_createTask', {}],
    ['escrow_workspaceRecordSpend', { workspaceId: workspace.workspace, amount: 1 }],
    ['brain_write', { brain, category: 'docs', filename: 'x.md', content: 'x' }],
    ['svc_lock', { action: 'acquire', brain }],
  ];
  const stopped = async (whom: Caller): Promise<void> => {
    for (const [index, [tool, args]] of changes.entries()) {
      const door = index % 2 === 0 ? '/call' : '/mcp/exec';
      expect(await whom.fails('E_QUARANTINED', tool, args, { gateway: index, door })).toMatchObject({ status: 403 });
      await whom.fails('E_QUARANTINED', 'svc_call', { name: tool, args }, { gateway: index + 1 });
    }
    await whom.ok('svc_habitat_status');
    await whom.ok('trust_getScore', { entityId: held.id });
  };

  for (const whom of [held.caller, child, grandchild]) await whom.ok('governance_decide', { topic: 'deploy' });
  await warden.caller.ok('trust_record', { entityId: held.id, type: 'quarantine' });
  for (const whom of [held.caller, child, grandchild]) await stopped(whom);
  await caller({ headers: { 'x-svc-agent': grandchild.id } }).fails('E_QUARANTINED', 'governance_decide', {
    topic: 'd',
  });
  await bystander.ok('governance_decide', { topic: 'deploy' });
  expect(await operator.ok('trust_can', { entityId: grandchild.id, action: 'vote' })).toMatchObject({
    allowed: false,
    because: 'quarantined',
  });
  expect(listener.connected).toBe(true);

  // The end of whoever was put into quarantine frees nobody; the release frees all.
  await warden.caller.ok('trust_record', { entityId: held.id, type: 'release' });
  for (const whom of [held.caller, child, grandchild]) await whom.ok('governance_decide', { topic: 'deploy' });
  await operator.ok('trust_record', { entityId: child.id, type: 'quarantine' });
  await operator.ok('agent_kill', { id: child.id });
  await grandchild.fails('E_QUARANTINED', 'governance_decide', { topic: 'deploy' });
  await operator.ok('trust_record', { entityId: child.id, type: 'release' });
  await grandchild.ok('governance_decide', { topic: 'deploy' });
});
