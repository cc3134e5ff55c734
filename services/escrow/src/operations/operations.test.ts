import { setTimeout as delay } from 'node:timers/promises';
import { ESCROW } from '@svc/contract/operations.escrow.ts';
import { createOperationClient } from '@svc/runtime/operations.ts';
import { poolClient } from '@svc/runtime/transaction.ts';
import { migratedDatabase } from '@svc/testing/database.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type EscrowNode, registryOf, startEscrowNode } from '../../testing/escrow-test-bed.ts';
import { readViolations } from '../store/invariants.ts';

const database = await migratedDatabase();
const registry = registryOf({ acme: { ann: ['admin'], bob: ['viewer'] } });
let node: EscrowNode;
let market: EscrowNode['market'];
beforeAll(async () => {
  node = await startEscrowNode(database, { registry });
  market = node.market;
});
afterAll(async () => {
  expect(await readViolations(poolClient(database.pool))).toEqual([]);
  await node.stop();
  await database.close();
});

let buyer: string;
let trade: string;
let names = 0;
beforeEach(async () => {
  names += 1;
  buyer = `buyer${names}`;
  trade = `trade:${names}`;
  await node.call('escrow_create', { org: buyer });
});

const hold = (over = {}) => ({
  holdId: trade,
  payer: { agent: buyer },
  amount: 50,
  ttlMs: 60_000,
  condition: null,
  ...over,
});
const budget = async (account: string) => (await market.balance({ account }, { operator: false })).budget;
/** The answer to what is not refused. */
const given = <Value>(decision: { ok: true; value: Value } | { ok: false; code: string }): Value => {
  if (decision.ok) return decision.value;
  throw new Error(decision.code);
};

