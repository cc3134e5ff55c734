import { setTimeout as delay } from 'node:timers/promises';
import { readConfig } from '@svc/runtime/config.ts';
import { migratedDatabase } from '@svc/testing/database.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EscrowNode, registryOf, startEscrowNode } from '../../testing/escrow-test-bed.ts';

const database = await migratedDatabase();
let node: EscrowNode;
const registry = registryOf({
  acme: { ann: ['admin'], bob: ['viewer'], cat: ['editor'] },
  beta: { ben: ['admin'], ann: ['viewer'] },
});
beforeAll(async () => {
  node = await startEscrowNode(database, { registry });
});
afterAll(async () => {
  await node.stop();
  await database.close();
});

const call: EscrowNode['call'] = (...args) => node.call(...args);
let names = 0;

/** A workspace of its own with a pool; ann is its admin, the others have roles. */
async function pool(amount: number, members: readonly string[] = ['a1', 'a2']): Promise<string> {
  const workspaceId = `w${(names += 1)}`;
  registry.grant('ann', workspaceId, 'admin');
  for (const name of members) registry.grant(name, workspaceId, 'viewer');
  await call('escrow_setWorkspaceBudget', { workspaceId, amount, adminId: 'ann' });
  return workspaceId;
}

const rowCounts = async () =>
  (
    await database.pool.query(
      `SELECT (SELECT count(*) FROM escrow.accounts) AS accounts, (SELECT count(*) FROM escrow.members) AS members,
         (SELECT count(*) FROM escrow.entries) AS entries, (SELECT count(*) FROM escrow.outbox) AS events`,
    )
  ).rows;

describe('money admins', () => {
  const args = { workspaceId: 'acme', amount: 10 };

  it('are verified in the workspace itself', async () => {
    for (const who of ['ben', 'bob', 'cat', 'nobody']) {
      await expect(node.as(who)('escrow_setWorkspaceBudget', args)).rejects.toThrow('RLS_DENIED');
      await expect(node.as(who)('escrow_setWorkspaceBudget', { ...args, adminId: 'ann' })).rejects.toThrow(
        'RLS_DENIED',
      );
    }
    for (const adminId of [undefined, 'bob', 'ben', 'nobody']) {
      const named = { ...args, ...(adminId === undefined ? {} : { adminId }) };
      const denied = { code: 'RLS_DENIED', message: expect.stringContaining('adminId') };
      await expect(call('escrow_setWorkspaceBudget', named)).rejects.toMatchObject({ cause: denied });
    }
    await expect(node.as('ann', 'beta')('escrow_setWorkspaceBudget', args)).rejects.toThrow('RLS_DENIED');
    await expect(node.as('ann')('escrow_setWorkspaceBudget', { ...args, workspaceId: 'ghost' })).rejects.toThrow(
      'RLS_DENIED',
    );
    const anonymous = { operator: false, principal: 'anon:1', subject: {} };
    await expect(call('escrow_setWorkspaceBudget', { ...args, adminId: 'ann' }, anonymous)).rejects.toThrow(
      'UNAUTHORIZED',
    );
    const limit = { workspaceId: 'acme', agentId: 'bob', limit: 1 };
    await expect(node.as('bob')('escrow_setWorkspaceMemberLimit', limit)).rejects.toThrow('RLS_DENIED');
    expect(await call('escrow_getWorkspacePool', { workspaceId: 'acme' })).toMatchObject({
      exists: false,
      members: [],
    });
  });

  it('act until the role is taken', async () => {
    expect(await node.as('ann')('escrow_setWorkspaceBudget', args)).toMatchObject({
      ok: true,
      workspace: 'acme',
      workspaceId: 'acme',
      adminId: 'ann',
      pool: { spent: 0, limit: 10, available: 10, pending: 0, earned: 0 },
    });
    expect(await node.as('ann', 'acme')('escrow_setWorkspaceBudget', args)).toMatchObject({ ok: true });
    registry.grant('ann', 'acme', 'viewer');
    await expect(node.as('ann')('escrow_setWorkspaceBudget', args)).rejects.toThrow('RLS_DENIED');
    registry.grant('ann', 'acme', 'admin');
  });
});

