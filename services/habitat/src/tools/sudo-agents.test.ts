import { expect, test } from 'vitest';
import { freshId, sudoBed } from '../../testing/sudo-test-bed.ts';
import { codeOf, enrol } from '../../testing/test-people.ts';
import { useHabitat } from '../../testing/test-habitat.ts';

const { node } = useHabitat();
const bed = sudoBed(node);

test('nobody grants to themselves, except an operator', async () => {
  const { owner, admin, other, taskId } = await bed.cast();
  expect(await owner.code('sudo_grant', { agentId: owner.id, capability: 'read' })).toBe('FORBIDDEN');
  expect(await admin.code('sudo_grant', { agentId: admin.id, capability: 'read' })).toBe('FORBIDDEN');
  expect(await owner.code('svc_sudo_grant', { taskId, scope: 'read' })).toBe('FORBIDDEN');
  const own = String((await admin.call('svc_sudo_createTask')).taskId);
  expect(await admin.code('svc_sudo_grant', { taskId: own, scope: 'network' })).toBe('FORBIDDEN');
  expect(await other.code('sudo_grant', { agentId: owner.id, capability: 'network' })).toBe('FORBIDDEN');
  const operators = { subject: { agentId: owner.id, workspace: 'default' } };
  const granted = await node.call('sudo_grant', { agentId: owner.id, capability: 'canSudo' }, operators);
  expect(granted).toEqual({ agentId: owner.id, granted: 'sudo', expiresAt: expect.any(Number) });
  expect(await node.audited('principal', `agent:${owner.id}`)).toEqual(['sudo:granted']);
});

test('the whole covers its parts and not the other way round', async () => {
  const { owner, admin } = await bed.cast();
  const agent = (action: string) => owner.call('sudo_can', { agentId: owner.id, action });
  await admin.call('sudo_grant', { agentId: owner.id, capability: 'canNetwork' });
  expect(await agent('network:x.org')).toMatchObject({ allowed: true, because: 'network', action: 'network:x.org' });
  expect(await agent('exec')).toMatchObject({ allowed: false, because: 'no-grant' });
  expect(await admin.call('sudo_revoke', { agentId: owner.id, capability: 'network' })).toEqual({
    agentId: owner.id,
    revoked: true,
    scope: 'network',
  });
  await admin.call('sudo_grant', { agentId: owner.id, capability: 'network:x.org' });
  expect(await agent('network:x.org')).toMatchObject({ allowed: true });
  for (const action of ['network:y.org', 'network']) expect(await agent(action)).toMatchObject({ allowed: false });
  expect(await agent('fly')).toEqual({ agentId: owner.id, action: 'fly', allowed: false, because: 'unknown-action' });
  for (const capability of ['fly', 'network:', 'admin:x']) {
    expect(await codeOf(node.call('sudo_grant', { agentId: owner.id, capability }))).toBe('E_SUDO_SCOPE');
    expect(await codeOf(node.call('sudo_revoke', { agentId: owner.id, capability }))).toBe('E_SUDO_SCOPE');
  }
});

test('whoever holds sudo passes on what it also holds, at home, and no longer than it holds it', async () => {
  const { owner: deputy, other, admin, stranger, taskId } = await bed.cast();
  const give = (capability: string, agentId = other.id) => deputy.code('sudo_grant', { agentId, capability });
  await node.call('sudo_grant', { agentId: deputy.id, capability: 'sudo' });
  expect(await give('network')).toBe('FORBIDDEN');
  await admin.call('sudo_grant', { agentId: deputy.id, capability: 'network' });
  await node.call('sudo_grant', { agentId: deputy.id, capability: 'exec' });
  expect(await give('network')).toBeNull();
  expect(await give('exec')).toBe('FORBIDDEN');
  expect(await give('network', deputy.id)).toBe('FORBIDDEN');
  expect(await give('network', stranger.id)).toBe('AGENT_NOT_FOUND');
  expect(await deputy.code('svc_sudo_grant', { taskId, scope: 'network' })).toBe('FORBIDDEN');
  const theirs = String((await other.call('svc_sudo_createTask')).taskId);
  expect(await deputy.code('svc_sudo_grant', { taskId: theirs, scope: 'network' })).toBeNull();
  await bed.sql(
    `UPDATE habitat.sudo_grants SET expires_at = clock_timestamp() + interval '5 seconds'
     WHERE principal = $1 AND scope = 'sudo'`,
    `agent:${deputy.id}`,
  );
  const { expiresAt } = await deputy.call('sudo_grant', { agentId: other.id, capability: 'network' });
  expect(Number(expiresAt) - Date.now()).toBeLessThan(6000);
  await bed.expire('sudo_grants', 'principal', `agent:${deputy.id}`);
  expect(await give('network')).toBe('FORBIDDEN');
});

