import { afterAll, beforeAll, expect, test } from 'vitest';
import { type HabitatNode, type HabitatTestBed, openHabitatTestBed } from '../habitat-test-bed.ts';
import { codeOf, enrol, type Person } from '../test-people.ts';

type Fields = Record<string, unknown>;

let bed: HabitatTestBed;
let node: HabitatNode;

beforeAll(async () => {
  bed = await openHabitatTestBed();
  node = await bed.start();
});
afterAll(async () => {
  await node.stop();
  await bed[Symbol.asyncDispose]();
});

const rows = <Row>(sql: string, ...values: unknown[]) => node.deps.store.client.$queryRawUnsafe<Row[]>(sql, ...values);

interface Company {
  readonly owner: Person;
  readonly org: string;
  readonly dept: string;
  readonly team: string;
}

/** An organisation with one department and one team, named after `name`. */
async function found(name: string): Promise<Company> {
  const owner = await enrol(node, `${name.replace(' ', '')}-owner`, { role: 'viewer' });
  const { id: org } = await owner.call('teams_createOrg', { name, desc: 'd' });
  const { id: dept } = await owner.call('teams_createDept', { name: `${name} dept`, org });
  const { id: team } = await owner.call('teams_createTeam', { name: `${name} team`, dept });
  return { owner, org: String(org), dept: String(dept), team: String(team) };
}

async function role(owner: Person, org: string, name: string, permissions: string[], team?: string): Promise<string> {
  return String((await owner.call('teams_createRole', { name, org, team, permissions })).id);
}

