import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { useHabitat } from '../../testing/test-habitat.ts';

type Fields = Record<string, unknown>;

const { node } = useHabitat();

let made = 0;

/** A workspace of its own with an admin. */
async function tenant(): Promise<{ workspace: string; admin: string }> {
  made += 1;
  const [workspace, admin] = [`tenant${made}`, `admin${made}`];
  await node.call('svc_habitat_createWorkspace', { workspaceId: workspace, options: { owner: admin } });
  return { workspace, admin };
}

async function mint(agentId: string, over: Fields = {}): Promise<string> {
  return String((await node.call('svc_habitat_mintToken', { agentId, ...over })).token);
}

/** An agent as spawning leaves it: a row and a role at home. */
async function agent(id: string, workspace: string, createdBy: string): Promise<void> {
  await node.deps.store.client.$executeRawUnsafe(
    `INSERT INTO habitat.agents (agent_id, name, workspace, created_by, created_at) VALUES ($1, $1, $2, $3, now())`,
    id,
    workspace,
    createdBy,
  );
  await node.call('svc_habitat_addRole', { workspaceId: workspace, userId: id, role: 'editor' });
}

describe('minting', () => {
  test('the raw token is shown once and only its hash is kept', async () => {
    const { workspace, admin } = await tenant();
    const over = { idempotencyKey: 'mint-once' };
    const first = await node.call('svc_habitat_mintToken', { agentId: admin }, over);
    expect(first).toMatchObject({ agentId: admin, workspace, roles: ['admin'], bound: false, readOnly: false });
    expect(first.token).toMatch(/^svc_[0-9a-f]{64}$/);
    expect(first.tokenHash).toBe(hash('sha256', String(first.token), 'hex'));
    expect(Number(first.expiresAt) - Number(first.mintedAt)).toBe(86_400_000);
    const again = await node.call('svc_habitat_mintToken', { agentId: admin }, over);
    expect(again).toEqual({ ...first, token: null, replayed: true });
    expect(await node.call('svc_habitat_verifyToken', { token: first.token })).toEqual({
      valid: true,
      subject: { userId: admin, agentId: admin, workspace, roles: ['admin'], verified: true },
      tokenId: first.tokenId,
      expiresAt: first.expiresAt,
      readOnly: false,
      profile: null,
    });
    expect(await everyRow()).not.toContain(String(first.token).slice(4));
  });

  test('an identity without a role has no token, and ttlMs is a whole number up to 30 days', async () => {
    await expect(node.call('svc_habitat_mintToken', { agentId: 'nobody' })).resolves.toMatchObject({
      code: 'AGENT_NOT_FOUND',
      error: 'AGENT_NOT_FOUND: nobody',
    });
    const { admin } = await tenant();
    for (const ttlMs of [0, -1, 1.5, 2_592_000_001]) {
      await expect(node.call('svc_habitat_mintToken', { agentId: admin, ttlMs })).rejects.toThrow('VAF_INPUT_INVALID');
    }
    const token = await mint(admin, { ttlMs: 1 });
    await sleep(5);
    expect(await node.call('svc_habitat_verifyToken', { token })).toEqual({ valid: false });
  });

  test('an admin mints for agents at home with it alone, and the token acts nowhere else', async () => {
    const { workspace, admin } = await tenant();
    const other = await tenant();
    const asAdmin = node.as(await mint(admin));
    await node.call('svc_habitat_addRole', { workspaceId: workspace, userId: 'bob', role: 'viewer' });
    await expect(asAdmin('svc_habitat_mintToken', { agentId: 'bob' })).rejects.toThrow('FORBIDDEN');
    await agent('agt_away', other.workspace, 'operator');
    await expect(asAdmin('svc_habitat_mintToken', { agentId: 'agt_away' })).resolves.toMatchObject({
      code: 'AGENT_NOT_FOUND',
    });
    await node.call('svc_habitat_addRole', { workspaceId: workspace, userId: 'agt_away', role: 'viewer' });
    await expect(asAdmin('svc_habitat_mintToken', { agentId: 'agt_away' })).rejects.toThrow('FORBIDDEN');
    await agent('agt_own', workspace, 'operator');
    await node.call('svc_habitat_addRole', { workspaceId: other.workspace, userId: 'agt_own', role: 'admin' });
    const minted = await asAdmin('svc_habitat_mintToken', { agentId: 'agt_own' });
    expect(minted).toMatchObject({ bound: true, workspace, roles: ['editor'] });
    const { token } = await node.registry.subject({ token: String(minted.token) });
    expect(token).toMatchObject({ limits: { bound: workspace }, roles: { [workspace]: ['editor'] } });
    const bound = node.as(String(minted.token));
    await expect(
      bound('svc_habitat_addRole', { workspaceId: other.workspace, userId: 'eve', role: 'viewer' }),
    ).rejects.toThrow('FORBIDDEN');
    await expect(bound('svc_habitat_createWorkspace', { workspaceId: 'elsewhere' })).rejects.toThrow('FORBIDDEN');
    await node.call('svc_habitat_removeRole', { workspaceId: workspace, userId: 'agt_own', role: 'editor' });
    expect(await node.call('svc_habitat_verifyToken', { token: minted.token })).toEqual({ valid: false });
  });

  test('a token gives no token with fewer limits or a longer life', async () => {
    const { workspace, admin } = await tenant();
    const limited = node.as(await mint(admin, { profile: 'habitat', workspace, ttlMs: 60_000 }));
    const own = await limited('svc_habitat_mintToken', { agentId: admin });
    expect(own).toMatchObject({ profile: 'habitat', bound: true });
    expect(Number(own.ttlMs)).toBeLessThanOrEqual(60_000);
    for (const wish of [{ profile: 'full' }, { ttlMs: 60_001 }, { workspace: 'default' }]) {
      await expect(limited('svc_habitat_mintToken', { agentId: admin, ...wish })).rejects.toThrow('FORBIDDEN');
    }
    await expect(limited('svc_habitat_mintToken', { agentId: admin, readOnly: true })).resolves.toMatchObject({
      readOnly: true,
    });
    const looking = node.as(await mint(admin, { readOnly: true }));
    await expect(looking('svc_habitat_mintToken', { agentId: admin, readOnly: false })).rejects.toThrow('FORBIDDEN');
    await expect(looking('svc_habitat_mintToken', { agentId: admin })).resolves.toMatchObject({ readOnly: true });
  });

  test('the creator of an agent mints for it, bound to its home and no longer than its own token', async () => {
    const { workspace } = await tenant();
    const creator = (await tenant()).admin;
    await agent('agt_made', workspace, creator);
    const there = { workspaceId: workspace, userId: creator, role: 'editor' };
    await node.call('svc_habitat_addRole', there);
    const asCreator = node.as(await mint(creator, { ttlMs: 60_000 }));
    const minting = () => asCreator('svc_habitat_mintToken', { agentId: 'agt_made' });
    const minted = await minting();
    expect(minted).toMatchObject({ bound: true, workspace });
    expect(Number(minted.ttlMs)).toBeLessThanOrEqual(60_000);
    await node.call('svc_habitat_removeRole', there);
    await expect(minting()).rejects.toThrow('FORBIDDEN');
  });
});

