import { expect, test } from 'vitest';
import { codeOf, enrol, withTokenOf } from '../../testing/test-people.ts';
import { serveBrain } from '../../testing/test-brain.ts';
import { useHabitat } from '../../testing/test-habitat.ts';

type Fields = Record<string, unknown>;
type Spawner = (tool: string, args: Fields) => Promise<Fields>;

const { node } = useHabitat();

const idOf = async (spawned: Promise<Fields>): Promise<string> => String((await spawned).agentId);
const give = (userId: string, workspaceId: string, role = 'viewer') =>
  node.call('svc_habitat_addRole', { userId, workspaceId, role });

async function familyOf(agentId: string): Promise<string | undefined> {
  const { subject } = await node.registry.context({ agentId });
  return subject?.family;
}

test('whoever an identity spawns is of its family, however deep; what an operator spawns begins one', async () => {
  await give('ada', 'default', 'editor');
  const ada = await withTokenOf(node, 'ada');
  const child = await idOf(ada('agent_spawn'));
  const asChild = await withTokenOf(node, child);
  const grandchild = await idOf(asChild('agent_spawn'));
  const niece = await idOf(ada('agent_spawn', { parent: grandchild }));
  expect(await Promise.all(['ada', child, grandchild, niece].map(familyOf))).toEqual(Array(4).fill('ada'));
  const alone = await idOf(node.call('agent_spawn'));
  const under = await idOf(node.call('agent_spawn', { parent: child }));
  expect([await familyOf(alone), await familyOf(under)]).toEqual([alone, under]);
  await node.call('agent_kill', { id: child });
  expect(await familyOf(grandchild)).toBe('ada');
});

test('a token shows its family to services and not to whoever looks at it', async () => {
  await give('bea', 'default', 'editor');
  const bea = await withTokenOf(node, 'bea');
  const child = await idOf(bea('agent_spawn'));
  const minted = await node.call('svc_habitat_mintToken', { agentId: child });
  const { token } = await node.registry.subject({ token: String(minted.token) });
  expect(token?.subject.family).toBe('bea');
  const shown = await node.call('svc_habitat_verifyToken', { token: minted.token });
  expect([minted.subject, shown.subject].map((subject) => 'family' in (subject as Fields))).toEqual([false, false]);
});

test('a role from an operator, or from an admin of another tree, makes a root; one from its own tree does not', async () => {
  await give('cyd', 'default', 'editor');
  const cyd = await withTokenOf(node, 'cyd');
  const [first, second, third] = [
    await idOf(cyd('agent_spawn')),
    await idOf(cyd('agent_spawn')),
    await idOf(cyd('agent_spawn')),
  ];
  const asFirst = await withTokenOf(node, first);
  const below = await idOf(asFirst('agent_spawn'));
  await asFirst('svc_habitat_createWorkspace', { workspaceId: 'of-first' });
  await asFirst('svc_habitat_addRole', { workspaceId: 'of-first', userId: second, role: 'viewer' });
  expect(await familyOf(second)).toBe('cyd');
  await give(first, 'default', 'viewer');
  expect([await familyOf(first), await familyOf(below), await familyOf(second)]).toEqual([first, first, 'cyd']);
  // Whoever parted one branch has not parted the others, though that branch gives them roles.
  await asFirst('svc_habitat_addRole', { workspaceId: 'of-first', userId: third, role: 'viewer' });
  expect(await familyOf(third)).toBe('cyd');
  const admin = await enrol(node, 'dan', { workspace: 'of-dan', role: 'admin' });
  await admin.call('svc_habitat_addRole', { workspaceId: 'of-dan', userId: third, role: 'viewer' });
  expect(await familyOf(third)).toBe(third);
  // The same role again, now from an operator.
  await give(second, 'of-first', 'viewer');
  expect(await familyOf(second)).toBe(second);
});