describe('draws', () => {
  it('count for the member and for the pool', async () => {
    const workspaceId = await pool(500);
    const draw = (agentId: string, amount: number) =>
      call('escrow_workspaceRecordSpend', { workspaceId, agentId, amount });
    const can = (agentId: string, amount: number) => call('escrow_workspaceCanSpend', { workspaceId, agentId, amount });
    expect(await draw('a1', 100)).toEqual({
      recorded: true,
      spent: 100,
      poolSpent: 100,
      available: 400,
      poolAvailable: 400,
      entryId: expect.stringMatching(/^ent_/),
    });
    expect(await can('a2', 450)).toEqual({
      allowed: false,
      reason: 'workspace_pool_exceeded',
      layer: 'Escrow',
      available: 500,
      poolAvailable: 400,
    });
    expect(await can('a2', 400)).toMatchObject({ allowed: true, reason: 'budget_available' });
    const cap = { workspaceId, agentId: 'a2', limit: 25, adminId: 'ann' };
    expect(await call('escrow_setWorkspaceMemberLimit', cap)).toMatchObject({
      member: { spent: 0, limit: 25, available: 25, pending: 0 },
    });
    expect(await can('a2', 30)).toMatchObject({ allowed: false, reason: 'member_limit_exceeded', available: 25 });
    expect(await draw('a2', 30)).toMatchObject({
      recorded: false,
      code: 'E_MEMBER_LIMIT',
      reason: 'member_limit_exceeded',
    });
    const condition = { workspace: workspaceId, agent: 'a2', amount: 30 };
    expect(await call('escrow_hold', { holdId: 'over', condition })).toMatchObject({
      held: false,
      code: 'E_MEMBER_LIMIT',
    });
    expect(await draw('a2', 20)).toMatchObject({ recorded: true, spent: 20, poolAvailable: 380 });
    expect(await draw('a2', 10)).toMatchObject({ code: 'E_MEMBER_LIMIT', available: 5, poolAvailable: 380 });
    expect(await call('escrow_setWorkspaceMemberLimit', { ...cap, limit: 19 })).toMatchObject({
      code: 'E_LIMIT_BELOW_COMMITTED',
    });
    expect(await call('escrow_setWorkspaceMemberLimit', { ...cap, limit: null })).toMatchObject({
      member: { limit: 500, available: 480 },
    });
    expect(await call('escrow_setWorkspaceBudget', { workspaceId, amount: 100, adminId: 'ann' })).toMatchObject({
      code: 'E_LIMIT_BELOW_COMMITTED',
    });
  });

  it('at once never exceed the pool', async () => {
    const workspaceId = await pool(1000);
    const draw = (agentId: string) => call('escrow_workspaceRecordSpend', { workspaceId, agentId, amount: 1 });
    const done = await Promise.all(Array.from({ length: 2000 }, (_, n) => draw(`a${1 + (n % 2)}`)));
    expect(done.filter(({ recorded }) => recorded === true)).toHaveLength(1000);
    expect(done.filter(({ code }) => code === 'E_POOL_EXCEEDED')).toHaveLength(1000);
    const two = await pool(500);
    const wide = await Promise.all(
      ['a1', 'a1'].map((agentId) => call('escrow_workspaceRecordSpend', { workspaceId: two, agentId, amount: 400 })),
    );
    expect(wide.filter(({ recorded }) => recorded === true)).toHaveLength(1);
    expect(wide.filter(({ code }) => code === 'E_POOL_EXCEEDED')).toHaveLength(1);
  });

  it('are for oneself, by admins for members, by operators for anybody', async () => {
    const workspaceId = await pool(100);
    const draw = (who: string, agentId?: string) =>
      node.as(who)('escrow_workspaceRecordSpend', {
        workspaceId,
        amount: 1,
        ...(agentId === undefined ? {} : { agentId }),
      });
    expect(await draw('a1')).toMatchObject({ recorded: true });
    expect(await draw('ann', 'a2')).toMatchObject({ recorded: true });
    await expect(draw('a1', 'a2')).rejects.toThrow('FORBIDDEN');
    await expect(draw('ann', 'stranger')).rejects.toThrow('FORBIDDEN');
    await expect(draw('stranger', 'a1')).rejects.toThrow('FORBIDDEN');
    expect(await draw('stranger')).toMatchObject({
      recorded: false,
      code: 'E_UNKNOWN_WORKSPACE',
      reason: 'unknown_workspace',
    });
    expect(await call('escrow_workspaceRecordSpend', { workspaceId, agentId: 'anybody', amount: 1 })).toMatchObject({
      recorded: true,
    });
    await expect(call('escrow_workspaceRecordSpend', { workspaceId, amount: 1 })).rejects.toThrow('VAF_INPUT_INVALID');
    await expect(node.as('a1')('escrow_workspaceCanSpend', { workspaceId, agentId: 'a2' })).rejects.toThrow(
      'FORBIDDEN',
    );
    await expect(node.as('stranger')('escrow_workspaceCanSpend', { workspaceId })).rejects.toThrow('FORBIDDEN');
  });

  it('that are refused under a key stay refused, also where the workspace has come to be', async () => {
    const [key, done] = [{ idempotencyKey: 'before it was' }, { idempotencyKey: 'while it was' }];
    const spend = { workspaceId: `w${names + 1}`, agentId: 'a1', amount: 2 };
    const refused = await call('escrow_workspaceRecordSpend', spend, key);
    expect(refused).toMatchObject({ recorded: false, code: 'E_UNKNOWN_WORKSPACE', reason: 'unknown_workspace' });
    expect(await pool(100)).toBe(spend.workspaceId);
    expect(await call('escrow_workspaceRecordSpend', spend, key)).toEqual({ ...refused, replayed: true });
    expect(await call('escrow_workspaceRecordSpend', spend, done)).toMatchObject({ recorded: true, spent: 2 });
    await expect(call('escrow_workspaceRecordSpend', { ...spend, amount: 3 }, key)).rejects.toThrow(
      'IDEMPOTENCY_KEY_REUSED',
    );
  });

  it('keep what holds reserve, member by member', async () => {
    const workspaceId = await pool(100);
    const condition = { amount: 60, workspace: workspaceId, agent: 'a1' };
    const held = await node.as('a1')('escrow_hold', { holdId: `pool/${workspaceId}`, condition });
    expect(held).toMatchObject({ held: true, reserved: 60 });
    expect(await call('escrow_getWorkspacePool', { workspaceId })).toMatchObject({
      pool: { pending: 60, available: 40 },
      members: [{ agentId: 'a1', pending: 60, available: 40 }],
    });
    const other = { holdId: 'p2', condition: { ...condition, agent: 'a2' } };
    expect(await node.as('a2')('escrow_hold', other)).toMatchObject({
      held: false,
      code: 'E_POOL_EXCEEDED',
      holdId: 'p2',
    });
    await expect(node.as('a2')('escrow_hold', { holdId: 'p3', condition })).rejects.toThrow('FORBIDDEN');
    expect(await node.as('a1')('escrow_release', { holdId: `pool/${workspaceId}` })).toMatchObject({ released: true });
  });

  it('from an unknown workspace are refused, and leave nothing', async () => {
    const before = await rowCounts();
    const args = { workspaceId: 'ghost', agentId: 'a1' };
    expect(await call('escrow_workspaceCanSpend', args)).toEqual({
      allowed: false,
      reason: 'unknown_workspace',
      layer: 'Escrow',
      available: 0,
      poolAvailable: 0,
    });
    expect(await call('escrow_workspaceRecordSpend', { ...args, amount: 1 })).toMatchObject({
      recorded: false,
      code: 'E_UNKNOWN_WORKSPACE',
    });
    const condition = { amount: 1, workspace: 'ghost', agent: 'a1' };
    expect(await call('escrow_hold', { holdId: 'ghostly', condition })).toMatchObject({
      held: false,
      code: 'E_UNKNOWN_WORKSPACE',
    });
    expect(await call('escrow_getWorkspacePool', { workspaceId: 'ghost' })).toMatchObject({
      code: 'E_UNKNOWN_WORKSPACE',
    });
    expect(await rowCounts()).toEqual(before);
  });

  it('stop when they run away', async () => {
    const environment = readConfig({ SVC_ESCROW_DRAWS_PER_MINUTE: '3' }, () => '').config;
    const strict = await startEscrowNode(database, { registry, environment });
    const workspaceId = await pool(100);
    const draw = () => strict.call('escrow_workspaceRecordSpend', { workspaceId, agentId: 'a1', amount: 1 });
    const done = await Promise.all(Array.from({ length: 8 }, draw));
    expect(done.filter(({ recorded }) => recorded === true)).toHaveLength(3);
    expect(done.filter(({ code }) => code === 'E_RUNAWAY')).toHaveLength(5);
    await database.pool.query("UPDATE escrow.members SET draws_since = draws_since - interval '1 minute'");
    expect(await draw()).toMatchObject({ recorded: true });
    await strict.stop();
  });

  it('stop so from the next draw after it is set, on every process', async () => {
    const other = await startEscrowNode(database, { registry });
    const workspaceId = await pool(100);
    const draw = (at: EscrowNode) => at.call('escrow_workspaceRecordSpend', { workspaceId, agentId: 'a1', amount: 1 });
    for (const at of [node, other, node]) expect(await draw(at)).toMatchObject({ recorded: true });
    registry.setSetting('escrow.runawayPerMinute', 2);
    for (const at of [node, other]) expect(await draw(at)).toMatchObject({ code: 'E_RUNAWAY' });
    registry.setSetting('escrow.runawayPerMinute', null);
    for (const at of [node, other]) expect(await draw(at)).toMatchObject({ recorded: true });
    await other.stop();
  });
});