test('a grant opens nothing for others, nor for a task of a child', async () => {
  const { owner: parent, other, admin } = await bed.cast();
  const child = await enrol(node, freshId(), { workspace: 'kids', parent: parent.id });
  const task = String((await child.call('svc_sudo_createTask')).taskId);
  const own = String((await parent.call('svc_sudo_createTask')).taskId);
  await node.call('sudo_grant', { agentId: parent.id, capability: 'network' });
  expect(await node.call('sudo_can', { agentId: other.id, action: 'network' })).toMatchObject({ allowed: false });
  expect(await node.call('sudo_can', { agentId: child.id, action: 'network' })).toMatchObject({ allowed: false });
  for (const taskId of [task, own]) {
    expect(await node.call('svc_sudo_can', { taskId, scope: 'network' })).toMatchObject({ allowed: false });
  }
  expect(await admin.call('sudo_can', { agentId: parent.id, action: 'network' })).toMatchObject({ allowed: true });
  expect(await other.code('sudo_can', { agentId: parent.id, action: 'network' })).toBe('FORBIDDEN');
  expect(await other.code('sudo_can', { agentId: 'unheard-of', action: 'network' })).toBe('FORBIDDEN');
});

test('a later role does not bring back what ended with the last one', async () => {
  const { owner, taskId } = await bed.cast(['write']);
  await node.call('sudo_grant', { agentId: owner.id, capability: 'network' });
  await node.call('svc_sudo_grant', { taskId, scope: 'exec' });
  const { roles } = await node.registry.context({ agentId: owner.id });
  const held = Object.entries(roles).flatMap(([workspaceId, some]) => some.map((role) => ({ workspaceId, role })));
  for (const tool of ['svc_habitat_removeRole', 'svc_habitat_addRole']) {
    for (const place of held) await node.call(tool, { ...place, userId: owner.id });
  }
  const { allowed } = await node.registry.sudo({ principal: `agent:${owner.id}`, scope: 'network' });
  expect(allowed).toBe(false);
  for (const scope of ['write', 'exec']) expect(await bed.can(owner, taskId, scope)).toMatchObject({ allowed: false });
  expect(await codeOf(node.call('svc_sudo_grant', { taskId, scope: 'exec' }))).toBe('E_SUDO_TASK_ABSENT');
});

test('what an identity held ends with its last role', async () => {
  const { owner } = await bed.cast();
  await node.call('sudo_grant', { agentId: owner.id, capability: 'network' });
  const ask = () => node.registry.sudo({ principal: `agent:${owner.id}`, scope: 'network' });
  expect(await ask()).toMatchObject({ allowed: true });
  await bed.sql('DELETE FROM habitat.roles WHERE user_id = $1', owner.id);
  expect(await ask()).toEqual({ allowed: false, because: 'no-grant' });
  expect(await codeOf(node.call('sudo_grant', { agentId: owner.id, capability: 'network' }))).toBe('AGENT_NOT_FOUND');
  expect(await codeOf(node.call('sudo_grant', { agentId: 'unheard-of', capability: 'read' }))).toBe('AGENT_NOT_FOUND');
});

test('what somebody held by a role in a workspace ends with that role, and what an operator gave does not', async () => {
  const { owner, admin, taskId } = await bed.cast(['write', 'network']);
  await node.call('svc_habitat_createWorkspace', { workspaceId: 'elsewhere' });
  const { workspace: workspaceId } = await admin.call('svc_sudo_getTask', { taskId });
  const change = (tool: 'addRole' | 'removeRole', place: object) =>
    node.call(`svc_habitat_${tool}`, { userId: owner.id, role: 'editor', workspaceId, ...place });
  const agent = async (scope: string) => (await node.registry.sudo({ principal: `agent:${owner.id}`, scope })).allowed;
  const task = async (scope: string) => (await node.call('svc_sudo_can', { taskId, scope }))['allowed'];
  await change('addRole', { workspaceId: 'elsewhere' });
  await admin.call('svc_sudo_grant', { taskId, scope: 'network' });
  await admin.call('sudo_grant', { agentId: owner.id, capability: 'network' });
  await node.call('sudo_grant', { agentId: owner.id, capability: 'exec' });

  await change('removeRole', { workspaceId: 'elsewhere' });
  await change('addRole', { workspaceId: 'elsewhere' });
  expect([await task('write'), await task('network'), await agent('network')]).toEqual([true, true, true]);

  await change('addRole', { role: 'viewer' });
  await change('removeRole', {});
  expect([await task('write'), await task('network'), await agent('network')]).toEqual([false, true, true]);

  await change('removeRole', { role: 'viewer' });
  expect([await task('network'), await agent('network'), await agent('exec')]).toEqual([false, false, true]);
  await change('addRole', {});
  expect([await task('write'), await task('network'), await agent('network')]).toEqual([false, false, false]);
});
