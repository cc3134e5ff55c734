import { migratedDatabase } from '@svc/testing/database.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EscrowNode, registryOf, startEscrowNode } from '../../testing/escrow-test-bed.ts';

const database = await migratedDatabase();
let node: EscrowNode;
beforeAll(async () => {
  const registry = registryOf({ acme: { ann: ['admin'], bob: ['viewer'], org_x: ['viewer'] } });
  registry.addOrganisation('org_x', { spend: ['ann'], read: ['ann', 'bob'] });
  node = await startEscrowNode(database, { registry });
});
afterAll(async () => {
  await node.stop();
  await database.close();
});

const call: EscrowNode['call'] = (...args) => node.call(...args);
const accountRows = async () => (await database.pool.query('SELECT account_id FROM escrow.accounts')).rowCount;
let names = 0;
const newOrg = () => `o${(names += 1)}`;
const newHold = () => `h${(names += 1)}`;

describe('escrow_create', () => {
  it('creates once, then sets the limit and keeps the history', async () => {
    const org = newOrg();
    const fresh = { spent: 0, limit: 1000, available: 1000, pending: 0, earned: 0 };
    expect(await call('escrow_create', { org })).toEqual({ ok: true, org, budget: fresh, created: true });
    expect(await call('escrow_create', { agentId: org })).toEqual({ ok: true, org, budget: fresh, created: false });
    await node.market.debit({ payer: { agent: org }, amount: 200, ref: `spend ${org}` });
    expect(await call('escrow_create', { org, budget: 300 })).toMatchObject({
      budget: { limit: 300, spent: 200, available: 100 },
    });
    expect(await call('escrow_create', { org, budget: 100 })).toMatchObject({
      code: 'E_LIMIT_BELOW_COMMITTED',
      committed: 200,
    });
    expect(await call('escrow_create', { org, budget: 200 })).toMatchObject({ budget: { available: 0 } });
  });

  it('is for operators, and not for pools and sinks', async () => {
    await expect(node.as('ann')('escrow_create', { org: newOrg() })).rejects.toThrow('FORBIDDEN');
    for (const org of ['ws:acme', 'sink:spend', '', 'a b', '-x']) {
      await expect(call('escrow_create', { org })).rejects.toThrow('VAF_INPUT_INVALID');
    }
    expect(await call('escrow_create', { org: 'crew:one', budget: 5 })).toMatchObject({ created: true });
  });
});

/** What JSON can carry; NaN and the infinities arrive as null. */
const NO_AMOUNTS: readonly unknown[] = [
  -0,
  0,
  -1,
  -1e-6,
  1e-7,
  0.1234567,
  1.0000001,
  1_000_000_001,
  2 ** 53,
  1e21,
  '1',
  '1e3',
  ' 1',
  '0x1',
  '1n',
  '１',
  '',
  'NaN',
  'Infinity',
  true,
  false,
  [],
  [1],
  {},
  { valueOf: 1 },
  { amount: 1 },
];

describe('amounts', () => {
  it.each(NO_AMOUNTS.map((amount) => ({ amount, text: JSON.stringify(amount) })))(
    '$text is nothing to be spent',
    async ({ amount }) => {
      const rows = await accountRows();
      const agent = newOrg();
      await expect(call('escrow_canSpend', { agent, amount })).rejects.toThrow('VAF_INPUT_INVALID');
      const condition = { amount, agent };
      await expect(call('escrow_hold', { holdId: newHold(), condition })).rejects.toThrow('VAF_INPUT_INVALID');
      const draw = { workspaceId: 'acme', agentId: agent, amount };
      await expect(call('escrow_workspaceRecordSpend', draw)).rejects.toThrow('VAF_INPUT_INVALID');
      expect(await accountRows()).toBe(rows);
    },
  );

  it('ten tenths are exactly one', async () => {
    const org = newOrg();
    await call('escrow_create', { org, budget: 1 });
    for (let n = 0; n < 10; n += 1) await node.market.debit({ payer: { agent: org }, amount: 0.1, ref: `${org} ${n}` });
    expect(await call('escrow_status', { org })).toMatchObject({ budget: { spent: 1, available: 0 } });
    expect(await call('escrow_canSpend', { agent: org, amount: 0.000001 })).toMatchObject({ allowed: false });
  });
});