describe('the default budget', () => {
  const budgetOf = async (at: EscrowNode, agent: string) =>
    (await at.call('escrow_canSpend', { agent, amount: 1 }))['available'];

  it('is what is set, on every process from the next call on; an account keeps what it opened with', async () => {
    const other = await startEscrowNode(database, { registry });
    expect([await budgetOf(node, 'cat'), await budgetOf(other, 'cat')]).toEqual([1000, 1000]);
    const hold = { holdId: 'opens', condition: { amount: 1, agent: 'cat' } };
    expect(await node.call('escrow_hold', hold)).toMatchObject({ held: true });
    registry.setSetting('escrow.defaultBudget', 7);
    for (const at of [node, other]) {
      expect([await budgetOf(at, 'ben'), await budgetOf(at, 'cat')]).toEqual([7, 999]);
      const made = await at.call('escrow_create', { org: `made-${at === node}` });
      expect(made).toMatchObject({ budget: { limit: 7 } });
    }
    // As a service asks, whose question carries no stamp.
    const payer = { agent: 'ben' };
    const held = { holdId: 'trade:8', amount: 8, ttlMs: 60_000, payer, condition: null };
    const refused = await other.market.hold(held, { operator: false });
    expect(refused).toMatchObject({ code: 'E_BUDGET', details: { available: 7 } });
    registry.setSetting('escrow.defaultBudget', null);
    await other.stop();
  });

  it('is the last known one while the registry does not answer', async () => {
    registry.setSetting('escrow.defaultBudget', 9);
    const alone = await startEscrowNode(database, { registry });
    expect(await budgetOf(alone, 'someone')).toBe(9);
    await alone.silenceRegistry();
    expect(await budgetOf(alone, 'someone-else')).toBe(9);
    registry.setSetting('escrow.defaultBudget', null);
    await alone.stop();
  });
});

