import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { useHabitat } from '../../testing/test-habitat.ts';

const { node } = useHabitat();
const universe = () => node.registry;
const idOf = () => `agt_${randomUUID().replaceAll('-', '')}`;
const crewOf = (name: string, count = 3) => ({
  workspace: `crew-${name}`,
  owner: null as string | null,
  agents: Array.from({ length: count }, (_, index) => ({
    agentId: idOf(),
    name: `crew-${name}-${index + 1}`,
    role: index === 0 ? 'lead' : 'member',
  })),
});
const asOperator = { by: 'operator', operator: true };
const by = (identity: string) => ({ by: identity });
const left = async (workspace: string) => [
  await node.rows('SELECT workspace_id FROM habitat.workspaces WHERE workspace_id = $1', workspace),
  await node.rows('SELECT agent_id FROM habitat.agents WHERE workspace = $1 AND killed_at IS NULL', workspace),
  await node.rows('SELECT user_id FROM habitat.roles WHERE workspace_id = $1', workspace),
];
const enrol = (userId: string) => node.call('svc_habitat_addRole', { userId, workspaceId: 'default', role: 'editor' });

test('a crew is there whole, in a workspace of its lead; asked for again it is the same', async () => {
  const crew = crewOf('one');
  const answers = await Promise.all([1, 2, 3].map(() => universe().assemble(crew, asOperator)));
  for (const answer of answers) expect(answer).toEqual({ ok: true, value: { assembled: true } });
  const [lead, ...members] = crew.agents.map(({ agentId }) => agentId);
  expect(await node.rows('SELECT owner FROM habitat.workspaces WHERE workspace_id = $1', crew.workspace)).toEqual([
    { owner: lead },
  ]);
  const { roles } = await node.registry.context({ agentId: String(lead) });
  expect(roles).toEqual({ 'crew-one': ['admin'] });
  for (const agentId of members) {
    expect((await node.registry.context({ agentId })).roles).toEqual({ 'crew-one': ['editor'] });
  }
  const other = { ...crewOf('one'), workspace: crew.workspace };
  expect(await universe().assemble(other, asOperator)).toMatchObject({ ok: false, code: 'HABITAT_WORKSPACE_EXISTS' });
});

test('a crew of somebody is of its family, and it owns the workspace', async () => {
  await enrol('ann');
  const crew = { ...crewOf('anns'), owner: 'ann' };
  expect((await universe().assemble(crew, by('ann'))).ok).toBe(true);
  const { subject } = await node.registry.context({ agentId: crew.agents[0]?.agentId ?? '' });
  expect(subject?.family).toBe('ann');
  expect((await node.registry.context({ agentId: 'ann' })).roles).toMatchObject({ 'crew-anns': ['admin'] });
});

test('where one of three finds no room, none is there', async () => {
  const limit = (value: number | null) =>
    node.registry.changeSetting({ key: 'habitat.maxAgents', value, ...asOperator, idempotency: null });
  await limit(2);
  const crew = crewOf('full');
  expect(await universe().assemble(crew, asOperator)).toMatchObject({ ok: false, code: 'E_QUOTA' });
  await limit(null);
  expect(await left(crew.workspace)).toEqual([[], [], []]);
});

test('a family spawns crews no faster than agents, and owns no more workspaces with them', async () => {
  await enrol('bob');
  const codes: unknown[] = [];
  for (let index = 0; index < 7; index += 1) {
    const answer = await universe().assemble({ ...crewOf(`bobs${index}`, 10), owner: 'bob' }, by('bob'));
    codes.push(answer.ok ? 'assembled' : answer.code);
  }
  expect(codes).toEqual([...Array(6).fill('assembled'), 'E_RATE_LIMIT']);
  expect(await left('crew-bobs6')).toEqual([[], [], []]);
});

test('nobody in particular has no crew', async () => {
  await expect(universe().assemble(crewOf('nobodys'))).rejects.toMatchObject({ code: 'FORBIDDEN' });
});

test('a crew that is undone leaves nothing, also when it is undone again', async () => {
  const crew = { ...crewOf('undone'), owner: 'ann' };
  const wish = { workspace: crew.workspace, agentIds: crew.agents.map(({ agentId }) => agentId) };
  await universe().assemble(crew, by('ann'));
  for (let time = 0; time < 2; time += 1) {
    expect(await universe().disband(wish, by('ann'))).toEqual({ disbanded: true });
    expect(await left(crew.workspace)).toEqual([[], [], []]);
  }
  expect(await universe().assemble(crew, by('ann'))).toMatchObject({ ok: false, code: 'AGENT_NOT_FOUND' });
  expect(await left(crew.workspace)).toEqual([[], [], []]);
  const again = { ...crewOf('undone'), owner: 'ann' };
  expect((await universe().assemble(again, by('ann'))).ok).toBe(true);
});

