import { expect, test } from 'vitest';
import { foundCompany, makeRole } from '../../testing/test-companies.ts';
import { codeOf, enrol } from '../../testing/test-people.ts';
import { useHabitat } from '../../testing/test-habitat.ts';

type Fields = Record<string, unknown>;

const { node } = useHabitat();

const found = (name: string) => foundCompany(node, name);

test('an organisation, a department, a team and a role, as they were made', async () => {
  const { owner, org, dept, team } = await found('One');
  expect(await owner.call('teams_getOrg', { id: 'one' })).toEqual({
    id: org,
    name: 'One',
    plan: 'free',
    desc: 'd',
    owner: 'One-owner',
    confirmed: false,
    createdAt: expect.any(Number),
    depts: [{ id: dept, name: 'One dept', teams: [{ id: team, name: 'One team', members: 0 }] }],
  });
  expect([org, dept, team]).toEqual([
    expect.stringMatching(/^org_[0-9a-f]{32}$/),
    expect.stringMatching(/^dpt_/),
    expect.stringMatching(/^team_/),
  ]);
  expect(await owner.call('teams_createRole', { name: 'R', team, permissions: ['a:*'] })).toEqual({
    id: expect.stringMatching(/^role_/),
    name: 'R',
    org,
    team,
    permissions: ['a:*'],
    createdAt: expect.any(Number),
  });
  expect(await owner.call('teams_listDepts', { org: 'ONE' })).toEqual({
    depts: [{ id: dept, name: 'One dept', org, desc: '', createdAt: expect.any(Number) }],
  });
  expect(await owner.call('teams_listTeams')).toEqual({
    teams: [{ id: team, name: 'One team', org, dept, desc: '', createdAt: expect.any(Number) }],
  });
  const events = await node.rows<{ name: string; payload: Fields }>(
    "SELECT name, payload FROM habitat.outbox WHERE payload->'parties' ? 'One-owner' ORDER BY written, line",
  );
  expect(events.map(({ name }) => name)).toEqual(['org:created', 'dept:created', 'team:created', 'teamrole:created']);
});

test('names are there once under their parent, in whatever case; wrong ones are refused', async () => {
  const { owner, org, dept } = await found('Two');
  const stranger = await enrol(node, 'two-stranger');
  expect(await stranger.code('teams_createOrg', { name: 'TWO' })).toBe('E_DUPLICATE');
  expect(await owner.code('teams_createDept', { name: 'two DEPT', org })).toBe('E_DUPLICATE');
  expect(await owner.code('teams_createTeam', { name: 'two TEAM', dept })).toBe('E_DUPLICATE');
  await makeRole(owner, org, 'Lead', []);
  expect(await owner.code('teams_createRole', { name: 'lead', org })).toBe('E_DUPLICATE');
  const other = String((await owner.call('teams_createDept', { name: 'other', org })).id);
  expect(await owner.code('teams_createTeam', { name: 'Two team', dept: other })).toBeNull();
  for (const name of ['', ' x', 'x ', '-x', 'x'.repeat(101), 'ä']) {
    expect(await owner.code('teams_createOrg', { name })).toBe('VAF_INPUT_INVALID');
  }
  expect(await owner.code('teams_createRole', { name: 'p', org, permissions: ['a b'] })).toBe('VAF_INPUT_INVALID');
  const many = Array.from({ length: 65 }, (_, index) => `p${index}`);
  expect(await owner.code('teams_createRole', { name: 'p', org, permissions: many })).toBe('VAF_INPUT_INVALID');
});

test('a plan beyond free is an operator’s to give', async () => {
  const owner = await enrol(node, 'three-owner');
  expect(await owner.code('teams_createOrg', { name: 'Three', plan: 'pro' })).toBe('FORBIDDEN');
  expect(await codeOf(node.call('teams_createOrg', { name: 'Three', plan: 'gold' }))).toBe('VAF_INPUT_INVALID');
  expect(await node.call('teams_createOrg', { name: 'Three', plan: 'pro' })).toMatchObject({
    plan: 'pro',
    owner: null,
  });
});