describe('a trade', () => {
  it('is held, captured to the seller, and answered the same again', async () => {
    const held = await market.hold(hold());
    expect(held).toEqual({
      ok: true,
      value: { held: true, holdId: trade, expiresAt: expect.any(Number), reserved: 50 },
    });
    expect(await market.hold(hold())).toEqual({
      ok: true,
      value: { ...given(held), replay: true },
    });
    expect(await market.hold(hold({ amount: 51 }))).toMatchObject({ code: 'E_HOLD_EXISTS' });
    expect(await market.state({ holdId: trade })).toMatchObject({ state: 'held', amount: 50 });
    const seller = `seller${names}`;
    const captured = await market.capture({ holdId: trade, payee: seller });
    expect(captured).toEqual({
      ok: true,
      value: { captured: true, entryId: expect.stringMatching(/^ent_/), amount: 50 },
    });
    expect(await market.capture({ holdId: trade, payee: seller })).toEqual({
      ok: true,
      value: { ...given(captured), replay: true },
    });
    expect(await market.capture({ holdId: trade, payee: 'other' })).toMatchObject({
      code: 'E_HOLD_CLOSED',
      details: { state: 'posted' },
    });
    expect(await market.void({ holdId: trade, reason: 'late' })).toMatchObject({ code: 'E_HOLD_CLOSED' });
    expect(await market.hold(hold())).toMatchObject({ code: 'E_HOLD_CLOSED' });
    expect(await budget(buyer)).toEqual({ spent: 50, limit: 1000, available: 950, pending: 0, earned: 0 });
    expect(await budget(seller)).toEqual({ spent: 0, limit: 0, available: 50, pending: 0, earned: 50 });
  });

  it('captures a part and gives back the rest; nothing more than is held', async () => {
    await market.hold(hold());
    expect(await market.capture({ holdId: trade, amount: 51 })).toMatchObject({
      code: 'E_AMOUNT',
      details: { held: 50 },
    });
    expect(await market.capture({ holdId: trade, amount: 20.5 })).toMatchObject({ value: { amount: 20.5 } });
    expect(await budget(buyer)).toMatchObject({ spent: 20.5, pending: 0, available: 979.5 });
  });

  it('is one outcome, whatever races for it', async () => {
    await market.hold(hold());
    const racers = Array.from({ length: 50 }, (_, n) =>
      n % 3 === 0
        ? market.void({ holdId: trade, reason: 'refuted' })
        : market.capture({ holdId: trade, payee: 'seller' }),
    );
    const done = await Promise.all(racers);
    const moved = done.filter((reply) => reply.ok && reply.value.replay !== true);
    expect(moved).toHaveLength(1);
    const state = await market.state({ holdId: trade });
    const spent = state.state === 'posted' ? 50 : 0;
    expect(await budget(buyer)).toMatchObject({ spent, pending: 0, available: 1000 - spent });
  });

  it('belongs to the service that placed it: no tool and no other service touches it', async () => {
    await market.hold(hold());
    for (const call of [node.call, node.as(buyer), node.as('ann')]) {
      expect(await call('escrow_release', { holdId: trade })).toEqual({ released: false, holdId: trade });
    }
    const other = node.askingAs('universe');
    expect(await other.capture({ holdId: trade })).toMatchObject({ code: 'E_HOLD_ABSENT' });
    expect(await other.void({ holdId: trade, reason: 'mine' })).toMatchObject({ code: 'E_HOLD_CLOSED' });
    expect(await other.state({ holdId: trade })).toEqual({ state: 'absent' });
    expect(await budget(buyer)).toMatchObject({ pending: 50 });
  });

  it('voided before it was placed can never be placed', async () => {
    expect(await market.void({ holdId: trade, reason: 'gone' })).toEqual({ ok: true, value: { voided: true } });
    expect(await market.void({ holdId: trade, reason: 'gone' })).toEqual({
      ok: true,
      value: { voided: true, replay: true },
    });
    expect(await market.hold(hold())).toMatchObject({ ok: false, code: 'E_HOLD_CLOSED' });
    expect(await budget(buyer)).toMatchObject({ pending: 0 });
  });

  it('past its time is neither captured nor in the way, though nothing swept', async () => {
    await market.hold(hold({ ttlMs: 50, amount: 1000 }));
    await delay(60);
    expect(await market.debit({ payer: { agent: buyer }, amount: 1000, ref: trade })).toMatchObject({ ok: true });
    expect(await market.capture({ holdId: trade })).toMatchObject({ code: 'E_HOLD_EXPIRED' });
    expect(await market.void({ holdId: trade, reason: 'late' })).toEqual({
      ok: true,
      value: { voided: true, expired: true },
    });
    expect(await market.state({ holdId: trade })).toMatchObject({ state: 'expired' });
  });

  it.each([null, 0])('of %s is a record with the same states', async (amount) => {
    expect(await market.hold(hold({ amount }))).toMatchObject({ value: { reserved: 0 } });
    expect(await market.hold(hold({ amount }))).toMatchObject({ value: { reserved: 0, replay: true } });
    expect(await market.capture({ holdId: trade })).toEqual({
      ok: true,
      value: { captured: true, entryId: null, amount: 0 },
    });
    expect(await budget(buyer)).toMatchObject({ spent: 0 });
  });

  it('that arrives after its deadline is not placed; one that is there is answered, whatever the deadline', async () => {
    const late = { deadlineAt: Date.now() - 60_000 };
    expect(await market.hold(hold(late))).toMatchObject({ code: 'E_HOLD_EXPIRED', details: { reason: 'deadline' } });
    expect(await market.state({ holdId: trade })).toEqual({ state: 'absent' });
    expect(await market.hold(hold({ deadlineAt: Date.now() + 60_000 }))).toMatchObject({ value: { reserved: 50 } });
    expect(await market.hold(hold(late))).toMatchObject({ value: { reserved: 50, replay: true } });
    expect(await budget(buyer)).toMatchObject({ pending: 50 });
  });

  it('is found among others, by its id and among those that live', async () => {
    const ids = Array.from({ length: 5 }, (_, n) => `${trade}:${n}`);
    for (const holdId of ids) await market.hold(hold({ holdId, amount: 1 }));
    const [first = '', second = ''] = ids;
    await market.capture({ holdId: first, payee: 'seller' });
    await market.void({ holdId: second, reason: 'cancelled' });
    const { holds } = await market.states({ holdIds: [...ids, 'trade:none'] });
    expect(ids.map((holdId) => holds[holdId]?.state)).toEqual(['posted', 'released', 'held', 'held', 'held']);
    expect(Object.keys(holds)).toHaveLength(5);
    const live = [];
    let after = trade;
    for (let more = true; more; ) {
      const page = await market.live({ after, limit: 2 });
      live.push(...page.holds.filter(({ holdId }) => holdId.startsWith(`${trade}:`)));
      after = live.at(-1)?.holdId ?? after;
      more = page.more && page.holds.every(({ holdId }) => holdId.startsWith(`${trade}:`));
    }
    expect(live).toEqual(ids.slice(2).map((holdId) => ({ holdId, amount: 1, heldAt: expect.any(Number) })));
    const other = node.askingAs('universe');
    expect(await other.states({ holdIds: ids })).toEqual({ holds: {} });
    expect(await other.live({ limit: 1 })).toEqual({ holds: [], more: false });
  });
});