describe('holds of callers', () => {
  it('are not of what an agent has itself when its token is bound to a workspace', async () => {
    const holding = (bound?: string) =>
      node.as('ann', bound)('escrow_hold', { holdId: newHold(), condition: { amount: 1, agent: 'ann' } });
    await expect(holding('acme')).rejects.toThrow('FORBIDDEN');
    expect(await holding()).toMatchObject({ held: true, reserved: 1 });
    const record = { holdId: newHold(), condition: { agent: 'ann' } };
    expect(await node.as('ann', 'acme')('escrow_hold', record)).toMatchObject({ held: true, reserved: 0 });
  });

  it('reserve, never spend, and give back', async () => {
    const org = newOrg();
    await call('escrow_create', { org });
    const [one, other] = [newHold(), newHold()];
    const condition = { amount: 600, agent: org, note: { kept: [1, 'two'] } };
    expect(await call('escrow_hold', { holdId: one, condition })).toMatchObject({
      held: true,
      holdId: one,
      reserved: 600,
    });
    expect(await call('escrow_canSpend', { agent: org, amount: 600 })).toEqual({
      allowed: false,
      reason: 'budget_exceeded',
      layer: 'Escrow',
      available: 400,
    });
    expect(await call('escrow_hold', { holdId: other, condition })).toMatchObject({
      held: false,
      holdId: other,
      reason: 'budget_exceeded',
      code: 'E_BUDGET',
      available: 400,
    });
    expect(await call('escrow_hold', { holdId: one, condition })).toMatchObject({
      held: false,
      code: 'E_HOLD_EXISTS',
      reason: 'hold_exists',
    });
    const { budget, holds } = await call('escrow_status', { agent: org });
    expect(budget).toEqual({ spent: 0, limit: 1000, available: 400, pending: 600, earned: 0 });
    expect(holds).toEqual({ [one]: { held: true, condition, amount: 600, expiresAt: expect.any(Number) } });
    expect(await call('escrow_release', { holdId: one })).toEqual({ released: true, holdId: one });
    expect(await call('escrow_release', { holdId: one })).toEqual({ released: false, holdId: one });
    expect(await call('escrow_status', { org })).toMatchObject({ budget: { available: 1000, pending: 0 }, holds: {} });
    expect(await call('escrow_hold', { holdId: one, condition })).toMatchObject({ held: true });
  });

  it('without an amount are records, and end by themselves', async () => {
    const org = newOrg();
    await call('escrow_create', { org });
    const holdId = newHold();
    const before = Date.now();
    const held = await call('escrow_hold', { holdId, condition: { agent: org, type: 'approval' } });
    expect(held).toMatchObject({ reserved: 0 });
    expect(Number(held['expiresAt']) - before).toBeGreaterThan(299_000);
    expect(Number(held['expiresAt']) - before).toBeLessThan(310_000);
    expect(await call('escrow_status', { org })).toMatchObject({
      budget: { available: 1000 },
      holds: { [holdId]: { amount: 0 } },
    });
    const { approvals } = await call('escrow_status');
    expect(approvals).toBeGreaterThanOrEqual(1);
    await database.pool.query(`UPDATE escrow.holds SET expires_at = now() - interval '1 ms' WHERE hold_id = $1`, [
      holdId,
    ]);
    expect(await call('escrow_status', { org })).toMatchObject({ holds: {} });
    expect(await call('escrow_release', { holdId })).toEqual({ released: false, holdId });
    expect(await call('escrow_hold', { holdId })).toMatchObject({ held: true });
  });

  it('past their time free their amount at once, with no sweep', async () => {
    const org = newOrg();
    await call('escrow_create', { org, budget: 10 });
    const holdId = newHold();
    await call('escrow_hold', { holdId, condition: { amount: 10, agent: org, ttlMs: 600_000 } });
    expect(await node.market.debit({ payer: { agent: org }, amount: 10, ref: `early ${org}` })).toMatchObject({
      code: 'E_BUDGET',
    });
    await database.pool.query(`UPDATE escrow.holds SET expires_at = now() - interval '1 ms' WHERE hold_id = $1`, [
      holdId,
    ]);
    expect(await call('escrow_canSpend', { agent: org, amount: 10 })).toMatchObject({ allowed: true });
    expect(await node.market.debit({ payer: { agent: org }, amount: 10, ref: `late ${org}` })).toMatchObject({
      ok: true,
    });
  });

  it.each([
    ['the id of a service', 'trade:x', {}],
    ['another one', 'forum:x', {}],
    ['an id with a slash in front', '/x', {}],
    ['no time', 'h', { ttlMs: 0 }],
    ['more than a week', 'h', { ttlMs: 604_800_001 }],
    ['a pool as payer', 'h', { amount: 1, agent: 'ws:acme' }],
    ['two payers', 'h', { agent: 'a', org: 'b' }],
    ['more than 8 KiB', 'h', { text: 'x'.repeat(9000) }],
    ['a NUL', 'h', { text: 'a\0b' }],
    ['half a letter', 'h', { text: '\ud800' }],
  ])('with %s are refused', async (_name, holdId, condition) => {
    await expect(call('escrow_hold', { holdId, condition })).rejects.toThrow('VAF_INPUT_INVALID');
  });

  it('keeps text that only looks like an escape', async () => {
    const condition = { text: String.raw`\u0000 and \\ud800`, emoji: '😀' };
    expect(await call('escrow_hold', { holdId: newHold(), condition })).toMatchObject({ held: true });
  });

  it('are at most 1000 live ones for each principal, however many ask at once', async () => {
    const over = { principal: 'key:counted' };
    const hold = (n: number) => call('escrow_hold', { holdId: `many/${n}` }, over);
    const done = await Promise.all(Array.from({ length: 1010 }, (_, n) => hold(n)));
    expect(done.filter(({ held }) => held === true)).toHaveLength(1000);
    expect(done.filter(({ code, reason }) => code === 'E_HOLD_LIMIT' && reason === 'max_holds_exceeded')).toHaveLength(
      10,
    );
    await database.pool.query(
      "UPDATE escrow.holds SET expires_at = now() - interval '1 ms' WHERE owner = 'key:counted'",
    );
    expect(await hold(2000)).toMatchObject({ held: true });
  });
});