test('one family spawns 60 times a minute and owns 20 workspaces, through however many agents', async () => {
  await give('eve', 'default', 'editor');
  const eve = await withTokenOf(node, 'eve');
  const hands = [eve];
  for (let index = 0; index < 4; index += 1) hands.push(await withTokenOf(node, await idOf(eve('agent_spawn'))));
  const own = async (index: number) =>
    codeOf((hands[index % 5] ?? eve)('svc_habitat_createWorkspace', { workspaceId: `eve${index}` }));
  for (let index = 0; index < 20; index += 1) expect(await own(index)).toBeNull();
  expect([await own(20), await own(21)]).toEqual(['E_QUOTA', 'E_QUOTA']);
  expect(await codeOf(eve('agent_spawn', { team: 'of-eve' }))).toBe('E_QUOTA');
  for (let index = 4; index < 60; index += 1) expect(await codeOf((hands[index % 5] ?? eve)('agent_spawn'))).toBeNull();
  for (const hand of hands) expect(await codeOf(hand('agent_spawn'))).toBe('E_RATE_LIMIT');
}, 120_000);

test('a line of agents that spawn each other ends', async () => {
  await give('fay', 'default', 'editor');
  const born: string[] = [];
  let spawner = await withTokenOf(node, 'fay');
  for (;;) {
    const spawned = await spawner('agent_spawn');
    if (spawned.code === 'E_QUOTA' || spawned.code === 'E_RATE_LIMIT') break;
    born.push(String(spawned.agentId));
    spawner = await withTokenOf(node, String(spawned.agentId));
    await node.rows("UPDATE habitat.agents SET created_at = created_at - interval '1 hour' WHERE family = 'fay'");
  }
  expect(born).toHaveLength(64);
}, 120_000);

test('row rules see a team or a brain only when whoever gives it has it, or runs it', async () => {
  await give('gus', 'default', 'editor');
  const gus = await withTokenOf(node, 'gus');
  const { bus } = node.deps.platform;
  const homes: Record<string, string> = { vault: 'vaults', open: 'default' };
  const telling = await serveBrain(bus, {
    async home({ resource }) {
      const own = homes[resource.slice('brain:'.length)] ?? null;
      return { own, brain: own };
    },
  });
  const seen = async (spawner: Spawner, wish: Fields) => {
    const { agentId, team, brain } = await spawner('agent_spawn', wish);
    expect({ team, brain }).toMatchObject(wish);
    const { subject } = await node.registry.context({ agentId: String(agentId) });
    return [subject?.team, subject?.brain];
  };
  const operator: Spawner = (tool, args) => node.call(tool, args);
  const wish = { team: 'blue', brain: 'vault' };
  expect(await seen(gus, wish)).toEqual([undefined, undefined]);
  expect(await seen(operator, wish)).toEqual(['blue', 'vault']);

  // The admin of the home of the brain, and whom an operator made admin of the team's workspace.
  await node.call('svc_habitat_createWorkspace', { workspaceId: 'vaults' });
  await give('gus', 'vaults', 'editor');
  expect(await seen(gus, { brain: 'vault' })).toEqual([undefined, undefined]);
  await give('gus', 'vaults', 'admin');
  expect(await seen(gus, { brain: 'vault' })).toEqual([undefined, 'vault']);
  await give('gus', 'org-blue', 'editor');
  expect(await seen(gus, { team: 'blue' })).toEqual([undefined, undefined]);
  await give('gus', 'org-blue', 'admin');
  const handed = await gus('agent_spawn', { team: 'blue', brain: 'vault' });
  const child = await withTokenOf(node, String(handed.agentId));
  expect(await seen(child, wish)).toEqual(['blue', 'vault']);
  await telling.drain();
  // Who has it passes it on, whoever does not answer.
  expect(await seen(child, wish)).toEqual(['blue', 'vault']);
  expect(await codeOf(gus('agent_spawn', { brain: 'vault' }))).toBe('SERVICE_UNAVAILABLE');
});

