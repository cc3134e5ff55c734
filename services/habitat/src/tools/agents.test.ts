import { expect, test } from 'vitest';
import { codeOf, enrol, type Person } from '../../testing/test-people.ts';
import { useHabitat } from '../../testing/test-habitat.ts';

type Fields = Record<string, unknown>;

const { node } = useHabitat();

const spawn = (args: Fields = {}) => node.call('agent_spawn', args);
const idOf = async (spawned: Promise<Fields>): Promise<string> => String((await spawned).agentId);

test('an agent without a team comes to the default workspace as editor, one of a new team owns its workspace', async () => {
  const first = await spawn();
  expect(first).toEqual({
    id: first.agentId,
    agentId: expect.stringMatching(/^agt_[0-9a-f]{32}$/),
    name: `agent-${String(first.agentId).slice(-6)}`,
    role: null,
    brain: null,
    parent: null,
    team: null,
    workspace: 'default',
    roles: ['editor'],
    state: 'idle',
    createdAt: expect.any(Number),
  });
  const lead = await spawn({ team: 'Blue', name: 'lead', role: 'viewer', brain: 'svc' });
  expect(lead).toMatchObject({ workspace: 'org-Blue', roles: ['admin'], role: 'viewer', team: 'Blue', brain: 'svc' });
  expect(await spawn({ team: 'Blue', role: 'viewer' })).toMatchObject({ roles: ['viewer'] });
  expect(await spawn({ team: 'Blue', role: 'scout' })).toMatchObject({ roles: ['editor'], role: 'scout' });
  expect(await spawn({ name: 'x', role: 'admin' })).toMatchObject({ roles: ['admin'] });
  expect(await node.call('svc_agent_spawn', { name: 'y', role: 'r' })).toMatchObject({ name: 'y', roles: ['editor'] });
});

test('names that would not be kept as they are, are refused', async () => {
  for (const team of ['../x', 'a b', '', 'x'.repeat(61)])
    expect(await codeOf(spawn({ team }))).toBe('VAF_INPUT_INVALID');
  expect(await codeOf(spawn({ team: 'blue' }))).toBe('VAF_INPUT_INVALID');
  for (const name of [' a', 'a ', '-a', 'x'.repeat(101), 'a\u0000']) {
    expect(await codeOf(spawn({ name }))).toBe('VAF_INPUT_INVALID');
  }
  expect(await codeOf(node.call('svc_agent_spawn', { team: 'x' }))).toBe('VAF_INPUT_INVALID');
});

test('nobody spawns above their own role, nor where they have none', async () => {
  const viewer = await enrol(node, 'v1', { role: 'viewer' });
  const editor = await enrol(node, 'e1', { role: 'editor' });
  const admin = await enrol(node, 'a1', { role: 'admin' });
  expect(await viewer.code('agent_spawn')).toBe('FORBIDDEN');
  expect(await viewer.code('agent_spawn', { role: 'viewer' })).toBeNull();
  expect(await editor.code('agent_spawn', { role: 'admin' })).toBe('FORBIDDEN');
  expect(await editor.code('agent_spawn')).toBeNull();
  expect(await admin.code('agent_spawn', { role: 'admin' })).toBeNull();
  await spawn({ team: 'closed' });
  expect(await editor.call('agent_spawn', { team: 'own' })).toMatchObject({ roles: ['admin'], parent: 'e1' });
  const bound = await enrol(node, 'b1', { role: 'editor', bound: true });
  expect(await bound.code('agent_spawn', { team: 'elsewhere' })).toBe('FORBIDDEN');
  const anonymous = node.call('agent_spawn', {}, { subject: { workspace: 'default' }, operator: false });
  expect(await codeOf(anonymous)).toBe('UNAUTHORIZED');
});