describe('the end of a token', () => {
  test('it follows the roles, and ends with the last one for good', async () => {
    const { workspace } = await tenant();
    const role = { workspaceId: workspace, userId: 'carol', role: 'viewer' };
    await node.call('svc_habitat_addRole', role);
    const token = await mint('carol');
    await node.call('svc_habitat_addRole', { ...role, role: 'admin' });
    expect(await node.call('svc_habitat_verifyToken', { token })).toMatchObject({
      subject: { roles: ['admin', 'viewer'] },
    });
    await node.call('svc_habitat_removeRole', { ...role, role: 'admin' });
    expect(await node.call('svc_habitat_verifyToken', { token })).toMatchObject({ subject: { roles: ['viewer'] } });
    expect(await node.call('svc_habitat_removeRole', role)).toMatchObject({ removed: true, roles: [] });
    expect(await node.call('svc_habitat_verifyToken', { token })).toEqual({ valid: false });
    await node.call('svc_habitat_addRole', role);
    expect(await node.call('svc_habitat_verifyToken', { token })).toEqual({ valid: false });
  });

  test('a token that is bound to a workspace ends with the last role there, and no later grant revives it', async () => {
    const [home, other] = [await tenant(), await tenant()];
    await agent('agt_e', home.workspace, 'operator');
    const there = { workspaceId: other.workspace, userId: 'agt_e' };
    for (const role of ['viewer', 'editor']) await node.call('svc_habitat_addRole', { ...there, role });
    const [free, bound, elsewhere] = [
      await mint('agt_e'),
      await mint('agt_e', { workspace: other.workspace }),
      await mint('agt_e', { workspace: home.workspace }),
    ];
    const valid = async () => {
      const answers = [free, bound, elsewhere].map((token) => node.call('svc_habitat_verifyToken', { token }));
      return (await Promise.all(answers)).map((answer) => answer.valid);
    };
    await node.call('svc_habitat_removeRole', { ...there, role: 'editor' });
    expect(await valid()).toEqual([true, true, true]);
    await node.call('svc_habitat_removeRole', { ...there, role: 'viewer' });
    expect(await valid()).toEqual([true, false, true]);
    await node.call('svc_habitat_addRole', { ...there, role: 'viewer' });
    expect(await valid()).toEqual([true, false, true]);
  });

  test('revoked by whoever may, once; anybody else is told what an unknown token is told', async () => {
    const { workspace, admin } = await tenant();
    const stranger = node.as(await mint((await tenant()).admin));
    await agent('agt_r', workspace, 'operator');
    const asAdmin = node.as(await mint(admin));
    const bound = await asAdmin('svc_habitat_mintToken', { agentId: 'agt_r' });
    for (const name of [bound.tokenId, bound.tokenHash, 'f'.repeat(64), 'tok_1', 'x']) {
      expect(await stranger('svc_habitat_revokeToken', { tokenOrHash: name })).toEqual({ revoked: false });
    }
    const revoke = (as: typeof stranger, tokenOrHash: unknown) => as('svc_habitat_revokeToken', { tokenOrHash });
    expect(await revoke(asAdmin, bound.tokenId)).toEqual({ revoked: true });
    expect(await revoke(asAdmin, bound.tokenId)).toEqual({ revoked: false });
    expect(await node.call('svc_habitat_verifyToken', { token: bound.token })).toEqual({ valid: false });
    const raw = await mint('agt_r');
    const nobody = { subject: { workspace: 'default' }, operator: false };
    expect(await node.call('svc_habitat_revokeToken', { tokenOrHash: raw }, nobody)).toEqual({ revoked: true });
    const unbound = await node.call('svc_habitat_mintToken', { agentId: 'agt_r' });
    expect(await revoke(asAdmin, unbound.tokenId)).toEqual({ revoked: false });
    expect(await revoke(node.as(await mint('agt_r')), unbound.tokenHash)).toEqual({ revoked: true });
  });
});