test('the workspace of an undone crew stays for others who have come there, and takes no agents of elsewhere along', async () => {
  const crew = crewOf('visited');
  await universe().assemble(crew, asOperator);
  await node.call('svc_habitat_addRole', { userId: 'cyd', workspaceId: crew.workspace, role: 'viewer' });
  const [stranger] = crewOf('elsewhere').agents;
  await universe().assemble({ ...crewOf('elsewhere', 0), agents: stranger ? [stranger] : [] }, asOperator);
  const agentIds = [...crew.agents, stranger].map((agent) => agent?.agentId ?? '');
  await universe().disband({ workspace: crew.workspace, agentIds }, asOperator);
  expect(await left(crew.workspace)).toEqual([[{ workspace_id: crew.workspace }], [], [{ user_id: 'cyd' }]]);
  expect((await left('crew-elsewhere'))[1]).toEqual([{ agent_id: stranger?.agentId }]);
});

test('a workspace that was not made for the crew stays with whoever it belongs to, whoever asks', async () => {
  await enrol('dan');
  const workspace = 'crew-dans';
  await node.call('svc_habitat_createWorkspace', { workspaceId: workspace, options: { owner: 'dan' } });
  const crew = { ...crewOf('dans'), owner: 'ann' };
  const dans = [[{ workspace_id: workspace }], [], [{ user_id: 'dan' }]];
  const undone = { workspace, agentIds: crew.agents.map(({ agentId }) => agentId) };
  for (const asker of [by('ann'), by('dan'), asOperator]) {
    expect(await universe().assemble(crew, by('ann'))).toMatchObject({ ok: false, code: 'HABITAT_WORKSPACE_EXISTS' });
    await universe().disband(undone, asker);
    expect(await left(workspace)).toEqual(dans);
  }
});

test('what is undone again takes no workspace that somebody has made under the name since', async () => {
  await enrol('eve');
  const crew = { ...crewOf('reborn'), owner: 'ann' };
  const { workspace } = crew;
  const undone = { workspace, agentIds: crew.agents.map(({ agentId }) => agentId) };
  await universe().assemble(crew, by('ann'));
  await universe().disband(undone, by('ann'));
  await node.call('svc_habitat_createWorkspace', { workspaceId: workspace, options: { owner: 'eve' } });
  await universe().disband(undone, by('ann'));
  expect(await left(workspace)).toEqual([[{ workspace_id: workspace }], [], [{ user_id: 'eve' }]]);
});

test('a crew of which an agent was killed while it was assembled is there as it is, and is undone whole', async () => {
  const crew = { ...crewOf('thinned'), owner: 'ann' };
  await universe().assemble(crew, by('ann'));
  await node.call('agent_kill', { id: crew.agents[0]?.agentId });
  expect((await universe().assemble(crew, by('ann'))).ok).toBe(true);
  const agentIds = crew.agents.map(({ agentId }) => agentId);
  await universe().disband({ workspace: crew.workspace, agentIds }, by('ann'));
  expect(await left(crew.workspace)).toEqual([[], [], []]);
});

test('of each agent it is told whether it lives, is in quarantine by itself or one above it, and what it is worth', async () => {
  const parent = String((await node.call('agent_spawn')).agentId);
  const crew = { ...crewOf('states'), owner: parent };
  await universe().assemble(crew, { by: parent });
  const [one, two, three] = crew.agents.map(({ agentId }) => agentId);
  await node.call('agent_kill', { id: two });
  const asked = { agentIds: [one ?? '', two ?? '', three ?? '', 'agt_none'] };
  const states = async () =>
    (await universe().agentStates(asked)).states.map(({ alive, quarantined }) => [alive, quarantined]);
  expect(await states()).toEqual([
    [true, false],
    [false, false],
    [true, false],
    [false, false],
  ]);
  await node.call('trust_record', { entityId: parent, type: 'quarantine' });
  expect((await states()).slice(0, 3)).toEqual([
    [true, true],
    [false, true],
    [true, true],
  ]);
});

test('who was killed meanwhile gets no crew: nobody would administer it', async () => {
  const owner = String((await node.call('agent_spawn')).agentId);
  const crew = { ...crewOf('ownerless'), owner };
  await node.call('agent_kill', { id: owner });
  expect(await universe().assemble(crew, by(owner))).toMatchObject({ ok: false, code: 'AGENT_NOT_FOUND' });
  expect(await left(crew.workspace)).toEqual([[], [], []]);
});

test('of a crew that is assembled while its owner is killed there is all, with the owner gone from it, or nothing', async () => {
  for (let time = 0; time < 10; time += 1) {
    const owner = String((await node.call('agent_spawn')).agentId);
    const crew = { ...crewOf(`raced-${time}`), owner };
    const [assembled] = await Promise.all([
      universe().assemble(crew, by(owner)),
      node.call('agent_kill', { id: owner }),
    ]);
    const [workspaces, agents, roles] = await left(crew.workspace);
    expect([workspaces?.length, agents?.length]).toEqual(assembled.ok ? [1, 3] : [0, 0]);
    expect(roles).not.toContainEqual({ user_id: owner });
  }
});