test('a name that means several things is ambiguous, one that is left out must be clear', async () => {
  const { owner, org, dept } = await found('Five');
  const { id: second } = await owner.call('teams_createOrg', { name: 'Five B' });
  const { id: twin } = await owner.call('teams_createDept', { name: 'five dept', org: second });
  expect(await owner.code('teams_listTeams', { dept: 'Five dept' })).toBe('E_AMBIGUOUS');
  expect(await owner.code('teams_createTeam', { name: 'x', dept: 'Five dept' })).toBe('E_AMBIGUOUS');
  expect(await owner.code('teams_createTeam', { name: 'x' })).toBe('E_PARENT_REQUIRED');
  expect(await owner.code('teams_createDept', { name: 'x' })).toBe('E_PARENT_REQUIRED');
  expect(await owner.code('teams_listTeams', { dept: twin })).toBeNull();
  expect(await owner.code('teams_assign', { agentId: 'Five-owner', dept: 'Five dept' })).toBe('E_AMBIGUOUS');
  expect(await owner.call('teams_assign', { agentId: 'Five-owner', dept: 'Five dept', org })).toMatchObject({ dept });
});

test('an assignment fills in what is above it and refuses what is not of one chain', async () => {
  const { owner, org, dept, team } = await found('Six');
  const rival = await found('Six B');
  const lead = await makeRole(owner, org, 'Lead', ['doc:*'], team);
  const anywhere = await makeRole(owner, org, 'Anywhere', []);
  const agentId = String((await node.call('agent_spawn', {})).agentId);
  const place = (wish: Fields) => owner.call('teams_assign', { agentId, ...wish });
  const at = { agentId, org, dept: null, team: null, role: null, reportsTo: null, assignedBy: 'Six-owner' };
  expect(await place({})).toMatchObject(at);
  expect(await place({ dept: 'six dept' })).toMatchObject({ ...at, dept });
  expect(await place({ team })).toMatchObject({ ...at, dept, team });
  expect(await place({ role: 'lead' })).toMatchObject({ ...at, dept, team, role: lead });
  expect(await place({ dept, role: anywhere })).toMatchObject({ ...at, dept, role: anywhere });
  const { id: empty } = await owner.call('teams_createDept', { name: 'empty', org });
  for (const wish of [
    { dept: empty, team },
    { dept: empty, role: lead },
    { org: rival.org, team },
    { org, team: rival.team },
    { org, reportsTo: 'SixB-owner' },
  ]) {
    expect([wish, (await place(wish)).code]).toEqual([wish, 'E_NOT_FOUND']);
  }
  expect(await node.call('teams_assign', { agentId, dept, team: rival.team })).toMatchObject({ code: 'E_NOT_FOUND' });
  const before = await node.rows('SELECT * FROM habitat.assignments WHERE agent_id = $1', agentId);
  expect(await place({ dept, role: anywhere })).toMatchObject({ role: anywhere });
  expect(await node.rows('SELECT * FROM habitat.assignments WHERE agent_id = $1', agentId)).toEqual(before);
});

test('nobody reports to themselves, over however many', async () => {
  const { owner, org } = await found('Seven');
  const ids: string[] = [];
  for (let index = 0; index < 4; index += 1) ids.push(String((await node.call('agent_spawn', {})).agentId));
  const [a = '', b = '', c = '', d = ''] = ids;
  const report = (agentId: string, reportsTo?: string) => owner.call('teams_assign', { agentId, org, reportsTo });
  expect(await report(a, a)).toMatchObject({ code: 'E_CYCLE' });
  expect(await report(a, b)).toMatchObject({ code: 'E_NOT_FOUND' });
  for (const [agent, above] of [[b], [a, b], [c, a], [d, c]] as const) {
    expect((await report(agent, above)).reportsTo).toBe(above ?? null);
  }
  expect(await report(b, a)).toMatchObject({ code: 'E_CYCLE' });
  expect(await report(b, d)).toMatchObject({ code: 'E_CYCLE' });
  expect(await report(c, b)).toMatchObject({ reportsTo: b });
});