describe('access', () => {
  it('is to oneself and to organisations that trust one', async () => {
    const bob = node.as('bob');
    expect(await bob('escrow_canSpend', { agent: 'bob', amount: 1000 })).toMatchObject({
      allowed: true,
      available: 1000,
    });
    for (const agent of ['ann', 'nobody-at-all', 'crew:one']) {
      await expect(bob('escrow_canSpend', { agent })).rejects.toThrow('FORBIDDEN');
      await expect(bob('escrow_hold', { holdId: newHold(), condition: { amount: 1, agent } })).rejects.toThrow(
        'FORBIDDEN',
      );
      expect(await bob('escrow_status', { org: agent })).toEqual({ ok: true, org: agent, budget: null, holds: {} });
    }
    expect(await bob('escrow_canSpend', { org: 'org_x' })).toMatchObject({ allowed: true });
    await expect(bob('escrow_hold', { holdId: newHold(), condition: { amount: 1, org: 'org_x' } })).rejects.toThrow(
      'FORBIDDEN',
    );
    expect(
      await node.as('ann')('escrow_hold', { holdId: newHold(), condition: { amount: 1, org: 'org_x' } }),
    ).toMatchObject({ reserved: 1 });
    expect(await bob('escrow_status', { org: 'org_x' })).toMatchObject({ budget: { pending: 1 } });
  });

  it('to the account of an organisation is not had by taking its id as a name', async () => {
    const namesake = node.as('org_x');
    const condition = { amount: 1, agent: 'org_x' };
    await expect(namesake('escrow_canSpend', { agent: 'org_x' })).rejects.toThrow('FORBIDDEN');
    await expect(namesake('escrow_hold', { holdId: newHold(), condition })).rejects.toThrow('FORBIDDEN');
    expect(await namesake('escrow_status', { org: 'org_x' })).toEqual({
      ok: true,
      org: 'org_x',
      budget: null,
      holds: {},
    });
  });

  it("releases the caller's own holds alone", async () => {
    const holdId = newHold();
    await node.as('ann')('escrow_hold', { holdId, condition: { amount: 1, agent: 'ann' } });
    expect(await node.as('bob')('escrow_release', { holdId })).toEqual({ released: false, holdId });
    expect(await call('escrow_release', { holdId })).toEqual({ released: true, holdId });
  });

  it('of nobody is refused, and a declared name without a token is nobody', async () => {
    const anonymous = { operator: false, principal: 'anon:1', subject: { workspace: 'acme' } };
    await expect(call('escrow_status', {}, anonymous)).rejects.toThrow('UNAUTHORIZED');
    const declared = { operator: false, principal: 'anon:1', subject: { agentId: 'ann' } };
    await expect(
      call('escrow_hold', { holdId: newHold(), condition: { amount: 1, agent: 'ann' } }, declared),
    ).rejects.toThrow('FORBIDDEN');
  });

  it('opens nothing by a read', async () => {
    const rows = await accountRows();
    expect(await call('escrow_canSpend', { agent: 'made-up' })).toMatchObject({ allowed: true, available: 1000 });
    expect(await call('escrow_status', { org: 'made-up' })).toMatchObject({ budget: null });
    expect(await node.as('bob')('escrow_status', { org: 'bob' })).toMatchObject({ budget: { available: 1000 } });
    expect(await accountRows()).toBe(rows);
  });
});

describe('a key', () => {
  it('makes a hold happen once, however often and at whatever time it is sent', async () => {
    const org = newOrg();
    await call('escrow_create', { org, budget: 10 });
    const args = { holdId: newHold(), condition: { amount: 10, agent: org } };
    const over = { idempotencyKey: 'k1' };
    const done = await Promise.all([1, 2, 3].map(() => call('escrow_hold', args, over)));
    expect(new Set(done.map(({ replayed: _replayed, ...rest }) => JSON.stringify(rest))).size).toBe(1);
    expect(done.filter(({ replayed }) => replayed === true)).toHaveLength(2);
    await expect(call('escrow_hold', { ...args, condition: {} }, over)).rejects.toThrow('IDEMPOTENCY_KEY_REUSED');
  });

  it('keeps a refusal refused after the budget grew', async () => {
    const org = newOrg();
    await call('escrow_create', { org, budget: 1 });
    const args = { holdId: newHold(), condition: { amount: 10, agent: org } };
    const over = { idempotencyKey: 'k2' };
    const refused = await call('escrow_hold', args, over);
    expect(refused).toMatchObject({ code: 'E_BUDGET' });
    await call('escrow_create', { org, budget: 100 });
    expect(await call('escrow_hold', args, over)).toEqual({ ...refused, replayed: true });
    expect(await call('escrow_hold', args)).toMatchObject({ held: true });
  });
});