test('a team or a brain that a spawner gives ends with what the spawner holds it by, down the whole line', async () => {
  const { bus } = node.deps.platform;
  const telling = await serveBrain(bus, { home: async () => ({ own: 'cellar', brain: 'cellar' }) });
  const bob = await enrol(node, 'bob', { role: 'admin' });
  const org = String((await bob.call('teams_createOrg', { name: 'Bobs' })).id);
  const dept = String((await bob.call('teams_createDept', { name: 'D', org })).id);
  const team = String((await bob.call('teams_createTeam', { name: 'T', dept })).id);
  await node.call('svc_habitat_createWorkspace', { workspaceId: 'cellar' });
  const member = await idOf(node.call('agent_spawn'));
  await node.call('teams_assign', { agentId: member, team });
  await give(member, 'cellar', 'admin');
  const child = await idOf((await withTokenOf(node, member))('agent_spawn', { team, brain: 'wine' }));
  const below = await idOf((await withTokenOf(node, child))('agent_spawn', { team, brain: 'wine' }));
  await give(bob.id, `org-${team}`, 'editor');
  const ofOwner = await idOf(bob.call('agent_spawn', { team }));
  const seen = async (id: string) => {
    const { subject } = await node.registry.context({ agentId: id });
    return [subject?.team, subject?.brain];
  };
  expect(await Promise.all([child, below].map(seen))).toEqual([
    [team, 'wine'],
    [team, 'wine'],
  ]);

  await bob.call('teams_leave', { agentId: member });
  await node.call('svc_habitat_removeRole', { workspaceId: 'cellar', userId: member, role: 'admin' });
  const late = await idOf((await withTokenOf(node, below))('agent_spawn', { team, brain: 'wine' }));
  for (const id of [member, child, below, late]) expect(await seen(id)).toEqual([undefined, undefined]);
  // Whom somebody else brings into the team holds it itself; the owner goes on holding what it owns.
  await node.call('teams_assign', { agentId: below, team });
  expect(await Promise.all([below, late, ofOwner].map(seen))).toEqual([
    [team, undefined],
    [undefined, undefined],
    [team, undefined],
  ]);
  await telling.drain();
});

test('a spawn into the workspace of a team tells nobody which teams there are', async () => {
  const hidden = ['taken', 'org-like'];
  for (const team of hidden) await node.call('agent_spawn', { team });
  await give('hal', 'default', 'viewer');
  const hal = await withTokenOf(node, 'hal');
  for (const team of [...hidden, 'free', 'x'.repeat(60)]) {
    const { workspace, roles, code } = await hal('agent_spawn', { team });
    expect([String(workspace).replace(/\.[0-9a-f]{10}$/, ''), roles, code]).toEqual([
      `org-${team.slice(0, 48)}`,
      ['admin'],
      undefined,
    ]);
    expect(String(workspace).length).toBeLessThanOrEqual(64);
    expect(await hal('agent_spawn', { team })).toMatchObject({ workspace, roles: ['editor'] });
  }
});

test('who spawned the owner of a workspace has there what the owner has, and nothing once others put the owner out', async () => {
  await give('pia', 'default', 'editor');
  const pia = await withTokenOf(node, 'pia');
  const spawn = (role?: string) => pia('agent_spawn', { team: 'lead', ...(role === undefined ? {} : { role }) });
  const { agentId: lead, workspace } = await spawn();
  const minted = async (agentId: unknown) => codeOf(pia('svc_habitat_mintToken', { agentId }));
  const { agentId: second } = await spawn('admin');
  expect([await minted(lead), await minted(second)]).toEqual([null, null]);

  await give('quinn', String(workspace), 'admin');
  const quinn = await withTokenOf(node, 'quinn');
  const change = (tool: string, role: string) => quinn(tool, { workspaceId: workspace, userId: lead, role });
  await change('svc_habitat_addRole', 'editor');
  await change('svc_habitat_removeRole', 'admin');
  expect([await codeOf(spawn('admin')), await minted(second)]).toEqual(['FORBIDDEN', 'FORBIDDEN']);
  expect([await codeOf(spawn()), await minted(lead)]).toEqual([null, null]);
  await change('svc_habitat_removeRole', 'editor');
  expect([await codeOf(spawn('viewer')), await minted(second)]).toEqual(['FORBIDDEN', 'FORBIDDEN']);
  const { agents } = await node.call('agent_list', { workspace });
  for (const { id } of agents as Fields[]) await node.call('agent_kill', { id });
  expect(await codeOf(spawn())).toBe('FORBIDDEN');
  await node.call('svc_habitat_removeRole', { workspaceId: workspace, userId: 'quinn', role: 'admin' });
  expect(await spawn('admin')).toMatchObject({ workspace, roles: ['admin'] });
});

