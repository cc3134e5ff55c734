/** Organisations: who sees them, who belongs where, and what that permits. */
import { expect } from 'vitest';
import { Caller, codeOf } from '../client.ts';
import { addMember, createMembers, memberAt, type WorkspaceMember } from '../instruments/members.ts';
import type { TargetPlace } from '../targets/target.ts';
import { KEYED, newName, verifies } from '../verifies.ts';

interface Company {
  readonly owner: WorkspaceMember;
  readonly name: string;
  readonly org: string;
}

async function company(place: TargetPlace): Promise<Company> {
  const owner = await addMember(place, 'default', 'admin');
  const name = newName('org');
  return { owner, name, org: String((await owner.caller.ok('teams_createOrg', { name })).id) };
}

const agentIn = async (place: TargetPlace): Promise<string> =>
  String((await new Caller(place).ok('agent_spawn')).agentId);

verifies('habitat:teams:names', async ({ caller }) => {
  const operator = caller();
  const run = newName('o');
  const make = (name: string, gateway: number) => operator.call('teams_createOrg', { name }, { gateway });
  const many = await Promise.all(['a', 'b', 'c', 'd'].map((letter, index) => make(`${run} ${letter}`, index)));
  expect(many.map(codeOf)).toEqual([null, null, null, null]);
  const same = await Promise.all([`${run} x`, `${run} X`, `${run.toUpperCase()} x`].map(make));
  expect(same.map((reply) => String(codeOf(reply))).sort()).toEqual(['E_DUPLICATE', 'E_DUPLICATE', 'null']);
});

verifies('habitat:teams:plan-is-bought', async ({ place, caller }) => {
  const member = await addMember(place, 'default', 'admin');
  const name = newName('org');
  await member.caller.fails('FORBIDDEN', 'teams_createOrg', { name, plan: 'pro' });
  expect(await caller().ok('teams_createOrg', { name, plan: 'pro' })).toMatchObject({ name, plan: 'pro', owner: null });
});

verifies('habitat:teams:own-making', async ({ place, caller }) => {
  const operator = caller();
  const workspace = await createMembers(place, 'editor', 'admin');
  const [editor, admin] = [memberAt(workspace, 0), memberAt(workspace, 1)];
  const { id: org } = await editor.caller.ok('teams_createOrg', { name: newName('org') });
  await editor.caller.ok('teams_createRole', { name: 'All', org, permissions: ['*'] });
  await editor.caller.ok('teams_assign', { agentId: editor.id, org, role: 'all' });
  const { token } = await operator.ok('auth_create', { userId: editor.id, roles: ['viewer'] });
  const allows = async (inside: object) =>
    (await operator.ok('auth_require', { token, permission: 'delete', ...inside })).allowed;
  expect([await allows({}), await allows({ org })]).toEqual([false, true]);
  await editor.caller.fails('FORBIDDEN', 'teams_confirmOrg', { org });
  await editor.caller.fails('FORBIDDEN', 'teams_assign', { agentId: admin.id, org });
  await operator.ok('teams_assign', { agentId: admin.id, org });
  expect(await admin.caller.ok('teams_leave', { agentId: admin.id })).toMatchObject({ left: true });
  expect(await admin.caller.ok('teams_listOrgs')).toEqual({ orgs: [] });
  await operator.ok('teams_confirmOrg', { org });
  expect(await allows({})).toBe(true);
});

verifies('habitat:teams:cycles', async ({ place }) => {
  const { owner, org } = await company(place);
  const ids = [await agentIn(place), await agentIn(place), await agentIn(place)];
  const [a = '', b = '', c = ''] = ids;
  const report = (agentId: string, reportsTo?: string) => ({ agentId, org, ...(reportsTo ? { reportsTo } : {}) });
  for (const wish of [report(b), report(a, b), report(c, a)]) await owner.caller.ok('teams_assign', wish);
  for (const wish of [report(a, a), report(b, a), report(b, c)]) {
    await owner.caller.refused('E_CYCLE', 'teams_assign', wish);
  }
  expect(await owner.caller.ok('teams_assign', report(c, b))).toMatchObject({ org, reportsTo: b });
});

verifies('habitat:teams:permissions', async ({ place }) => {
  const { owner, org } = await company(place);
  const agentId = await agentIn(place);
  await owner.caller.ok('teams_createRole', { name: 'Writer', org, permissions: ['doc:*'] });
  await owner.caller.ok('teams_assign', { agentId, org, role: 'writer' });
  const ask = (permission: string) => owner.caller.ok('teams_hasPermission', { agentId, permission });
  expect(await ask('doc:edit')).toEqual({ hasPermission: true, agentId, permission: 'doc:edit', because: 'doc:*' });
  for (const permission of ['docs', 'doc', '*']) {
    expect(await ask(permission)).toMatchObject({ hasPermission: false, because: 'no-match' });
  }
});

verifies('habitat:teams:invisible', async ({ place }) => {
  const { owner, org, name } = await company(place);
  const stranger = await addMember(place, 'default', 'admin');
  for (const reference of [org, name, name.toUpperCase()]) {
    expect(await owner.caller.ok('teams_getOrg', { id: reference })).toMatchObject({ id: org });
    const refused = await stranger.caller.refused('E_NOT_FOUND', 'teams_getOrg', { id: reference });
    expect(refused).toEqual(await stranger.caller.refused('E_NOT_FOUND', 'teams_getOrg', { id: newName('org') }));
    await stranger.caller.refused('E_NOT_FOUND', 'teams_createDept', { name: 'x', org: reference });
    await stranger.caller.refused('E_NOT_FOUND', 'teams_listDepts', { org: reference });
  }
  expect(await stranger.caller.ok('teams_listOrgs')).toEqual({ orgs: [] });
});

verifies('habitat:teams:rate', async ({ gateways }) => {
  const place = await gateways(2, { ...KEYED, SVC_RATE_LIMIT: 'on' });
  const operator = new Caller(place);
  const member = await addMember(place, 'default', 'viewer');
  const limitOf = async (gateway: number): Promise<number> => {
    const { headers } = await member.caller.call('svc_habitat_status', {}, { gateway });
    return Number(headers['x-ratelimit-limit']);
  };
  for (const [plan, limit] of [
    ['pro', 600],
    ['enterprise', 6000],
    ['free', 60],
  ] as const) {
    const { id: org } = await operator.ok('teams_createOrg', { name: newName('org'), plan });
    await operator.ok('teams_assign', { agentId: member.id, org });
    expect([plan, await limitOf(0), await limitOf(1)]).toEqual([plan, limit, limit]);
  }
});

verifies('habitat:teams:moves', async ({ place, caller }) => {
  const [here, there] = [await company(place), await company(place)];
  const agentId = await agentIn(place);
  await here.owner.caller.ok('teams_assign', { agentId, org: here.org });
  await there.owner.caller.fails('FORBIDDEN', 'teams_assign', { agentId, org: there.org });
  expect(await caller().ok('teams_assign', { agentId, org: there.org })).toMatchObject({ org: there.org });
  await here.owner.caller.fails('FORBIDDEN', 'teams_assign', { agentId, org: here.org });
});