test('a token that only reads ends itself by its raw value, and no other', async () => {
  const { admin } = await tenant();
  const [raw, spare] = [
    await mint(admin, { readOnly: true }),
    await node.call('svc_habitat_mintToken', { agentId: admin }),
  ];
  const revoke = (tokenOrHash: unknown) => node.as(raw)('svc_habitat_revokeToken', { tokenOrHash });
  expect(await revoke(spare.tokenId)).toEqual({ revoked: false });
  expect(await revoke(raw)).toEqual({ revoked: true });
});

test('a bound token sees and ends no token that acts elsewhere, nor the agent at its home', async () => {
  const [home, other] = [await tenant(), await tenant()];
  await agent('agt_b', home.workspace, 'operator');
  await node.call('svc_habitat_addRole', { workspaceId: other.workspace, userId: 'agt_b', role: 'viewer' });
  const minted = async (over: Fields) => node.call('svc_habitat_mintToken', { agentId: 'agt_b', ...over });
  const [free, there] = [await minted({}), await minted({ workspace: home.workspace })];
  const [bound, spare] = [await minted({ workspace: other.workspace }), await minted({ workspace: other.workspace })];
  const hand = node.as(String(bound.token));
  const listed = (await hand('svc_habitat_listTokens')).tokens as Fields[];
  expect(listed.map(({ tokenId }) => tokenId)).toEqual([spare.tokenId, bound.tokenId]);
  const revoke = async (tokenOrHash: unknown) => (await hand('svc_habitat_revokeToken', { tokenOrHash })).revoked;
  expect([await revoke(free.tokenId), await revoke(there.tokenHash), await revoke(spare.tokenId)]).toEqual([
    false,
    false,
    true,
  ]);
  await expect(hand('agent_kill', { id: 'agt_b' })).rejects.toThrow('FORBIDDEN');
  expect(await revoke(there.token)).toBe(true);
  const atHome = node.as(String((await minted({ workspace: home.workspace })).token));
  expect(await atHome('agent_kill', { id: 'agt_b' })).toMatchObject({ killed: true });
});

test('verifying never fails, whatever it is given', async () => {
  const auth = await node.call('auth_create', { userId: 'u1' });
  const given: unknown[] = ['', 17, null, `svc_${'0'.repeat(63)}`, auth.token, {}, [], true, 'x'.repeat(10_000)];
  for (const token of given) expect(await node.call('svc_habitat_verifyToken', { token })).toEqual({ valid: false });
});

test('lists show own tokens and bound ones to admins, pages, and never a whole hash', async () => {
  const { workspace, admin } = await tenant();
  await agent('agt_l', workspace, 'operator');
  const asAdmin = node.as(await mint(admin));
  const bound = [];
  for (let index = 0; index < 3; index += 1)
    bound.push((await asAdmin('svc_habitat_mintToken', { agentId: 'agt_l' })).tokenId);
  await mint('agt_l');
  const mine = (await asAdmin('svc_habitat_listTokens')).tokens as Fields[];
  expect(mine.map(({ agentId }) => agentId)).toEqual(['agt_l', 'agt_l', 'agt_l', admin]);
  const first = await asAdmin('svc_habitat_listTokens', { agentId: 'agt_l', limit: 2 });
  const second = await asAdmin('svc_habitat_listTokens', { agentId: 'agt_l', limit: 2, cursor: first.nextCursor });
  const pages = [...(first.tokens as Fields[]), ...(second.tokens as Fields[])];
  expect(pages.map(({ tokenId }) => tokenId)).toEqual(bound.toReversed());
  expect(second.nextCursor).toBeUndefined();
  expect(JSON.stringify(mine)).not.toMatch(/[0-9a-f]{64}/);
  await expect(asAdmin('svc_habitat_listTokens', { cursor: 'x' })).rejects.toThrow('VAF_INPUT_INVALID');
});

async function everyRow(): Promise<string> {
  const { client } = node.deps.store;
  const tables = await client.$queryRawUnsafe<{ name: string }[]>(
    `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'habitat'`,
  );
  const rows = await Promise.all(tables.map(({ name }) => client.$queryRawUnsafe(`SELECT * FROM habitat."${name}"`)));
  return JSON.stringify(rows, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
}
