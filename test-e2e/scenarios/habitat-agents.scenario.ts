/** Agents: where they come to live, what they are told, and how they end. */
import { expect } from 'vitest';
import { Caller, codeOf, type Fields } from '../client.ts';
import { addMember, createMembers, memberAt } from '../instruments/members.ts';
import { callerOf } from '../instruments/tenants.ts';
import type { TargetPlace } from '../targets/target.ts';
import { newName, verifies } from '../verifies.ts';

const PAIRS = 10;
const MAX_LIVE = 200;

const newTeam = (): string => newName('t').replaceAll('-', '');

async function spawned(place: TargetPlace, args: Fields = {}): Promise<string> {
  return String((await new Caller(place).ok('agent_spawn', args)).agentId);
}

verifies('habitat:agents:first-of-a-team', async ({ caller }) => {
  const operator = caller();
  for (let pair = 0; pair < PAIRS; pair += 1) {
    const team = newTeam();
    const both = await Promise.all([0, 1].map((gateway) => operator.ok('agent_spawn', { team }, { gateway })));
    expect(both.map(({ roles }) => String(roles)).sort()).toEqual(['admin', 'editor']);
    expect(both.map(({ workspace }) => workspace)).toEqual([`org-${team}`, `org-${team}`]);
  }
});

verifies('habitat:agents:default-place', async ({ caller }) => {
  const operator = caller();
  const { agentId, workspace, roles } = await operator.ok('agent_spawn');
  expect([workspace, roles]).toEqual(['default', ['editor']]);
  const grant = { workspaceId: 'default', userId: agentId, role: 'editor' };
  expect(await operator.ok('svc_habitat_addRole', grant)).toMatchObject({ added: false, roles: ['editor'] });
});

verifies('habitat:agents:rights', async ({ place, caller }) => {
  const viewer = await addMember(place, 'default', 'viewer');
  const editor = await addMember(place, 'default', 'editor');
  await viewer.caller.fails('FORBIDDEN', 'agent_spawn');
  await editor.caller.fails('FORBIDDEN', 'agent_spawn', { role: 'admin' });
  const name = newName('n');
  await viewer.caller.fails('FORBIDDEN', 'agent_spawn', { name });
  const team = newTeam();
  await spawned(place, { team });
  const elsewhere = await editor.caller.ok('agent_spawn', { name: newName('e'), team });
  expect(elsewhere).toMatchObject({ team, roles: ['admin'] });
  expect(elsewhere.workspace).not.toBe(`org-${team}`);
  for (const workspace of ['default', `org-${team}`]) {
    const { agents } = await caller().ok('agent_list', { workspace, limit: 1000 });
    expect((agents as Fields[]).filter((agent) => agent.name === name)).toEqual([]);
  }
  expect(await editor.caller.ok('agent_spawn', { name })).toMatchObject({ name, roles: ['editor'] });
});

verifies('habitat:agents:borrowed', async ({ place, caller, fresh }) => {
  const operator = caller();
  const { brain } = await fresh();
  const team = newTeam();
  await spawned(place, { team });
  const resource = newName('r');
  const readableBy = [`brain:${brain}`, `team:${team}`];
  await operator.ok('svc_habitat_setPolicy', { resource, policy: { container: 'public', readableBy } });
  const editor = await addMember(place, 'default', 'editor');
  const admin = await addMember(place, 'default', 'admin');
  const reader = async (spawner: Caller, wish: Fields): Promise<Caller> => {
    const { agentId } = await spawner.ok('agent_spawn', wish);
    const { token } = await operator.ok('svc_habitat_mintToken', { agentId });
    return callerOf(place, String(token));
  };
  const reads = async (agent: Caller) => (await agent.ok('svc_habitat_can', { resource })).allowed;
  for (const wish of [{ brain }, { team }, { brain, team }]) {
    const child = await reader(editor.caller, wish);
    expect([wish, await reads(child), await reads(await reader(child, wish))]).toEqual([wish, false, false]);
  }
  expect(await reads(await reader(admin.caller, { team }))).toBe(false);
  expect(await reads(await reader(admin.caller, { brain }))).toBe(true);
  const chosen = await reader(operator, { team });
  expect([await reads(chosen), await reads(await reader(chosen, { team }))]).toEqual([true, true]);
});

verifies('habitat:agents:team-names', async ({ caller }) => {
  for (const team of ['../x', 'a b', '', '..\\x', 'x'.repeat(61), 'ü', 'a/b']) {
    await caller().fails('VAF_INPUT_INVALID', 'agent_spawn', { team });
  }
});