describe('payments', () => {
  it('are made once for each reference', async () => {
    const body = { payer: { agent: buyer }, amount: 5, payee: 'sink:universe', ref: `resume ${names}` };
    const done = await Promise.all([market.debit(body), market.debit(body), market.debit(body)]);
    expect(done.filter((reply) => reply.ok && reply.value.replay !== true)).toHaveLength(1);
    expect(await market.debit({ ...body, amount: 6 })).toMatchObject({ code: 'E_REF_REUSED' });
    expect(await budget(buyer)).toMatchObject({ spent: 5 });
  });

  it('are given back once, never more than was paid, and only what the payee still has', async () => {
    const payee = `payee${names}`;
    const paid = await market.debit({ payer: { agent: buyer }, amount: 10, payee, ref: `pay ${names}` });
    const { entryId } = given(paid);
    expect(await market.refund({ entryId, amount: 4, ref: `back ${names}` })).toMatchObject({
      value: { refunded: true },
    });
    expect(await market.refund({ entryId, amount: 4, ref: `back ${names}` })).toMatchObject({
      value: { replay: true },
    });
    expect(await market.refund({ entryId, amount: 7, ref: `more ${names}` })).toMatchObject({
      code: 'E_REFUNDED',
      details: { left: 6 },
    });
    expect(await budget(buyer)).toMatchObject({ spent: 6, available: 994 });
    expect(await budget(payee)).toMatchObject({ earned: 6 });
    await market.debit({ payer: { agent: payee }, amount: 5, ref: `spent ${names}` });
    expect(await market.refund({ entryId, ref: `rest ${names}` })).toMatchObject({ code: 'E_BUDGET' });
    expect(await market.refund({ entryId: 'ent_none', ref: `none ${names}` })).toMatchObject({
      code: 'E_ENTRY_ABSENT',
    });
  });

  it('from pools count for the member', async () => {
    await node.call('escrow_setWorkspaceBudget', { workspaceId: 'acme', amount: 100, adminId: 'ann' });
    const payer = { workspace: 'acme', agent: 'bob' };
    expect(await market.hold(hold({ payer, amount: 30 }))).toMatchObject({ value: { reserved: 30 } });
    expect(await market.capture({ holdId: trade })).toMatchObject({ ok: true });
    expect(await market.debit({ payer, amount: 71, ref: `pool ${names}` })).toMatchObject({ code: 'E_POOL_EXCEEDED' });
    expect(
      await market.debit({ payer: { workspace: 'ghost', agent: 'bob' }, amount: 1, ref: `ghost ${names}` }),
    ).toMatchObject({ code: 'E_UNKNOWN_WORKSPACE' });
    const stranger = { payer: { workspace: 'acme', agent: 'stranger' }, amount: 1, ref: `stranger ${names}` };
    expect(await market.debit(stranger, { operator: false })).toMatchObject({ code: 'E_UNKNOWN_WORKSPACE' });
    expect(await node.as('bob')('escrow_getWorkspacePool', { workspaceId: 'acme' })).toMatchObject({
      pool: { spent: 30 },
      members: [{ agentId: 'bob', spent: 30, pending: 0 }],
    });
  });
});

describe('a payment out of a pool that is asked for again', () => {
  const payment = () => ({ payer: { workspace: `shop${names}`, agent: 'clerk' }, amount: 5, ref: `again ${names}` });
  const asMember = { operator: false };

  it('was made before its member left', async () => {
    registry.grant('clerk', `shop${names}`, 'admin');
    await node.as('clerk')('escrow_setWorkspaceBudget', { workspaceId: `shop${names}`, amount: 10 });
    const paid = given(await market.debit(payment(), asMember));
    registry.grant('clerk', `shop${names}`);
    expect(await market.debit(payment(), asMember)).toEqual({ ok: true, value: { ...paid, replay: true } });
    expect(await market.debit({ ...payment(), amount: 6 }, asMember)).toMatchObject({ code: 'E_REF_REUSED' });
    const other = { ...payment(), ref: `other ${names}` };
    expect(await market.debit(other, asMember)).toMatchObject({ code: 'E_UNKNOWN_WORKSPACE' });
  });

  it('is not refused because the registry is silent', async () => {
    registry.grant('clerk', `shop${names}`, 'admin');
    await node.as('clerk')('escrow_setWorkspaceBudget', { workspaceId: `shop${names}`, amount: 10 });
    const alone = await startEscrowNode(database, { registry });
    await alone.silenceRegistry();
    await expect(alone.market.debit(payment(), asMember)).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    await alone.stop();
    expect(await market.debit(payment(), asMember)).toMatchObject({ ok: true });
  });
});