test('the workspace of a registered team is its members’ and its owner’s to make', async () => {
  const [owner, member, other] = await Promise.all([
    enrol(node, 'own3', { role: 'viewer' }),
    enrol(node, 'mem3', { role: 'viewer' }),
    enrol(node, 'oth3', { role: 'viewer' }),
  ]);
  const placeOf = async (person: Person, team: unknown) => (await person.call('agent_spawn', { team })).workspace;
  const ofTheirOwn = /^org-[A-Za-z0-9_]+\.[0-9a-f]{10}$/;
  const { id: org } = await owner.call('teams_createOrg', { name: 'Org3' });
  const { id: dept } = await owner.call('teams_createDept', { name: 'D', org });
  const { id: team } = await owner.call('teams_createTeam', { name: 'Red3', dept });
  expect(await placeOf(other, team)).toMatch(ofTheirOwn);
  // A name that nobody has confirmed is everybody's, so it is nobody's.
  for (const person of [other, member, owner]) expect(await placeOf(person, 'red3')).toMatch(ofTheirOwn);
  await node.call('teams_assign', { agentId: 'mem3', team });
  expect(await placeOf(member, team)).toBe(`org-${String(team)}`);
  expect(await owner.code('agent_spawn', { team })).toBe('FORBIDDEN');
});

test('relatives must be live agents that the caller may know of', async () => {
  const parent = await idOf(spawn());
  const hidden = await idOf(spawn({ team: 'hidden4' }));
  const editor = await enrol(node, 'e4', { role: 'editor' });
  expect(await editor.code('agent_spawn', { parent })).toBe('FORBIDDEN');
  const own = await idOf(editor.call('agent_spawn'));
  expect(await editor.call('agent_spawn', { parent: own, reportsTo: parent })).toMatchObject({ parent: own });
  expect(await editor.call('agent_spawn', { parent: 'e4' })).toMatchObject({ parent: 'e4' });
  for (const wish of [{ parent: 'ghost' }, { reportsTo: 'ghost' }, { parent: hidden }, { reportsTo: hidden }]) {
    expect(await editor.code('agent_spawn', wish)).toBe('AGENT_NOT_FOUND');
  }
  expect(await editor.code('agent_spawn', { roleId: 'role_x' })).toBe('E_NOT_FOUND');
  await node.call('agent_kill', { id: parent });
  expect(await codeOf(spawn({ parent }))).toBe('AGENT_NOT_FOUND');
});

test('lists show live agents of shared workspaces, a page at a time', async () => {
  const ids: string[] = [];
  for (let index = 0; index < 5; index += 1) ids.push(await idOf(spawn({ team: 'list5' })));
  await node.call('agent_kill', { id: ids[4] });
  const member = await enrol(node, 'm5', { role: 'viewer', workspace: 'org-list5' });
  const stranger = await enrol(node, 's5', { role: 'admin' });
  const seen: unknown[] = [];
  for (let cursor: unknown; ; ) {
    const page = await member.call('agent_list', { limit: 2, ...(cursor === undefined ? {} : { cursor }) });
    seen.push(...(page.agents as Fields[]).map(({ id }) => id));
    if (page.nextCursor === undefined) break;
    cursor = page.nextCursor;
  }
  expect(seen).toEqual([...ids.slice(0, 4), 'm5']);
  expect(await stranger.call('agent_list', { workspace: 'org-list5' })).toEqual({ agents: [] });
  const { agents } = await node.call('agent_list', { workspace: 'org-list5' });
  expect((agents as Fields[])[0]).toEqual({
    id: ids[0],
    name: expect.any(String),
    role: null,
    state: 'idle',
    team: 'list5',
    workspace: 'org-list5',
    brain: null,
    parent: null,
    createdAt: expect.any(Number),
  });
  expect(await member.code('agent_list', { cursor: 'x' })).toBe('VAF_INPUT_INVALID');
});