verifies('habitat:agents:kill', async ({ place, caller }) => {
  const operator = caller();
  const team = newTeam();
  const parent = await spawned(place, { team });
  for (let round = 0; round < PAIRS; round += 1) {
    const id = await spawned(place, { team, parent });
    const child = await spawned(place, { team, parent: id });
    const { token } = await operator.ok('svc_habitat_mintToken', { agentId: id });
    const agent = callerOf(place, String(token));
    await agent.ok('agent_list', {}, { gateway: round });
    expect(await operator.ok('agent_kill', { id }, { gateway: round })).toEqual({ killed: true, id });
    for (const gateway of [0, 1]) {
      await agent.fails('UNAUTHORIZED', 'agent_list', {}, { gateway });
      expect(await operator.ok('svc_habitat_verifyToken', { token }, { gateway })).toEqual({ valid: false });
      await operator.refused('AGENT_NOT_FOUND', 'svc_habitat_agentContext', { agentId: id }, { gateway });
      expect(await operator.refused('AGENT_NOT_FOUND', 'agent_kill', { id }, { gateway })).toMatchObject({
        killed: false,
        id,
      });
    }
    const { agents } = await operator.ok('agent_list', { workspace: `org-${team}` });
    expect((agents as Fields[]).find((one) => one.id === child)).toMatchObject({ parent });
  }
});

verifies('habitat:agents:quota', async ({ place, caller, report }) => {
  const operator = caller();
  const team = newTeam();
  const first = await spawned(place, { team });
  const startedAt = performance.now();
  const replies = await Promise.all(
    Array.from({ length: MAX_LIVE + 4 }, (_, index) => operator.call('agent_spawn', { team }, { gateway: index })),
  );
  report(`${MAX_LIVE + 4} spawns into one workspace at once in ${Math.round(performance.now() - startedAt)} ms`);
  const codes = replies.map(codeOf);
  expect(codes.filter((code) => code === null)).toHaveLength(MAX_LIVE - 1);
  expect(codes.filter((code) => code === 'E_QUOTA')).toHaveLength(5);
  await operator.refused('E_QUOTA', 'agent_spawn', { team });
  await operator.ok('agent_kill', { id: first });
  await operator.ok('agent_spawn', { team });
  await operator.refused('E_QUOTA', 'agent_spawn', { team });
});

verifies('habitat:agents:broadcast', async ({ place, caller }) => {
  const [team, other] = [newTeam(), newTeam()];
  const here = [await spawned(place, { team, name: 'a' }), await spawned(place, { team, name: 'b' })];
  const dead = await spawned(place, { team, name: 'c' });
  await caller().ok('agent_kill', { id: dead });
  const there = await spawned(place, { team: other });
  const editor = await addMember(place, `org-${team}`, 'editor');
  const viewer = await addMember(place, `org-${team}`, 'viewer');
  const sent = await editor.caller.ok('svc_agents_broadcast', { message: 'hello', workspace: `org-${team}` });
  expect(sent).toMatchObject({ broadcast: true, workspace: `org-${team}`, count: 2 });
  expect((sent.results as Fields[]).map(({ agentId }) => agentId)).toEqual(here);
  expect(JSON.stringify(sent)).not.toContain(there);
  await viewer.caller.fails('FORBIDDEN', 'svc_agents_broadcast', { message: 'x', workspace: `org-${team}` });
  await editor.caller.fails('FORBIDDEN', 'svc_agents_broadcast', { message: 'x', workspace: `org-${other}` });
});

verifies('habitat:agents:prototypes', async ({ place, caller }) => {
  const operator = caller();
  const [shown, hidden] = [newName('proto'), newName('proto')];
  const workspace = await createMembers(place, 'admin');
  for (const name of [shown, hidden]) {
    const content = `---\ndescription: About ${name}.\n---\n# ${name}\n`;
    await operator.ok('brain_write', { name: `agents/${name}`, content, brain: 'svc', branch: 'main' });
  }
  await operator.ok('svc_habitat_setPolicy', {
    resource: `brain:svc/agents/${hidden}.md`,
    policy: { container: workspace.workspace, readableBy: ['role:admin'] },
  });
  const { protos, count } = await operator.ok<{ protos: Fields[]; count: number }>('agent_proto_list');
  const names = protos.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(['builder', 'coordinator', 'researcher', 'reviewer', shown]));
  expect([names.includes(hidden), count]).toEqual([false, protos.length]);
  expect(protos).toContainEqual({ name: shown, description: `About ${shown}.` });
  expect(await operator.ok('agent_proto_load', { name: shown })).toMatchObject({ name: shown });
  for (const who of [operator, memberAt(workspace, 0).caller]) {
    await who.refused('E_PROTO_ABSENT', 'agent_proto_load', { name: hidden });
  }
});