describe('a pool that somebody opened for itself', () => {
  it('pays nobody, serves its own workspace, and pays when an operator asks for it', async () => {
    const workspace = `own${names}`;
    registry.grant('maker', workspace, 'admin');
    registry.disown(workspace);
    await node.as('maker')('escrow_setWorkspaceBudget', { workspaceId: workspace, amount: 1_000_000 });
    const [payer, payee, own] = [{ workspace, agent: 'maker' }, 'friend', { operator: false }];
    const refused = {
      ok: false,
      code: 'E_POOL_EXCEEDED',
      details: { reason: 'workspace_not_confirmed', available: 0 },
      message: expect.stringContaining('until an operator makes somebody admin there'),
    };
    expect(await market.hold(hold({ payer, payee, amount: 5 }), own)).toMatchObject(refused);
    expect(await market.debit({ payer, payee, amount: 5, ref: `own ${names}` }, own)).toMatchObject(refused);
    expect(await market.debit({ payer, amount: 5, ref: `sink ${names}` }, own)).toMatchObject({ ok: true });
    expect(await market.hold(hold({ payer, payee, amount: 0 }), own)).toMatchObject({ ok: true });
    expect(await node.as('maker')('escrow_workspaceRecordSpend', { workspaceId: workspace, amount: 1 })).toMatchObject({
      recorded: true,
    });
    expect(await market.debit({ payer, payee, amount: 5, ref: `operator ${names}` })).toMatchObject({ ok: true });
  });
});

describe('accounts', () => {
  it('open for who is known and for operators, not for invented names', async () => {
    const nobody = `nobody${names}`;
    const body = hold({ payer: { agent: nobody } });
    const rows = async () =>
      (await database.pool.query('SELECT 1 FROM escrow.accounts WHERE account_id = $1', [nobody])).rowCount;
    expect(await market.hold(body, { operator: false })).toMatchObject({
      code: 'E_BUDGET',
      details: { reason: 'unknown_budget', available: 0 },
    });
    expect(await rows()).toBe(0);
    expect(await budget(nobody)).toBeNull();
    expect(await market.hold(body)).toMatchObject({ value: { reserved: 50 } });
    expect(await rows()).toBe(1);
    const scenario = { payer: { agent: 'scenario:materialize:bob' }, amount: 5, ref: `m ${names}` };
    expect(await market.debit(scenario, { operator: false })).toMatchObject({ value: { available: 995 } });
    const invented = { payer: { agent: 'scenario:materialize:nobody' }, amount: 5, ref: `n ${names}` };
    expect(await market.debit(invented, { operator: false })).toMatchObject({ code: 'E_BUDGET' });
  });

  it('are opened once', async () => {
    const body = { account: `crew:c${names}`, limit: 120, ref: `crew ${names}` };
    expect(await market.open(body)).toEqual({ ok: true, value: { opened: true, created: true } });
    expect(await market.open(body)).toEqual({ ok: true, value: { opened: true, created: true, replay: true } });
    expect(await market.open({ ...body, ref: `again ${names}` })).toEqual({
      ok: true,
      value: { opened: true, created: false },
    });
    expect(await market.open({ ...body, limit: 1, ref: `less ${names}` })).toMatchObject({ code: 'E_ACCOUNT_EXISTS' });
    expect(await market.open({ ...body, limit: 1 })).toMatchObject({ code: 'E_REF_REUSED' });
  });

  it('show what sinks got', async () => {
    await market.debit({ payer: { agent: buyer }, amount: 5, payee: `sink:s${names}`, ref: `s ${names}` });
    expect(await budget(`sink:s${names}`)).toMatchObject({ earned: 5 });
  });
});

describe('what does not fit', () => {
  it.each([
    ['an id of a caller', { holdId: 'mine' }],
    ['a deadline that is no time', { deadlineAt: 0.5 }],
    ['an amount below nothing', { amount: -1 }],
    ['a pool by its account', { payer: { agent: 'ws:acme' } }],
    ['a millisecond more than any vote or trade takes', { ttlMs: 7_779_600_001 }],
  ])('is refused: %s', async (_what, over) => {
    await expect(market.hold(hold(over))).rejects.toMatchObject({ code: 'VAF_INPUT_INVALID' });
    expect(await budget(buyer)).toMatchObject({ pending: 0 });
  });

  it('comes late, or from a service that pays nobody', async () => {
    await expect(market.hold(hold(), { deadlineAt: Date.now() - 1 })).rejects.toMatchObject({ code: 'TIMEOUT' });
    expect(Object.keys(createOperationClient(node.platform, ESCROW, 'brain'))).toEqual([]);
    expect(await budget(buyer)).toMatchObject({ pending: 0 });
  });
});
