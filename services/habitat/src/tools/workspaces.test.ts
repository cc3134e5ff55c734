import { describe, expect, test } from 'vitest';
import { useHabitat } from '../../testing/test-habitat.ts';
import { identified, withTokenOf } from '../../testing/test-people.ts';

type Fields = Record<string, unknown>;

const { node } = useHabitat();

const ANONYMOUS = { subject: { workspace: 'default' }, operator: false };

const tokenOf = (agentId: string) => withTokenOf(node, agentId);

const create = (workspaceId: string, options: Fields = {}, over: Fields = {}) =>
  node.call('svc_habitat_createWorkspace', { workspaceId, options }, over);

describe('making workspaces', () => {
  test('the owner is its admin, making it again changes nothing, anybody else is told it is taken', async () => {
    const made = await create('Acme', { owner: 'ada' });
    expect(made).toEqual({
      workspaceId: 'Acme',
      id: 'Acme',
      name: 'Acme',
      owner: 'ada',
      policy: { readableBy: ['public'], writableBy: ['role:admin'], container: 'Acme', filter: [], mask: [] },
      geometry: null,
      createdAt: expect.any(Number),
      created: true,
    });
    const before = (await node.registry.revision()).stamp;
    expect(await create('Acme', {}, identified('ada'))).toEqual({ ...made, created: false });
    for (const [name, over] of [
      ['Acme', identified('eve')],
      ['acme', identified('ada')],
      ['ACME', {}],
    ] as const) {
      expect(await create(name, {}, over)).toMatchObject({ code: 'HABITAT_WORKSPACE_EXISTS' });
    }
    expect(await create('Acme', { name: 'Other' }, identified('ada'))).toMatchObject({
      code: 'HABITAT_WORKSPACE_EXISTS',
    });
    expect((await node.registry.revision()).stamp).toEqual(before);
    expect(await node.registry.roles({ userId: 'ada', workspaceId: 'Acme' })).toMatchObject({
      roles: ['admin'],
    });
  });

  test('nobody but an operator makes one for somebody else or under a name that spawning gives', async () => {
    await expect(create('w1', { owner: 'ada' }, identified('eve'))).rejects.toThrow('FORBIDDEN');
    await expect(create('ORG-x', {}, identified('eve'))).rejects.toThrow('FORBIDDEN');
    await expect(create('w1', {}, ANONYMOUS)).rejects.toThrow('UNAUTHORIZED');
    for (const bad of ['public', 'Public', '1a', 'a b', '', 'a'.repeat(65)]) {
      await expect(create(bad)).rejects.toThrow('VAF_INPUT_INVALID');
    }
    await expect(create('w1', { owner: 'system' })).rejects.toThrow('VAF_INPUT_INVALID');
    await expect(create('w1', { policy: { container: 'default' } })).rejects.toThrow('VAF_INPUT_INVALID');
    expect(await create('w1', { policy: { readableBy: [] } })).toMatchObject({
      owner: null,
      policy: { readableBy: [], container: 'w1' },
    });
  });

  test('one identity owns 20', async () => {
    const many = await Promise.all(
      Array.from({ length: 25 }, (_, index) => create(`many${index}`, {}, identified('mia'))),
    );
    expect(many.filter(({ created }) => created === true)).toHaveLength(20);
    expect(many.filter(({ code }) => code === 'E_QUOTA')).toHaveLength(5);
    expect(await create('many-more', { owner: 'mia' })).toMatchObject({ created: true });
  });

  test('of 50 that make the same one, one does', async () => {
    const racers = await Promise.all(
      Array.from({ length: 50 }, (_, index) => create('race', {}, identified(`racer${index}`))),
    );
    const [winner, ...rest] = racers.filter(({ created }) => created === true);
    expect(rest).toEqual([]);
    expect(racers.filter(({ code }) => code === 'HABITAT_WORKSPACE_EXISTS')).toHaveLength(49);
    const { client } = node.deps.store;
    expect(await client.$queryRawUnsafe(`SELECT user_id, role FROM habitat.roles WHERE workspace_id = 'race'`)).toEqual(
      [{ user_id: winner?.owner, role: 'admin' }],
    );
  });

  test('a replay of a keyed call is the stored reply', async () => {
    const over = { idempotencyKey: 'k' };
    const made = await create('keyed', { owner: 'ada' }, over);
    expect(await create('keyed', { owner: 'ada' }, over)).toEqual(made);
    await expect(create('keyed2', { owner: 'ada' }, over)).rejects.toThrow('IDEMPOTENCY_KEY_REUSED');
  });
});

