import { expect, test } from 'vitest';
import { enrol, withTokenOf } from '../../testing/test-people.ts';
import { useHabitat } from '../../testing/test-habitat.ts';

const { node } = useHabitat();

const give = (userId: string, workspaceId: string) =>
  node.call('svc_habitat_addRole', { userId, workspaceId, role: 'editor' });
const take = (userId: string, workspaceId: string) =>
  node.call('svc_habitat_removeRole', { userId, workspaceId, role: 'editor' });

/** Somebody with a workspace of its own, who gives roles there to whom it likes. */
async function captor(id: string) {
  const person = await enrol(node, id);
  const workspace = `of-${id}`;
  await person.call('svc_habitat_createWorkspace', { workspaceId: workspace });
  const invite = (userId: string) =>
    person.call('svc_habitat_addRole', { workspaceId: workspace, userId, role: 'viewer' });
  return { ...person, workspace, invite };
}

test('whoever gives somebody a role first, or keeps one while an operator moves them, is not their home', async () => {
  const mal = await captor('mal');
  await mal.invite('alice');
  const options = { owner: 'alice' };
  await node.call('svc_habitat_createWorkspace', { workspaceId: 'acme', options });
  const alice = await withTokenOf(node, 'alice');
  expect((await alice('svc_habitat_status')).currentWorkspace).toBe('acme');
  expect(await mal.code('sudo_grant', { agentId: 'alice', capability: 'network' })).toBe('FORBIDDEN');

  for (const workspaceId of ['before', 'after']) await node.call('svc_habitat_createWorkspace', { workspaceId });
  await give('beth', 'before');
  await mal.invite('beth');
  await give('beth', 'after');
  await take('beth', 'before');
  expect(await node.registry.context({ agentId: 'beth' })).toMatchObject({ subject: { workspace: 'after' } });
});

test('whoever was put out stays in quarantine until an operator, or where it was set, lifts it', async () => {
  const warden = await enrol(node, 'warden', { workspace: 'ward', role: 'admin' });
  const bad = await enrol(node, 'bad', { workspace: 'ward' });
  const friend = await captor('friend');
  await friend.invite(bad.id);
  const code = (who: typeof warden, type: string, entityId = bad.id) => who.code('trust_record', { entityId, type });
  expect(await code(warden, 'quarantine')).toBeNull();
  const out = { workspaceId: 'ward', userId: bad.id, role: 'editor' };
  expect(await warden.code('svc_habitat_removeRole', out)).toBeNull();
  expect(await code(friend, 'release')).toBe('FORBIDDEN');
  expect(await code(warden, 'release')).toBeNull();
  expect(await node.call('trust_getScore', { entityId: bad.id })).toMatchObject({ quarantined: false });
  // Nor does whoever invited it, or its own making, have a say over who is left with nothing else.
  expect(await code(friend, 'quarantine')).toBe('FORBIDDEN');
  await bad.call('svc_habitat_createWorkspace', { workspaceId: 'of-bad' });
  await bad.call('svc_habitat_addRole', { workspaceId: 'of-bad', userId: friend.id, role: 'admin' });
  expect(await code(friend, 'quarantine')).toBe('FORBIDDEN');
});

test('who put an agent out does not reach it any more, nor does who only invited it', async () => {
  const chief = await enrol(node, 'chief', { workspace: 'org-hall', role: 'admin' });
  const maker = await enrol(node, 'maker', { workspace: 'org-hall' });
  const guest = String((await maker.call('agent_spawn', { team: 'hall' })).id);
  const host = await captor('host');
  await host.invite(guest);
  expect(await chief.call('svc_agents_broadcast', { message: 'x', workspace: 'org-hall' })).toMatchObject({ count: 3 });
  await chief.call('svc_habitat_removeRole', { workspaceId: 'org-hall', userId: guest, role: 'editor' });
  const sent = await chief.call('svc_agents_broadcast', { message: 'x', workspace: 'org-hall' });
  expect(sent.count).toBe(2);
  expect(JSON.stringify([sent, await chief.call('agent_list')])).not.toContain(guest);
  for (const [who, code] of [
    [chief, 'AGENT_NOT_FOUND'],
    [host, 'FORBIDDEN'],
    [maker, null],
  ] as const) {
    expect(await who.code('svc_agents_delegate_mcp', { id: guest, task: 'x' })).toBe(code);
    expect(await who.code('agent_kill', { id: guest })).toBe(code);
  }
});

test('agents that were put out, or have left, take no room where they were spawned', async () => {
  const chief = await enrol(node, 'keeper', { workspace: 'org-room', role: 'admin' });
  const limited = { by: 'operator', operator: true, idempotency: null } as const;
  const limit = (value: number | null) => node.registry.changeSetting({ key: 'habitat.maxAgents', value, ...limited });
  await limit(2);
  try {
    const guest = String((await chief.call('agent_spawn', { team: 'room' })).id);
    expect(await chief.code('agent_spawn', { team: 'room' })).toBe('E_QUOTA');
    await chief.call('svc_habitat_removeRole', { workspaceId: 'org-room', userId: guest, role: 'editor' });
    expect(await chief.code('agent_spawn', { team: 'room' })).toBeNull();
    expect(await chief.code('agent_spawn', { team: 'room' })).toBe('E_QUOTA');
  } finally {
    await limit(null);
  }
});
