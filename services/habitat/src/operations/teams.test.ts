import { expect, test } from 'vitest';
import { teamGrants } from '../store/team-permissions.ts';
import { enrol } from '../../testing/test-people.ts';
import { useHabitat } from '../../testing/test-habitat.ts';

const { node } = useHabitat();

const make = async (tool: string, args: Record<string, unknown>): Promise<string> =>
  String((await node.call(tool, args)).id);
const isMember = async (owner: string, agentId: string) => (await node.registry.member({ owner, agentId })).member;
/** Under what events address who has its token, sorted. */
const addressesOf = async (agentId: string): Promise<readonly string[]> => {
  const { token } = await node.call('svc_habitat_mintToken', { agentId });
  return [...((await node.registry.subject({ token: String(token) })).token?.accounts ?? [])].sort();
};
const isGroup = (address: string): boolean => address.startsWith('in:');
/** Accounts that its token may read, sorted. */
const accountsOf = async (agentId: string) => (await addressesOf(agentId)).filter((address) => !isGroup(address));
const groupsOf = async (agentId: string) => (await addressesOf(agentId)).filter(isGroup);
const account = async (id: string, by?: string) => {
  const { stamp: _stamp, ...answer } = await node.registry.account({ account: id, by });
  return answer;
};

test('who belongs to what, by id or by a name that is there once', async () => {
  const agent = await make('agent_spawn', { team: 'one', name: 'solo' });
  const org = await make('teams_createOrg', { name: 'One' });
  const dept = await make('teams_createDept', { name: 'Dept', org });
  const team = await make('teams_createTeam', { name: 'Team', dept });
  await node.call('teams_assign', { agentId: agent, team });
  for (const owner of [
    `org:${org}`,
    'org:one',
    `dept:${dept}`,
    'dept:DEPT',
    `team:${team}`,
    'team:team',
    'workspace:org-one',
    `agent:${agent}`,
    'agent:solo',
  ]) {
    expect([owner, await isMember(owner, agent)]).toEqual([owner, true]);
    expect([owner, await isMember(owner, 'somebody')]).toEqual([owner, false]);
  }
  for (const owner of ['org:none', 'team:', 'crew:x', 'org', '', 'agent:ghost', 'workspace:default', `org:${team}`]) {
    expect([owner, await isMember(owner, agent)]).toEqual([owner, false]);
  }
  expect(await groupsOf(agent)).toEqual([`in:dept:${dept}`, `in:org:${org}`, `in:team:${team}`]);
  expect((await node.registry.member({ owner: 'team:TEAM', agentId: agent })).owner).toBe(`team:${team}`);
  // a name that comes to mean two things means none, an id still its own
  const other = await make('teams_createOrg', { name: 'Other' });
  await make('teams_createDept', { name: 'dept', org: other });
  expect(await isMember('dept:Dept', agent)).toBe(false);
  expect(await isMember(`dept:${dept}`, agent)).toBe(true);
  await make('agent_spawn', { name: 'solo' });
  expect(await isMember('agent:solo', agent)).toBe(false);
  await node.call('svc_habitat_addRole', { workspaceId: 'default', userId: 'bob', role: 'viewer' });
  await make('agent_spawn', { name: 'bob' });
  expect(await isMember('agent:bob', 'bob')).toBe(true);
});

test('the plan is that of the organisation, from the next question on', async () => {
  const agent = await make('agent_spawn', {});
  const planOf = async () => (await node.registry.plan({ agentId: agent })).plan;
  expect(await planOf()).toBeNull();
  const { stamp } = await node.registry.revision();
  const org = await make('teams_createOrg', { name: 'Paid', plan: 'pro' });
  await node.call('teams_assign', { agentId: agent, org });
  expect((await node.registry.revision()).stamp.rev).toBeGreaterThan(stamp.rev);
  expect(await planOf()).toBe('pro');
  const { token } = await node.call('svc_habitat_mintToken', { agentId: agent });
  expect((await node.registry.subject({ token: String(token) })).token).toMatchObject({ org, plan: 'pro' });
});