describe('roles', () => {
  test('admins give and take them in their workspace alone, and the last admin stays', async () => {
    await create('r1', { owner: 'rita' });
    await create('r2', { owner: 'rob' });
    const [rita, rob] = [await tokenOf('rita'), await tokenOf('rob')];
    const grant = (as: typeof rita, workspaceId: string, userId: string, role = 'viewer') =>
      as('svc_habitat_addRole', { workspaceId, userId, role });
    expect(await grant(rita, 'r1', 'vic')).toEqual({
      workspace: 'r1',
      workspaceId: 'r1',
      userId: 'vic',
      role: 'viewer',
      roles: ['viewer'],
      added: true,
    });
    expect(await grant(rita, 'r1', 'vic')).toMatchObject({ added: false });
    await expect(grant(rob, 'r1', 'rob', 'admin')).rejects.toThrow('FORBIDDEN');
    await expect(grant(await tokenOf('vic'), 'r1', 'vic', 'admin')).rejects.toThrow('FORBIDDEN');
    await expect(grant(rita, 'ghost', 'vic')).rejects.toThrow('FORBIDDEN');
    expect(
      await node.call('svc_habitat_addRole', { workspaceId: 'ghost', userId: 'vic', role: 'viewer' }),
    ).toMatchObject({ code: 'HABITAT_UNKNOWN_WORKSPACE' });
    await expect(
      node.call('svc_habitat_addRole', { workspaceId: 'r1', userId: 'a1', role: 'admin' }, ANONYMOUS),
    ).rejects.toThrow('UNAUTHORIZED');
    const take = (as: typeof rita, userId: string, role: string) =>
      as('svc_habitat_removeRole', { workspaceId: 'r1', userId, role });
    expect(await take(rita, 'rita', 'admin')).toMatchObject({ code: 'E_LAST_ADMIN' });
    expect(await take(rita, 'rita', 'viewer')).toMatchObject({ removed: false, roles: ['admin'] });
    await expect(take(rob, 'vic', 'viewer')).rejects.toThrow('FORBIDDEN');
    expect(await take(await tokenOf('vic'), 'vic', 'viewer')).toMatchObject({ removed: true });
    expect(
      await node.call('svc_habitat_removeRole', { workspaceId: 'r1', userId: 'rita', role: 'admin' }),
    ).toMatchObject({ removed: true, roles: [] });
  });

  test('a killed agent gets no role, and is no admin beside the last one', async () => {
    await create('k1', { owner: 'kim' });
    const kim = await tokenOf('kim');
    const { agentId } = await node.call('agent_spawn', { team: 'k1' });
    await node.call('agent_kill', { id: agentId });
    const add = { workspaceId: 'k1', userId: agentId, role: 'admin' };
    expect(await kim('svc_habitat_addRole', add)).toEqual({
      error: `AGENT_NOT_FOUND: ${String(agentId)}`,
      code: 'AGENT_NOT_FOUND',
    });
    await node.rows(
      `INSERT INTO habitat.roles (workspace_id, user_id, role, granted_by, granted_at, source)
       VALUES ('k1', $1, 'admin', 'test', now(), 'family')`,
      agentId,
    );
    expect(await kim('svc_habitat_removeRole', { ...add, userId: 'kim' })).toMatchObject({ code: 'E_LAST_ADMIN' });
    const owned = { workspaceId: 'k2', options: { owner: agentId } };
    expect(await node.call('svc_habitat_createWorkspace', owned)).toMatchObject({ code: 'AGENT_NOT_FOUND' });
    expect(await node.rows(`SELECT 1 FROM habitat.workspaces WHERE workspace_id = 'k2'`)).toEqual([]);
  });

  test('members see the roles of members; capabilities are those of one workspace', async () => {
    await create('s1', { owner: 'sam' });
    await node.call('svc_habitat_addRole', { workspaceId: 's1', userId: 'sue', role: 'editor' });
    const sue = await tokenOf('sue');
    const ask = (as: typeof sue, args: Fields) => as('svc_habitat_getUserRoles', args);
    expect(await ask(sue, {})).toMatchObject({
      workspace: 's1',
      userId: 'sue',
      roles: ['editor'],
      capabilities: { canRead: true, canWrite: true, canAdmin: false, canDelete: false },
    });
    expect(await ask(sue, { userId: 'sam' })).toMatchObject({ roles: ['admin'], capabilities: { canDelete: true } });
    await create('s2', { owner: 'sid' });
    const sid = await tokenOf('sid');
    await expect(ask(sid, { workspaceId: 's1', userId: 'sam' })).rejects.toThrow('FORBIDDEN');
    await expect(ask(sid, { workspaceId: 'ghost', userId: 'sam' })).rejects.toThrow('FORBIDDEN');
    const none = { roles: [], capabilities: { canRead: false, canWrite: false, canAdmin: false, canDelete: false } };
    expect(await ask(sid, { workspaceId: 's1' })).toMatchObject(none);
    expect(await ask(sid, { workspaceId: 'ghost' })).toMatchObject(none);
    await expect(node.call('svc_habitat_getUserRoles')).rejects.toThrow('VAF_INPUT_INVALID');
  });
});

