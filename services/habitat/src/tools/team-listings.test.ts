import { expect, test } from 'vitest';
import { foundCompany, makeRole } from '../../testing/test-companies.ts';
import { enrol, type Person } from '../../testing/test-people.ts';
import { useHabitat } from '../../testing/test-habitat.ts';

type Fields = Record<string, unknown>;

const { node } = useHabitat();

const found = (name: string) => foundCompany(node, name);

test('what is not visible is answered like what is not there', async () => {
  const { org, dept, team, owner } = await found('Four');
  const member = await enrol(node, 'four-member', { role: 'viewer' });
  const stranger = await enrol(node, 'four-stranger', { role: 'admin' });
  const roleId = await makeRole(owner, org, 'R', []);
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

test('permissions grant themselves, what is under them, or everything', async () => {
  const { owner, org } = await found('Ten');
  const writer = await enrol(node, 'ten-writer', { role: 'viewer' });
  const plain = await enrol(node, 'ten-plain', { role: 'viewer' });
  const stranger = await enrol(node, 'ten-stranger', { role: 'admin' });
  const roleId = await makeRole(owner, org, 'Writer', ['doc:*', 'read', 'a*']);
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
  const adminRole = await makeRole(owner, org, 'Admin', ['org:admin', 'doc:*']);
  const spender = await makeRole(owner, org, 'Spender', ['spend']);
  await owner.call('teams_assign', { agentId: 'eleven-admin', role: adminRole });
  expect(await admin.code('teams_createDept', { name: 'of the admin', org })).toBeNull();
  expect(await admin.code('teams_createRole', { name: 'ok', org, permissions: ['doc:edit', 'doc:*'] })).toBeNull();
  for (const permission of ['*', 'spend', 'doc', 'org:*']) {
    expect(await admin.code('teams_createRole', { name: 'no', org, permissions: [permission] })).toBe('FORBIDDEN');
  }
  expect(await admin.code('teams_assign', { agentId: 'eleven-admin', role: spender })).toBe('FORBIDDEN');
  expect(await admin.code('teams_assign', { agentId: 'eleven-plain', role: spender })).toBe('FORBIDDEN');
  expect(await admin.code('teams_assign', { agentId: 'eleven-plain', team, role: 'ok' })).toBe('FORBIDDEN');
  await owner.call('teams_assign', { agentId: 'eleven-plain', org });
  expect(await admin.code('teams_assign', { agentId: 'eleven-plain', team, role: 'ok' })).toBeNull();
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