test('an organisation, a department, a team and a role, as they were made', async () => {
  const { owner, org, dept, team } = await found('One');
  expect(await owner.call('teams_getOrg', { id: 'one' })).toEqual({
    id: org,
    name: 'One',
    plan: 'free',
    desc: 'd',
    owner: 'One-owner',
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
  const events = await rows<{ name: string; payload: Fields }>(
    "SELECT name, payload FROM habitat.outbox WHERE payload->'parties' ? 'One-owner' ORDER BY written",
  );
  expect(events.map(({ name }) => name)).toEqual(['org:created', 'dept:created', 'team:created', 'teamrole:created']);
});

test('names are there once under their parent, in whatever case; wrong ones are refused', async () => {
  const { owner, org, dept } = await found('Two');
  const stranger = await enrol(node, 'two-stranger');
  expect(await stranger.code('teams_createOrg', { name: 'TWO' })).toBe('E_DUPLICATE');
  expect(await owner.code('teams_createDept', { name: 'two DEPT', org })).toBe('E_DUPLICATE');
  expect(await owner.code('teams_createTeam', { name: 'two TEAM', dept })).toBe('E_DUPLICATE');
  await role(owner, org, 'Lead', []);
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

test('what is not visible is answered like what is not there', async () => {
  const { org, dept, team, owner } = await found('Four');
  const member = await enrol(node, 'four-member', { role: 'viewer' });
  const stranger = await enrol(node, 'four-stranger', { role: 'admin' });
  const roleId = await role(owner, org, 'R', []);
  const about: [string, (x: string) => Fields, string, string][] = [
    ['teams_getOrg', (id) => ({ id }), org, 'org_none'],
    ['teams_getOrg', (id) => ({ id }), 'Four', 'Nobody'],
    ['teams_listDepts', (id) => ({ org: id }), 'Four', 'Nobody'],
    ['teams_listTeams', (id) => ({ dept: id }), dept, 'dpt_none'],
    ['teams_createDept', (id) => ({ name: 'x', org: id }), org, 'org_none'],
    ['teams_createTeam', (id) => ({ name: 'x', dept: id }), dept, 'dpt_none'],
    ['teams_createRole', (id) => ({ name: 'x', team: id }), team, 'team_none'],
    ['teams_assign', (id) => ({ agentId: 'four-stranger', role: id }), roleId, 'role_none'],
  ];
  for (const [tool, args, known, unknown] of about) {
    const answer = await stranger.call(tool, args(known));
    expect([tool, answer.code]).toEqual([tool, 'E_NOT_FOUND']);
    expect(answer).toEqual(await stranger.call(tool, args(unknown)));
  }
  expect(await stranger.call('teams_listOrgs')).toEqual({ orgs: [] });
  expect(await stranger.code('teams_listDepts')).toBe('E_PARENT_REQUIRED');
  await owner.call('teams_assign', { agentId: 'four-member', org });
  expect(await member.call('teams_getOrg', { id: 'four' })).toMatchObject({ id: org });
  expect(((await member.call('teams_listOrgs')).orgs as Fields[]).map(({ id }) => id)).toEqual([org]);
  for (const [tool, args] of [
    ['teams_createDept', { name: 'x' }],
    ['teams_createTeam', { name: 'x' }],
    ['teams_createRole', { name: 'x' }],
    ['teams_assign', { agentId: 'four-member' }],
  ] as const) {
    expect([tool, await member.code(tool, args)]).toEqual([tool, 'FORBIDDEN']);
  }
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
  const lead = await role(owner, org, 'Lead', ['doc:*'], team);
  const anywhere = await role(owner, org, 'Anywhere', []);
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
  const before = await rows('SELECT * FROM habitat.assignments WHERE agent_id = $1', agentId);
  expect(await place({ dept, role: anywhere })).toMatchObject({ role: anywhere });
  expect(await rows('SELECT * FROM habitat.assignments WHERE agent_id = $1', agentId)).toEqual(before);
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
  expect(await rows('SELECT reports_to FROM habitat.assignments WHERE agent_id = $1', low)).toEqual([
    { reports_to: top },
  ]);
  const audited = await rows<{ data: { old: Fields | null } }>(
    "SELECT data FROM habitat.audit_outbox WHERE event = 'team:assigned' AND data->>'agentId' = $1",
    middle,
  );
  const chained = await rows<{ data: { old: Fields | null } }>(
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

test('permissions grant themselves, what is under them, or everything', async () => {
  const { owner, org } = await found('Ten');
  const writer = await enrol(node, 'ten-writer', { role: 'viewer' });
  const plain = await enrol(node, 'ten-plain', { role: 'viewer' });
  const stranger = await enrol(node, 'ten-stranger', { role: 'admin' });
  const roleId = await role(owner, org, 'Writer', ['doc:*', 'read', 'a*']);
  await owner.call('teams_assign', { agentId: 'ten-writer', role: roleId });
  await owner.call('teams_assign', { agentId: 'ten-plain', org });
  const asked = async (who: Person, permission: string, agentId = 'ten-writer') => {
    const answer = await who.call('teams_hasPermission', { agentId, permission });
    return [answer.hasPermission, answer.because];
  };
  for (const who of [writer, plain, owner]) {
    expect(await asked(who, 'doc:edit')).toEqual([true, 'doc:*']);
    expect(await asked(who, 'docs')).toEqual([false, 'no-match']);
    expect(await asked(who, 'doc')).toEqual([false, 'no-match']);
    expect(await asked(who, 'read')).toEqual([true, 'read']);
    expect(await asked(who, 'ab')).toEqual([false, 'no-match']);
    expect(await asked(who, 'read', 'ten-plain')).toEqual([false, 'no-role']);
  }
  expect(await asked(stranger, 'doc:edit')).toEqual([false, 'no-role']);
  expect(await asked(stranger, 'doc:edit', 'ghost')).toEqual([false, 'no-role']);
});

test('an admin by role gives nothing that it does not hold', async () => {
  const { owner, org, team } = await found('Eleven');
  const admin = await enrol(node, 'eleven-admin', { role: 'viewer' });
  await enrol(node, 'eleven-plain', { role: 'viewer' });
  const adminRole = await role(owner, org, 'Admin', ['org:admin', 'doc:*']);
  const spender = await role(owner, org, 'Spender', ['spend']);
  await owner.call('teams_assign', { agentId: 'eleven-admin', role: adminRole });
  expect(await admin.code('teams_createDept', { name: 'of the admin', org })).toBeNull();
  expect(await admin.code('teams_createRole', { name: 'ok', org, permissions: ['doc:edit', 'doc:*'] })).toBeNull();
  for (const permission of ['*', 'spend', 'doc', 'org:*']) {
    expect(await admin.code('teams_createRole', { name: 'no', org, permissions: [permission] })).toBe('FORBIDDEN');
  }
  expect(await admin.code('teams_assign', { agentId: 'eleven-admin', role: spender })).toBe('FORBIDDEN');
  expect(await admin.code('teams_assign', { agentId: 'eleven-plain', role: spender })).toBe('FORBIDDEN');
  expect(await admin.code('teams_assign', { agentId: 'eleven-plain', team, role: 'ok' })).toBeNull();
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

test('lists go on where the page before ended', async () => {
  const { owner, org } = await found('Pages');
  for (const name of ['a', 'b', 'c', 'd']) await owner.call('teams_createDept', { name, org });
  const seen: unknown[] = [];
  for (let cursor: unknown; ; ) {
    const page = await owner.call('teams_listDepts', { org, limit: 2, ...(cursor === undefined ? {} : { cursor }) });
    seen.push(...(page.depts as Fields[]).map(({ name }) => name));
    if (page.nextCursor === undefined) break;
    cursor = page.nextCursor;
  }
  expect(seen).toEqual(['Pages dept', 'a', 'b', 'c', 'd']);
});
