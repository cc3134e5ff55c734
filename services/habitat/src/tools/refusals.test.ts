/** Refusals that no other test of a tool's family meets, a row each: the tool, what is asked, the code it is refused with. */
import { createLocalBus } from '@svc/runtime/bus.local.ts';
import { awayRedis } from '@svc/testing/away-redis.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { serveBrain } from '../../testing/test-brain.ts';
import { foundCompany } from '../../testing/test-companies.ts';
import { useHabitat } from '../../testing/test-habitat.ts';
import { enrol, type Person } from '../../testing/test-people.ts';
import { MAX_ROLES_OF_A_WORKSPACE } from '../store/role-rows.ts';
import { MAX_SPAWNS_A_MINUTE } from '../store/spawn.ts';

type Fields = Record<string, unknown>;

const bus = createLocalBus();
const { node } = useHabitat({ platform: { bus } });
let editor: Person;
let owner: Person;
let org: string;

beforeAll(async () => {
  editor = await enrol(node, 'an-editor');
  ({ owner, org } = await foundCompany(node, 'First'));
  await owner.call('teams_createOrg', { name: 'Second' });
  // Two teams of one name in one organisation.
  const { id: dept } = await owner.call('teams_createDept', { name: 'Other dept', org });
  await owner.call('teams_createTeam', { name: 'First team', dept });
});

/** The code of a refusal or a call error of a call of the operator. */
const codeOf = (tool: string, args: Fields): Promise<unknown> =>
  node.call(tool, args).then(
    ({ code }) => code,
    (error: Error) => error.message,
  );

test.each<readonly [tool: string, args: Fields, code: string]>([
  ['svc_habitat_removeRole', { workspaceId: 'ghost', role: 'viewer', userId: 'ann' }, 'HABITAT_UNKNOWN_WORKSPACE'],
  ['teams_confirmOrg', { org: 'Ghost' }, 'E_NOT_FOUND'],
  ['agent_proto_load', { name: 'nobody-wrote-it' }, 'E_PROTO_ABSENT'],
  ['svc_sudo_createTask', { scopes: ['root'] }, 'E_SUDO_SCOPE'],
])('%s of %j is %s', async (tool, args, code) => {
  expect(await codeOf(tool, args)).toBe(code);
});

test('what is left out must be clear, and a name that means two things is ambiguous', async () => {
  expect(await owner.code('teams_assign', { agentId: owner.id })).toBe('E_PARENT_REQUIRED');
  expect(await owner.code('teams_createRole', { name: 'Lead' })).toBe('E_PARENT_REQUIRED');
  expect(await owner.code('teams_listTeams')).toBe('E_PARENT_REQUIRED');
  expect(await owner.code('teams_createRole', { name: 'Lead', org, team: 'First team' })).toBe('E_AMBIGUOUS');
});

test('a scope that nobody has declared is granted, revoked and asked for by nobody', async () => {
  const task = String((await editor.call('svc_sudo_createTask', {})).taskId);
  for (const tool of ['svc_sudo_grant', 'svc_sudo_revoke', 'svc_sudo_escalate'])
    expect([tool, await codeOf(tool, { taskId: task, scope: 'root' })]).toEqual([tool, 'E_SUDO_SCOPE']);
});

test('the 21st escalation of a minute is refused by its other name too', async () => {
  const asker = await enrol(node, 'an-asker');
  const task = String((await asker.call('svc_sudo_createTask', { scopes: [] })).taskId);
  const asked = await Promise.all(
    Array.from({ length: 21 }, () => asker.code('sudo_escalate', { task, level: 'network' })),
  );
  expect(asked.filter((code) => code === 'E_RATE_LIMIT')).toHaveLength(1);
});

describe('while no brain answers', () => {
  const policy = { container: 'default' };

  test.each<readonly [tool: string, args: Fields]>([
    ['svc_habitat_setPolicy', { resource: 'brain:some', policy }],
    ['svc_habitat_removePolicy', { resource: 'brain:some' }],
    ['svc_succession_info', {}],
  ])('%s is SERVICE_UNAVAILABLE, and answers when one does', async (tool, args) => {
    expect(await editor.code(tool, args)).toBe('SERVICE_UNAVAILABLE');
    const brain = await serveBrain(bus, {});
    expect(await editor.code(tool, args)).not.toBe('SERVICE_UNAVAILABLE');
    await brain.drain();
  });
});

test('a boundary that is removed at the moment of its change leaves nobody to decide: the call is to come again', async () => {
  const boss = await enrol(node, 'a-boss', { workspace: 'bounded', role: 'admin' });
  const args = { resource: 'brain:contested', policy: { container: 'bounded' } };
  const codes = new Set<unknown>();
  // Found attached, and gone when its row is locked: which of the two comes first is the scheduler's choice.
  for (let attempt = 0; attempt < 100 && !codes.has('E_BUSY'); attempt += 1) {
    await node.call('svc_habitat_setPolicy', args);
    const [code] = await Promise.all([
      boss.code('svc_habitat_setPolicy', args),
      node.call('svc_habitat_removePolicy', { resource: args.resource }),
    ]);
    codes.add(code);
  }
  expect([...codes]).toContain('E_BUSY');
  // Before it, after it, or unattached at the first look, when a brain would have to say where it is at home.
  expect([null, 'E_BUSY', 'SERVICE_UNAVAILABLE']).toEqual(expect.arrayContaining([...codes]));
});

describe('while Redis is away', () => {
  const redis = awayRedis();
  const { node: other } = useHabitat({ platform: { shared: redis.shared } });
  afterAll(() => redis[Symbol.dispose]());

  test('no session is said to be in a workspace that is not kept for it', async () => {
    const set = other.call('svc_habitat_setWorkspace', { workspaceId: 'default' });
    await expect(set).rejects.toThrow('SERVICE_UNAVAILABLE');
  });
});

test('an agent spawns so many a minute, and the default workspace has so much room', async () => {
  const spawns = Array.from({ length: MAX_SPAWNS_A_MINUTE + 2 }, () => editor.code('svc_agent_spawn'));
  expect((await Promise.all(spawns)).filter((code) => code === 'E_RATE_LIMIT')).toHaveLength(2);
  const limited = { by: 'operator', operator: true, idempotency: null } as const;
  await node.registry.changeSetting({ key: 'habitat.maxAgents', value: 1, ...limited });
  expect(await codeOf('svc_agent_spawn', {})).toBe('E_QUOTA');
});

test('a workspace holds so many roles', async () => {
  await node.call('svc_habitat_createWorkspace', { workspaceId: 'full', options: { owner: 'its-owner' } });
  await node.rows(
    `INSERT INTO habitat.roles (workspace_id, user_id, role, granted_by, granted_at)
     SELECT 'full', 'user' || n, 'viewer', 'test', now() FROM generate_series(1, $1::int) n`,
    MAX_ROLES_OF_A_WORKSPACE,
  );
  expect(await codeOf('svc_habitat_addRole', { workspaceId: 'full', role: 'viewer', userId: 'one-more' })).toBe(
    'E_QUOTA',
  );
});
