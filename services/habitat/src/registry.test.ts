import { expect, test } from 'vitest';
import { enrol } from '../testing/test-people.ts';
import { useHabitat } from '../testing/test-habitat.ts';

const { node } = useHabitat();

test('a fresh registry has one workspace, no roles, and says what it stands at', async () => {
  const { stamp, current } = await node.registry.revision('s');
  expect(stamp).toEqual({ rev: 1, policies: 1, settings: 1 });
  expect(current).toBeNull();
  expect(await node.registry.roles({ userId: 'u', workspaceId: 'default' })).toEqual({
    stamp,
    known: true,
    roles: [],
  });
  expect(await node.registry.roles({ userId: 'u', workspaceId: 'ghost' })).toMatchObject({ known: false });
  expect(await node.registry.subject({ token: `svc_${'0'.repeat(64)}` })).toMatchObject({ token: null });
  expect(await node.registry.context({ agentId: 'u' })).toMatchObject({ subject: null });
  expect(await node.registry.attached({ root: 'brain:svc', prefixes: ['_island:'] })).toEqual({
    stamp,
    policies: {},
  });
});

test('a workspace is confirmed when an operator made it, or made somebody admin there', async () => {
  const maker = await enrol(node, 'maker');
  await maker.call('svc_habitat_createWorkspace', { workspaceId: 'made' });
  await node.call('svc_habitat_createWorkspace', { workspaceId: 'given', options: { owner: 'maker' } });
  const ask = async (workspaceId: string) =>
    (await node.registry.roles({ userId: 'maker', workspaceId, confirmed: true })).confirmed;
  expect([await ask('made'), await ask('given'), await ask('default'), await ask('ghost')]).toEqual([
    false,
    true,
    true,
    false,
  ]);
  await maker.call('svc_habitat_addRole', { workspaceId: 'made', userId: 'friend', role: 'admin' });
  await node.call('svc_habitat_addRole', { workspaceId: 'made', userId: 'other', role: 'editor' });
  expect(await ask('made')).toBe(false);
  await node.call('svc_habitat_addRole', { workspaceId: 'made', userId: 'other', role: 'admin' });
  expect(await ask('made')).toBe(true);
});

test('the registry stands where it stood after a change that is denied, that is made already, or that nobody has to know', async () => {
  const rev = async () => (await node.registry.revision()).stamp.rev;
  const make = (owner: string, key: string) =>
    node.call('svc_habitat_createWorkspace', { workspaceId: 'once', options: { owner } }, { idempotencyKey: key });
  const first = await rev();
  expect(await make('ada', 'k1')).toMatchObject({ created: true });
  const made = await rev();
  expect(made).toBe(first + 1);
  expect(await make('ada', 'k1')).toMatchObject({ created: true });
  expect(await make('bob', 'k2')).toMatchObject({ code: 'HABITAT_WORKSPACE_EXISTS' });
  await node.call('svc_audit_log', { event: 'test:noted', data: {} });
  expect(await rev()).toBe(made);
});

test('boundaries are copied with all that is below, once, and none that is there is changed', async () => {
  const policyOf = async (resource: string) =>
    (await node.registry.policies({ resources: [resource] })).policies[resource];
  const set = (resource: string, readableBy: string[]) =>
    node.call('svc_habitat_setPolicy', { resource, policy: { readableBy, container: 'default' } });
  await set('brain:old', ['role:admin']);
  await set('brain:old/hr', ['user:ada']);
  await set('brain:older', ['user:bob']);
  const wish = { from: 'brain:old', to: 'brain:new', by: 'ada' };
  const before = (await node.registry.revision()).stamp;
  const { copied, stamp } = await node.registry.copyPolicies(wish);
  expect(copied).toBe(2);
  expect(stamp.policies).toBeGreaterThan(before.policies);
  expect(await policyOf('brain:new/hr')).toEqual(await policyOf('brain:old/hr'));
  expect(await policyOf('brain:new')).toMatchObject({ readableBy: ['role:admin'] });
  expect(await policyOf('brain:newer')).toBeUndefined();
  expect(await node.registry.copyPolicies(wish)).toMatchObject({ copied: 0 });
  await set('brain:old/pay', ['user:ada']);
  await set('brain:new/hr', ['user:eve']);
  expect(await node.registry.copyPolicies(wish)).toMatchObject({ copied: null });
  expect(await policyOf('brain:new/pay')).toBeUndefined();
  expect(await policyOf('brain:new/hr')).toMatchObject({ readableBy: ['user:eve'] });
});
