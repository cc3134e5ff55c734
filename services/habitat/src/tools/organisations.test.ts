import { expect, test } from 'vitest';
import { codeOf, enrol, withTokenOf } from '../../testing/test-people.ts';
import { useHabitat } from '../../testing/test-habitat.ts';

type Fields = Record<string, unknown>;

const { node } = useHabitat();

const give = (userId: string, workspaceId: string, role: string) =>
  node.call('svc_habitat_addRole', { userId, workspaceId, role });

async function userIn(userId: string, role = 'viewer') {
  await give(userId, 'default', role);
  return withTokenOf(node, userId);
}

test('permissions of an organisation count inside it alone until an operator confirms it', async () => {
  const vic = await userIn('vic');
  const { id: org } = await vic('teams_createOrg', { name: 'Vic and friends' });
  await vic('teams_createRole', { name: 'All', org, permissions: ['*'] });
  expect(await vic('teams_assign', { agentId: 'vic', role: 'All' })).toMatchObject({ org });
  const { token } = await vic('auth_create', { userId: 'vic' });
  const allowed = async (wish: Fields = {}) =>
    (await node.call('auth_require', { token, permission: 'deploy', ...wish })).allowed;
  const has = async (call: typeof vic, wish: Fields = {}) =>
    (await call('teams_hasPermission', { agentId: 'vic', permission: 'deploy', ...wish })).hasPermission;
  const { id: other } = await node.call('teams_createOrg', { name: 'Other' });

  expect([await allowed(), await allowed({ org }), await allowed({ org: 'VIC AND FRIENDS' })]).toEqual([
    false,
    true,
    true,
  ]);
  expect([await allowed({ org: other }), await allowed({ org: 'nobody' })]).toEqual([false, false]);
  expect([await has(vic), await has(vic, { org }), await has(vic, { org: other })]).toEqual([true, true, false]);
  expect([await has(node.call), await has(node.call, { org })]).toEqual([false, true]);
  expect(await codeOf(vic('teams_confirmOrg', { org }))).toBe('FORBIDDEN');
  expect(await node.call('teams_confirmOrg', { org })).toMatchObject({ id: org, confirmed: true, plan: 'free' });
  expect([await allowed(), await has(node.call)]).toEqual([true, true]);
  await node.call('teams_confirmOrg', { org, confirmed: false });
  expect([await allowed(), await allowed({ org }), await has(node.call)]).toEqual([false, true, false]);
});

test('whoever makes a workspace is admin there, and proves nothing by it to others', async () => {
  const wil = await userIn('wil');
  await wil('svc_habitat_createWorkspace', { workspaceId: 'of-wil' });
  const { agentId } = await wil('agent_spawn', { team: 'wils' });
  const asAgent = await withTokenOf(node, String(agentId));
  const { workspace } = (await node.registry.context({ agentId: String(agentId) })).subject ?? {};
  for (const [call, userId, where] of [
    [wil, 'wil', 'of-wil'],
    [asAgent, agentId, workspace],
  ] as const) {
    const there = { session: 'a'.repeat(64), subject: { userId: String(userId), workspace: String(where) } };
    expect(await codeOf(call('auth_create', { userId, roles: ['admin'] }, there))).toBe('FORBIDDEN');
  }
});

test('plan and bucket follow an organisation that is confirmed', async () => {
  const owner = await userIn('ora', 'admin');
  const { token } = await node.call('svc_habitat_mintToken', { agentId: 'ora' });
  const seen = async () => {
    const { token: known } = await node.registry.subject({ token: String(token) });
    return [known?.org, known?.plan, (await node.registry.plan({ agentId: 'ora' })).plan];
  };
  const { id: org } = await owner('teams_createOrg', { name: 'Ora' });
  await owner('teams_assign', { agentId: 'ora', org });
  expect(await seen()).toEqual([null, null, null]);
  await node.call('teams_confirmOrg', { org, plan: 'pro' });
  expect(await seen()).toEqual([org, 'pro', 'pro']);
  expect(await node.call('teams_confirmOrg', { org, confirmed: false })).toMatchObject({ plan: 'free' });
  expect(await seen()).toEqual([null, null, null]);
});

test('nobody is brought into an organisation by others, and everybody may leave', async () => {
  const boss = await enrol(node, 'boss', { role: 'admin' });
  const vera = await userIn('vera', 'editor');
  const { id: org } = await vera('teams_createOrg', { name: 'Trap' });
  expect(await codeOf(vera('teams_assign', { agentId: 'boss', org }))).toBe('FORBIDDEN');
  // A role in a workspace of one's own makes nobody a guard of anybody.
  await vera('svc_habitat_createWorkspace', { workspaceId: 'trap' });
  await vera('svc_habitat_addRole', { workspaceId: 'trap', userId: 'newcomer', role: 'viewer' });
  await give('newcomer', 'default', 'viewer');
  expect(await codeOf(vera('teams_assign', { agentId: 'newcomer', org }))).toBe('FORBIDDEN');
  expect(await codeOf(vera('trust_record', { entityId: 'newcomer', type: 'quarantine' }))).toBe('FORBIDDEN');
  const { agentId } = await vera('agent_spawn', {});
  expect(await vera('teams_assign', { agentId, org })).toMatchObject({ org });
  await node.call('teams_assign', { agentId: 'boss', org });
  expect(await codeOf(vera('teams_leave', { agentId: 'newcomer' }))).toBe('FORBIDDEN');
  const { id: own } = await boss.call('teams_createOrg', { name: 'Of the boss' });
  expect(await boss.call('teams_assign', { agentId: 'boss', org: own })).toMatchObject({ org: own });
  expect(await boss.call('teams_leave')).toEqual({ left: true, agentId: 'boss', org: own });
  expect(await boss.call('teams_leave')).toEqual({ left: false, agentId: 'boss', org: null });
  expect(await vera('teams_leave', { agentId })).toMatchObject({ left: true, org });
});

test('names of parts mean those of confirmed organisations, whoever else uses them', async () => {
  const isMember = async (owner: string) => (await node.registry.member({ owner, agentId: 'yan' })).member;
  await userIn('yan');
  const { id: org } = await node.call('teams_createOrg', { name: 'Real' });
  const { id: dept } = await node.call('teams_createDept', { name: 'Named', org });
  await node.call('teams_assign', { agentId: 'yan', dept });
  expect([await isMember('org:real'), await isMember('dept:named')]).toEqual([true, true]);
  const zed = await userIn('zed');
  const { id: fake } = await zed('teams_createOrg', { name: 'Fake' });
  await zed('teams_createDept', { name: 'named', org: fake });
  expect(await isMember('dept:named')).toBe(true);
  await node.call('teams_confirmOrg', { org: fake });
  expect([await isMember('dept:named'), await isMember(`dept:${String(dept)}`)]).toEqual([false, true]);
});