test('an agent is moved by who is admin here and there, and its reports close ranks', async () => {
  const here = await found('Eight');
  const there = await found('Eight B');
  const ids: string[] = [];
  for (let index = 0; index < 3; index += 1) ids.push(String((await node.call('agent_spawn', {})).agentId));
  const [top = '', middle = '', low = ''] = ids;
  for (const [agentId, reportsTo] of [[top], [middle, top], [low, middle]]) {
    await here.owner.call('teams_assign', { agentId, org: here.org, reportsTo });
  }
  expect(await there.owner.code('teams_assign', { agentId: middle, org: there.org })).toBe('FORBIDDEN');
  expect(await here.owner.code('teams_assign', { agentId: middle, org: there.org })).toBe('E_NOT_FOUND');
  expect(await node.call('teams_assign', { agentId: middle, org: there.org })).toMatchObject({ org: there.org });
  expect(await node.rows('SELECT reports_to FROM habitat.assignments WHERE agent_id = $1', low)).toEqual([
    { reports_to: top },
  ]);
  const audited = await node.rows<{ data: { old: Fields | null } }>(
    "SELECT data FROM habitat.audit_outbox WHERE event = 'team:assigned' AND data->>'agentId' = $1",
    middle,
  );
  const chained = await node.rows<{ data: { old: Fields | null } }>(
    "SELECT data FROM habitat.audit_entries WHERE event = 'team:assigned' AND data->>'agentId' = $1",
    middle,
  );
  expect([...chained, ...audited].map(({ data }) => data.old?.org ?? null)).toContain(here.org);
});

test('only identities that are there and that the caller may know of are assigned', async () => {
  const { owner, org } = await found('Nine');
  const hidden = String((await node.call('agent_spawn', { team: 'hidden-nine' })).agentId);
  const dead = String((await node.call('agent_spawn', {})).agentId);
  await node.call('agent_kill', { id: dead });
  for (const agentId of ['ghost', hidden, dead]) {
    expect(await owner.code('teams_assign', { agentId, org })).toBe('E_NOT_FOUND');
  }
  expect(await codeOf(node.call('teams_assign', { agentId: 'ghost', org }))).toBe('E_NOT_FOUND');
  expect(await codeOf(node.call('teams_assign', { agentId: hidden, org }))).toBeNull();
});

test('quotas: 20 organisations of one identity, 200 departments, 200 teams, 500 roles, 1000 members', async () => {
  const { owner, org, dept, team } = await found('Twelve');
  for (let index = 1; index < 20; index += 1) await owner.call('teams_createOrg', { name: `Twelve ${index}` });
  expect(await owner.code('teams_createOrg', { name: 'Twelve 20' })).toBe('E_QUOTA');
  const { client } = node.deps.store;
  const fill = (sql: string, ...values: unknown[]) => client.$executeRawUnsafe(sql, ...values);
  await fill(
    `INSERT INTO habitat.depts SELECT 'dpt_f' || n, $1, 'f' || n, 'f' || n, '', now() FROM generate_series(1, 199) n`,
    org,
  );
  await fill(
    `INSERT INTO habitat.teams SELECT 'team_f' || n, $1, $2, 'f' || n, 'f' || n, '', now() FROM generate_series(1, 199) n`,
    org,
    dept,
  );
  await fill(
    `INSERT INTO habitat.team_roles SELECT 'role_f' || n, $1, NULL, 'f' || n, 'f' || n, '{}', now()
     FROM generate_series(1, 500) n`,
    org,
  );
  await fill(
    `INSERT INTO habitat.assignments SELECT 'u' || n, $1, $2, $3, NULL, NULL, now(), 't' FROM generate_series(1, 1000) n`,
    org,
    dept,
    team,
  );
  expect(await owner.code('teams_createDept', { name: 'over', org })).toBe('E_QUOTA');
  expect(await owner.code('teams_createTeam', { name: 'over', dept })).toBe('E_QUOTA');
  expect(await owner.code('teams_createRole', { name: 'over', org })).toBe('E_QUOTA');
  expect(await owner.code('teams_assign', { agentId: 'Twelve-owner', team })).toBe('E_QUOTA');
  expect(await owner.code('teams_assign', { agentId: 'Twelve-owner', org })).toBeNull();
  await fill("DELETE FROM habitat.assignments WHERE agent_id = 'u1'");
  expect(await owner.code('teams_assign', { agentId: 'Twelve-owner', team })).toBeNull();
  await fill(`INSERT INTO habitat.orgs SELECT 'org_f' || n, 'f' || n, 'f' || n, 'free', '', NULL, now()
    FROM generate_series(1, 1000) n`);
  expect(await codeOf(node.call('teams_createOrg', { name: 'over' }))).toBe('E_QUOTA');
  await fill("DELETE FROM habitat.orgs WHERE id LIKE 'org_f%'");
});