test('an account is an identity’s, an organisation’s or nobody’s, and says who may use it', async () => {
  const owner = await enrol(node, 'acc-owner', { role: 'admin' });
  for (const id of ['acc-spender', 'acc-member']) await enrol(node, id, { role: 'viewer' });
  const { id } = await owner.call('teams_createOrg', { name: 'Acc' });
  const org = String(id);
  const { id: spender } = await owner.call('teams_createRole', { name: 'S', org, permissions: ['spend'] });
  await owner.call('teams_assign', { agentId: 'acc-spender', role: spender });
  await owner.call('teams_assign', { agentId: 'acc-member', org });
  const all = { kind: 'org', maySpend: true, mayRead: true };
  expect(await account(org, 'acc-owner')).toEqual(all);
  expect(await account(org, 'acc-spender')).toEqual(all);
  expect(await account(org, 'acc-member')).toEqual({ ...all, maySpend: false });
  expect(await account(org, 'stranger')).toEqual({ kind: 'org', maySpend: false, mayRead: false });
  expect(await account(org)).toEqual({ kind: 'org', maySpend: false, mayRead: false });
  expect(await account('acc-member', 'acc-member')).toEqual({ kind: 'identity', maySpend: true, mayRead: true });
  expect(await account('acc-member', 'acc-owner')).toEqual({ kind: 'identity', maySpend: false, mayRead: false });
  expect(await account('ghost', 'ghost')).toEqual({ kind: null, maySpend: false, mayRead: false });
  expect(await account('Acc', 'acc-owner')).toEqual({ kind: null, maySpend: false, mayRead: false });
  const agent = await make('agent_spawn', {});
  expect(await account(agent)).toMatchObject({ kind: 'identity' });
  await node.call('agent_kill', { id: agent });
  expect(await account(agent, agent)).toEqual({ kind: null, maySpend: false, mayRead: false });
  expect(await teamGrants(node.deps.store.client, 'acc-spender', 'spend', org)).toBe(true);
  expect(await teamGrants(node.deps.store.client, 'acc-member', 'spend', org)).toBe(false);
  expect(await teamGrants(node.deps.store.client, 'ghost', 'spend')).toBe(false);
});

test('who takes the id of an organisation as a name gets nothing of its account', async () => {
  const org = await make('teams_createOrg', { name: 'Taken' });
  await node.call('svc_habitat_addRole', { workspaceId: 'default', userId: org, role: 'viewer' });
  expect(await account(org, org)).toEqual({ kind: 'org', maySpend: false, mayRead: false });
  expect(await accountsOf(org)).toEqual([]);
});

test('a token names the accounts that its agent may read, the same that the question about an account allows', async () => {
  const owner = await enrol(node, 'names-owner', { role: 'admin' });
  const orgs = [];
  for (const name of ['Names', 'Names too'])
    orgs.push(String((await owner.call('teams_createOrg', { name, desc: '' })).id));
  const [first = '', second = ''] = orgs;
  const foreign = await make('teams_createOrg', { name: 'Names of nobody' });
  const member = await make('agent_spawn', {});
  const stranger = await make('agent_spawn', {});
  await owner.call('teams_assign', { agentId: member, org: first });
  await node.call('teams_assign', { agentId: owner.id, org: foreign });
  const expected = { [owner.id]: [...orgs, foreign], [member]: [first], [stranger]: [] };
  for (const [id, readable] of Object.entries(expected)) {
    expect(await accountsOf(id)).toEqual([id, ...readable].sort());
    for (const one of [...orgs, foreign, owner.id, member, stranger]) {
      expect([id, one, (await account(one, id)).mayRead]).toEqual([id, one, one === id || readable.includes(one)]);
    }
  }

  const { stamp } = await node.registry.revision();
  await node.call('teams_assign', { agentId: member, org: second });
  expect((await node.registry.revision()).stamp.rev).toBeGreaterThan(stamp.rev);
  expect(await accountsOf(member)).toEqual([member, second].sort());
});

test('whatever changes who may read an account moves the revision in the same step', async () => {
  const owner = await enrol(node, 'moves-owner', { role: 'viewer' });
  const agent = await make('agent_spawn', {});
  const rev = async () => (await node.registry.revision()).stamp.rev;
  const moved = async (change: () => Promise<unknown>): Promise<boolean> => {
    const before = await rev();
    await change();
    return (await rev()) > before;
  };
  const name = 'Moves';
  expect(await moved(() => owner.call('teams_createOrg', { name }))).toBe(true);
  const { id: org } = await node.call('teams_getOrg', { id: name });
  const other = await make('teams_createOrg', { name: 'Moves away' });
  expect(await moved(() => node.call('teams_assign', { agentId: agent, org }))).toBe(true);
  expect(await moved(() => node.call('teams_assign', { agentId: agent, org }))).toBe(false);
  expect(await moved(() => node.call('teams_assign', { agentId: agent, org: other }))).toBe(true);
  expect(await moved(() => node.call('agent_kill', { id: agent }))).toBe(true);
});