test('everybody sees their own workspaces and the default one', async () => {
  await create('v1', { owner: 'val' });
  await create('v2', { owner: 'val' });
  const val = await tokenOf('val');
  const first = await val('svc_habitat_listWorkspaces', { limit: 2 });
  const second = await val('svc_habitat_listWorkspaces', { limit: 2, cursor: first.nextCursor });
  const rows = [...(first.workspaces as Fields[]), ...(second.workspaces as Fields[])];
  expect(rows.map(({ id, roles }) => [id, roles])).toEqual([
    ['default', []],
    ['v1', ['admin']],
    ['v2', ['admin']],
  ]);
  expect(second.nextCursor).toBeUndefined();
  const anonymous = await node.call('svc_habitat_status', {}, ANONYMOUS);
  expect(anonymous).toMatchObject({ boundaries: 0, inputs: 0, currentWorkspace: 'default' });
  expect((anonymous.workspaces as Fields[]).map(({ id }) => id)).toEqual(['default']);
  expect(await val('svc_habitat_status')).toMatchObject({ inputs: 1, currentWorkspace: 'v1' });
});

test('the current workspace belongs to the session, and changes only to where a role is held', async () => {
  await create('c1', { owner: 'cara' });
  const cara = await tokenOf('cara');
  const session = 'c'.repeat(64);
  const go = (as: typeof cara, args: Fields) => as('svc_habitat_setWorkspace', args, { session });
  expect(await go(cara, { workspaceId: 'c1' })).toEqual({ switched: true, current: 'c1' });
  expect((await node.registry.revision(session)).current).toBe('c1');
  expect((await node.registry.revision('d'.repeat(64))).current).toBeNull();
  expect(await go(cara, {})).toEqual({ switched: true, current: 'default' });
  const stranger = await tokenOf('ada');
  await expect(go(stranger, { workspaceId: 'c1' })).rejects.toThrow('FORBIDDEN');
  await expect(go(stranger, { workspaceId: 'ghost' })).rejects.toThrow('FORBIDDEN');
  expect(await node.call('svc_habitat_setWorkspace', { workspaceId: 'ghost' })).toMatchObject({
    switched: false,
    current: 'default',
    code: 'HABITAT_UNKNOWN_WORKSPACE',
  });
  await expect(node.call('svc_habitat_setWorkspace', {}, ANONYMOUS)).rejects.toThrow('UNAUTHORIZED');
});

test('an agent is known to itself, its creator and its fellows, each as far as they may know', async () => {
  await create('k1', { owner: 'kim' });
  await create('k2', { owner: 'kai' });
  await node.call('svc_habitat_addRole', { workspaceId: 'k1', userId: 'bee', role: 'viewer' });
  await node.call('svc_habitat_addRole', { workspaceId: 'k2', userId: 'bee', role: 'editor' });
  const ask = async (who: string, args: Fields = {}) =>
    (await tokenOf(who))('svc_habitat_agentContext', { agentId: 'bee', ...args });
  expect(await ask('bee')).toEqual({
    userId: 'bee',
    agentId: 'bee',
    name: null,
    workspace: 'k1',
    roles: ['viewer'],
    team: null,
    brain: null,
    capabilities: { canRead: true, canWrite: false, canAdmin: false, canDelete: false },
    workspaces: ['k1', 'k2'],
  });
  expect(await ask('bee', { workspace: 'k2' })).toMatchObject({ workspace: 'k2', roles: ['editor'] });
  expect(await ask('kai')).toMatchObject({ workspace: 'k2', roles: ['editor'], workspaces: ['k2'] });
  expect(await ask('kai', { workspace: 'k1' })).toMatchObject({ workspace: 'k2' });
  const hidden = await ask('ada');
  const unknown = await (await tokenOf('ada'))('svc_habitat_agentContext', { agentId: 'bef' });
  expect(hidden).toEqual({ error: 'AGENT_NOT_FOUND: bee', code: 'AGENT_NOT_FOUND' });
  expect(unknown).toEqual({ error: 'AGENT_NOT_FOUND: bef', code: 'AGENT_NOT_FOUND' });
});