test('a killed agent leaves nothing behind but its row', async () => {
  const grandparent = await idOf(spawn({ team: 'kill6' }));
  const parent = await idOf(spawn({ team: 'kill6', parent: grandparent }));
  const child = await idOf(spawn({ team: 'kill6', parent, reportsTo: parent }));
  const { token } = await node.call('svc_habitat_mintToken', { agentId: parent });
  const { taskId } = await node.call('svc_agents_delegate_mcp', { id: parent, task: 'x' });
  const { id: org } = await node.call('teams_createOrg', { name: 'Org6' });
  for (const [agentId, reportsTo] of [[grandparent], [parent, grandparent], [child, parent]]) {
    await node.call('teams_assign', { agentId, org, reportsTo });
  }
  const { stamp } = await node.registry.revision();
  expect(await node.call('agent_kill', { agentId: parent })).toEqual({ killed: true, id: parent });
  expect((await node.registry.revision()).stamp.rev).toBeGreaterThan(stamp.rev);
  expect(await node.call('svc_habitat_verifyToken', { token })).toEqual({ valid: false });
  expect(await node.call('svc_habitat_agentContext', { agentId: parent })).toMatchObject({ code: 'AGENT_NOT_FOUND' });
  expect(await node.call('agent_kill', { id: parent })).toMatchObject({
    killed: false,
    id: parent,
    error: `AGENT_NOT_FOUND: ${parent}`,
    code: 'AGENT_NOT_FOUND',
  });
  expect(await node.rows('SELECT 1 FROM habitat.roles WHERE user_id = $1', parent)).toEqual([]);
  expect(await node.rows('SELECT parent, reports_to AS top FROM habitat.agents WHERE agent_id = $1', child)).toEqual([
    { parent: grandparent, top: null },
  ]);
  expect(await node.rows('SELECT status, reason FROM habitat.agent_tasks WHERE task_id = $1', taskId)).toEqual([
    { status: 'failed', reason: 'agent killed' },
  ]);
  expect(
    await node.rows('SELECT agent_id, reports_to FROM habitat.assignments WHERE org = $1 ORDER BY 1', org),
  ).toEqual([
    { agent_id: grandparent, reports_to: null },
    { agent_id: child, reports_to: grandparent },
  ]);
});

test('who may kill: home admins, the creator, the agent itself; strangers find nobody', async () => {
  const viewer = await enrol(node, 'v7', { role: 'viewer', workspace: 'org-kill7' });
  const admin = await enrol(node, 'a7', { role: 'admin', workspace: 'org-kill7' });
  const stranger = await enrol(node, 's7', { role: 'admin' });
  const agent = await idOf(spawn({ team: 'kill7' }));
  const unknown = { ...(await stranger.call('agent_kill', { id: 'agt_none' })) };
  expect(await stranger.call('agent_kill', { id: agent })).toEqual({
    ...unknown,
    id: agent,
    error: `AGENT_NOT_FOUND: ${agent}`,
  });
  expect(await viewer.code('agent_kill', { id: agent })).toBe('FORBIDDEN');
  expect(await admin.code('agent_kill', { id: agent })).toBeNull();
  const creator = await enrol(node, 'c7', { role: 'editor' });
  const mine = await idOf(creator.call('agent_spawn', { role: 'viewer' }));
  expect(await creator.code('agent_kill', { id: mine })).toBeNull();
  expect(await viewer.code('agent_kill', { id: 'v7' })).toBeNull();
});

test('the 201st live agent of a workspace is refused, and fits after a kill', async () => {
  const ids = [await idOf(spawn({ team: 'full8' }))];
  while (ids.length < 200) ids.push(await idOf(spawn({ team: 'full8' })));
  expect(await spawn({ team: 'full8' })).toMatchObject({ code: 'E_QUOTA' });
  expect(await node.rows("SELECT 1 FROM habitat.roles WHERE workspace_id = 'org-full8'")).toHaveLength(200);
  await node.call('agent_kill', { id: ids[7] });
  expect(await codeOf(spawn({ team: 'full8' }))).toBeNull();
  expect(await spawn({ team: 'full8' })).toMatchObject({ code: 'E_QUOTA' });
});

test('the 61st spawn of one caller within a minute is refused', async () => {
  const busy = await enrol(node, 'busy9', { role: 'editor', workspace: 'org-busy9' });
  const calm = await enrol(node, 'calm9', { role: 'editor', workspace: 'org-busy9' });
  for (let index = 0; index < 60; index += 1) {
    const id = await idOf(busy.call('agent_spawn', { team: 'busy9' }));
    if (index % 2 === 0) await node.call('agent_kill', { id });
  }
  expect(await busy.code('agent_spawn', { team: 'busy9' })).toBe('E_RATE_LIMIT');
  expect(await calm.code('agent_spawn', { team: 'busy9' })).toBeNull();
});

test('a keyed spawn happens once', async () => {
  const over = { idempotencyKey: 'once' };
  const first = await node.call('agent_spawn', { team: 'key10' }, over);
  expect(await node.call('agent_spawn', { team: 'key10' }, over)).toEqual(first);
  expect(await node.rows("SELECT 1 FROM habitat.agents WHERE workspace = 'org-key10'")).toHaveLength(1);
  expect(await codeOf(node.call('agent_spawn', { team: 'other10' }, over))).toBe('IDEMPOTENCY_KEY_REUSED');
});