test('however many agents a family spawns, it has one voice, none about itself, and tells strangers nothing', async () => {
  await give('ida', 'default', 'editor');
  const ida = await withTokenOf(node, 'ida');
  const rated = await enrol(node, 'rated', { role: 'viewer' });
  const voices: Spawner[] = [];
  const ids: string[] = [];
  for (let index = 0; index < 12; index += 1) {
    ids.push(await idOf(ida('agent_spawn')));
    voices.push(await withTokenOf(node, ids[index] ?? ''));
  }
  const opinion = { entityId: 'rated', type: 'spam' };
  const done = async (voice: Spawner, wish: Fields = opinion) => {
    const { delta, code } = await voice('trust_record', wish);
    return delta ?? code;
  };
  expect(await Promise.all(voices.slice(0, 3).map((voice) => done(voice)))).toEqual([0, 0, 0]);
  expect([await done(ida), await done(ida), await done(ida)]).toEqual([-0.05, 0, 'E_RATE_LIMIT']);
  expect(await rated.call('trust_getScore', { entityId: 'rated' })).toMatchObject({ score: 0.45, karma: -1 });
  expect(await done(ida, { entityId: ids[0], type: 'task' })).toBe('E_SELF_TRUST');
  expect(await done(voices[1] ?? ida, { entityId: ids[0], type: 'task' })).toBe('E_SELF_TRUST');
  // An operator's role gives an agent a voice of its own, and a family of its own.
  await give(ids[0] ?? '', 'default', 'viewer');
  expect(await done(voices[0] ?? ida)).toBe(-0.05);
  expect(await done(ida, { entityId: ids[0], type: 'task' })).toBe('E_SELF_TRUST');

  const stranger = await enrol(node, 'stranger', { workspace: 'far-away' });
  const asked = async (entityId: string) => [
    await stranger.call('trust_getScore', { entityId }),
    await stranger.call('trust_can', { entityId, action: 'vote' }),
    await stranger.call('governance_isAllowed', { entity: entityId, action: 'vote' }),
  ];
  await node.call('trust_record', { entityId: 'rated', type: 'quarantine' });
  const told = JSON.stringify(await asked('rated'));
  expect(told).toBe(JSON.stringify(await asked('nobody')).replaceAll('nobody', 'rated'));
  expect(await ida('trust_getScore', { entityId: 'rated' })).toMatchObject({ known: true, quarantined: true });
});

test('one family sends ten messages a minute and has a hundred live tasks', async () => {
  await give('jon', 'default', 'editor');
  const jon = await withTokenOf(node, 'jon');
  const child = await withTokenOf(node, await idOf(jon('agent_spawn')));
  const other = await enrol(node, 'other-voice', { role: 'editor' });
  const say = (voice: Spawner) => codeOf(voice('svc_agents_broadcast', { message: 'x', workspace: 'default' }));
  for (let index = 0; index < 10; index += 1) expect(await say(index % 2 === 0 ? jon : child)).toBeNull();
  expect([await say(jon), await say(child), await say(other.call)]).toEqual(['E_RATE_LIMIT', 'E_RATE_LIMIT', null]);
  await node.rows(
    `INSERT INTO habitat.sudo_tasks (task_id, owner, workspace, created_at, expires_at)
     SELECT 'jon' || n, 'jon', 'default', now(), now() + interval '1 hour' FROM generate_series(1, 100) n`,
  );
  expect(await codeOf(child('svc_sudo_createTask', {}))).toBe('E_QUOTA');
  expect(await codeOf(other.call('svc_sudo_createTask'))).toBeNull();
});