describe('pools', () => {
  it('are seen by members, each with the own part', async () => {
    const workspaceId = await pool(100);
    for (const agentId of ['a1', 'a2']) await call('escrow_workspaceRecordSpend', { workspaceId, agentId, amount: 1 });
    const members = async (who: EscrowNode['call']) =>
      (await who('escrow_getWorkspacePool', { workspaceId }))['members'];
    expect(await members(call)).toHaveLength(2);
    expect(await members(node.as('ann'))).toHaveLength(2);
    expect(await members(node.as('a1'))).toEqual([expect.objectContaining({ agentId: 'a1', spent: 1 })]);
    expect(await node.as('stranger')('escrow_getWorkspacePool', { workspaceId })).toMatchObject({
      code: 'E_UNKNOWN_WORKSPACE',
    });
    expect(await node.as('a1')('escrow_listWorkspacePools')).toMatchObject({
      pools: expect.arrayContaining([expect.objectContaining({ workspace: workspaceId, spent: 2 })]),
    });
    expect(await node.as('stranger')('escrow_listWorkspacePools')).toEqual({ pools: [] });
    expect(await node.as('a1', 'acme')('escrow_listWorkspacePools')).toEqual({ pools: [] });
  });

  it('are listed page by page', async () => {
    const seen: unknown[] = [];
    let cursor: unknown;
    do {
      const page = await call('escrow_listWorkspacePools', { limit: 2, ...(cursor === undefined ? {} : { cursor }) });
      seen.push(...(page['pools'] as { workspace: string }[]).map(({ workspace }) => workspace));
      cursor = page['nextCursor'];
    } while (cursor !== undefined);
    const all = await call('escrow_listWorkspacePools', { limit: 1000 });
    expect(seen).toEqual((all['pools'] as { workspace: string }[]).map(({ workspace }) => workspace));
    expect(seen.length).toBeGreaterThan(4);
    await expect(call('escrow_listWorkspacePools', { cursor: 'made-up' })).rejects.toThrow('VAF_INPUT_INVALID');
  });
});

describe('without the registry', () => {
  it('nothing is drawn', async () => {
    const alone = await startEscrowNode(database, { registry });
    const workspaceId = await pool(100);
    await alone.silenceRegistry();
    await delay(0);
    const before = await rowCounts();
    const args = { workspaceId, agentId: 'a1' };
    expect(await alone.call('escrow_workspaceRecordSpend', { ...args, amount: 1 })).toMatchObject({
      code: 'E_UNKNOWN_WORKSPACE',
    });
    expect(await alone.call('escrow_workspaceCanSpend', args)).toMatchObject({
      reason: 'unknown_workspace',
      available: 0,
      poolAvailable: 0,
    });
    await expect(alone.as('ann')('escrow_setWorkspaceBudget', { workspaceId, amount: 1 })).rejects.toThrow(
      'SERVICE_UNAVAILABLE',
    );
    expect(
      await alone.market.debit({ payer: { agent: 'never-seen' }, amount: 1, ref: 'silent' }, { operator: false }),
    ).toMatchObject({ code: 'E_BUDGET', details: { reason: 'unknown_budget' } });
    expect(await rowCounts()).toEqual(before);
    await alone.stop();
  });
});
