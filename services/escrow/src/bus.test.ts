import { setTimeout as delay } from 'node:timers/promises';
import { poolClient } from '@svc/runtime/transaction.ts';
import { migratedDatabase } from '@svc/testing/database.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type EscrowNode, registryOf, startEscrowNode } from '../testing/escrow-test-bed.ts';
import { readViolations } from './store/invariants.ts';

const database = await migratedDatabase();
let node: EscrowNode;
beforeAll(async () => {
  node = await startEscrowNode(database, { registry: registryOf({ acme: { ann: ['admin'], bob: ['viewer'] } }) });
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

const bus: EscrowNode['bus'] = (...args) => node.bus(...args);
const hold = (over = {}) => ({
  holdId: trade,
  payer: { agent: buyer },
  amount: 50,
  ttlMs: 60_000,
  condition: null,
  ...over,
});
const budget = async (account: string) => {
  const reply = await bus('balance', { account }, { operator: false });
  return reply.ok ? (reply.answer as { budget: unknown }).budget : reply;
};

describe('a trade', () => {
  it('is held, captured to the seller, and answered the same again', async () => {
    const held = await bus('hold', hold());
    expect(held).toEqual({
      ok: true,
      answer: { held: true, holdId: trade, expiresAt: expect.any(Number), reserved: 50 },
    });
    expect(await bus('hold', hold())).toEqual({
      ok: true,
      answer: { ...(held as { answer: object }).answer, replay: true },
    });
    expect(await bus('hold', hold({ amount: 51 }))).toMatchObject({ code: 'E_HOLD_EXISTS' });
    expect(await bus('state', { holdId: trade })).toMatchObject({ answer: { state: 'held', amount: 50 } });
    const seller = `seller${names}`;
    const captured = await bus('capture', { holdId: trade, payee: seller });
    expect(captured).toEqual({
      ok: true,
      answer: { captured: true, entryId: expect.stringMatching(/^ent_/), amount: 50 },
    });
    expect(await bus('capture', { holdId: trade, payee: seller })).toEqual({
      ok: true,
      answer: { ...(captured as { answer: object }).answer, replay: true },
    });
    expect(await bus('capture', { holdId: trade, payee: 'other' })).toMatchObject({
      code: 'E_HOLD_CLOSED',
      details: { state: 'posted' },
    });
    expect(await bus('void', { holdId: trade, reason: 'late' })).toMatchObject({ code: 'E_HOLD_CLOSED' });
    expect(await bus('hold', hold())).toMatchObject({ code: 'E_HOLD_CLOSED' });
    expect(await budget(buyer)).toEqual({ spent: 50, limit: 1000, available: 950, pending: 0, earned: 0 });
    expect(await budget(seller)).toEqual({ spent: 0, limit: 0, available: 50, pending: 0, earned: 50 });
  });

  it('captures a part and gives back the rest; nothing more than is held', async () => {
    await bus('hold', hold());
    expect(await bus('capture', { holdId: trade, amount: 51 })).toMatchObject({
      code: 'E_AMOUNT',
      details: { held: 50 },
    });
    expect(await bus('capture', { holdId: trade, amount: 20.5 })).toMatchObject({ answer: { amount: 20.5 } });
    expect(await budget(buyer)).toMatchObject({ spent: 20.5, pending: 0, available: 979.5 });
  });

  it('is one outcome, whatever races for it', async () => {
    await bus('hold', hold());
    const racers = Array.from({ length: 50 }, (_, n) =>
      n % 3 === 0
        ? bus('void', { holdId: trade, reason: 'refuted' })
        : bus('capture', { holdId: trade, payee: 'seller' }),
    );
    const done = await Promise.all(racers);
    const moved = done.filter((reply) => reply.ok && !(reply.answer as { replay?: true }).replay);
    expect(moved).toHaveLength(1);
    const state = await bus('state', { holdId: trade });
    const spent = (state as { answer: { state: string } }).answer.state === 'posted' ? 50 : 0;
    expect(await budget(buyer)).toMatchObject({ spent, pending: 0, available: 1000 - spent });
  });

  it('belongs to the service that placed it: no tool and no other service touches it', async () => {
    await bus('hold', hold());
    for (const call of [node.call, node.as(buyer), node.as('ann')]) {
      expect(await call('escrow_release', { holdId: trade })).toEqual({ released: false, holdId: trade });
    }
    const other = { service: 'universe' };
    expect(await bus('capture', { holdId: trade }, other)).toMatchObject({ code: 'E_HOLD_ABSENT' });
    expect(await bus('void', { holdId: trade, reason: 'mine' }, other)).toMatchObject({ code: 'E_HOLD_CLOSED' });
    expect(await bus('state', { holdId: trade }, other)).toEqual({ ok: true, answer: { state: 'absent' } });
    expect(await budget(buyer)).toMatchObject({ pending: 50 });
  });

  it('voided before it was placed can never be placed', async () => {
    expect(await bus('void', { holdId: trade, reason: 'gone' })).toEqual({ ok: true, answer: { voided: true } });
    expect(await bus('void', { holdId: trade, reason: 'gone' })).toEqual({
      ok: true,
      answer: { voided: true, replay: true },
    });
    expect(await bus('hold', hold())).toMatchObject({ ok: false, code: 'E_HOLD_CLOSED' });
    expect(await budget(buyer)).toMatchObject({ pending: 0 });
  });

  it('past its time is neither captured nor in the way, though nothing swept', async () => {
    await bus('hold', hold({ ttlMs: 50, amount: 1000 }));
    await delay(60);
    expect(await bus('debit', { payer: { agent: buyer }, amount: 1000, ref: trade })).toMatchObject({ ok: true });
    expect(await bus('capture', { holdId: trade })).toMatchObject({ code: 'E_HOLD_EXPIRED' });
    expect(await bus('void', { holdId: trade, reason: 'late' })).toEqual({
      ok: true,
      answer: { voided: true, expired: true },
    });
    expect(await bus('state', { holdId: trade })).toMatchObject({ answer: { state: 'expired' } });
  });

  it('without an amount is a record with the same states', async () => {
    expect(await bus('hold', hold({ amount: null }))).toMatchObject({ answer: { reserved: 0 } });
    expect(await bus('capture', { holdId: trade })).toEqual({
      ok: true,
      answer: { captured: true, entryId: null, amount: 0 },
    });
    expect(await budget(buyer)).toMatchObject({ spent: 0 });
  });
});

describe('payments', () => {
  it('are made once for each reference', async () => {
    const body = { payer: { agent: buyer }, amount: 5, payee: 'sink:universe', ref: `resume ${names}` };
    const done = await Promise.all([bus('debit', body), bus('debit', body), bus('debit', body)]);
    expect(done.filter((reply) => reply.ok && !(reply.answer as { replay?: true }).replay)).toHaveLength(1);
    expect(await bus('debit', { ...body, amount: 6 })).toMatchObject({ code: 'E_REF_REUSED' });
    expect(await budget(buyer)).toMatchObject({ spent: 5 });
  });

  it('are given back once, never more than was paid, and only what the payee still has', async () => {
    const payee = `payee${names}`;
    const paid = await bus('debit', { payer: { agent: buyer }, amount: 10, payee, ref: `pay ${names}` });
    const { entryId } = (paid as { answer: { entryId: string } }).answer;
    expect(await bus('refund', { entryId, amount: 4, ref: `back ${names}` })).toMatchObject({
      answer: { refunded: true },
    });
    expect(await bus('refund', { entryId, amount: 4, ref: `back ${names}` })).toMatchObject({
      answer: { replay: true },
    });
    expect(await bus('refund', { entryId, amount: 7, ref: `more ${names}` })).toMatchObject({
      code: 'E_REFUNDED',
      details: { left: 6 },
    });
    expect(await budget(buyer)).toMatchObject({ spent: 6, available: 994 });
    expect(await budget(payee)).toMatchObject({ earned: 6 });
    await bus('debit', { payer: { agent: payee }, amount: 5, ref: `spent ${names}` });
    expect(await bus('refund', { entryId, ref: `rest ${names}` })).toMatchObject({ code: 'E_BUDGET' });
    expect(await bus('refund', { entryId: 'ent_none', ref: `none ${names}` })).toMatchObject({
      code: 'E_ENTRY_ABSENT',
    });
  });

  it('from pools count for the member', async () => {
    await node.call('escrow_setWorkspaceBudget', { workspaceId: 'acme', amount: 100, adminId: 'ann' });
    const payer = { workspace: 'acme', agent: 'bob' };
    expect(await bus('hold', hold({ payer, amount: 30 }))).toMatchObject({ answer: { reserved: 30 } });
    expect(await bus('capture', { holdId: trade })).toMatchObject({ ok: true });
    expect(await bus('debit', { payer, amount: 71, ref: `pool ${names}` })).toMatchObject({ code: 'E_POOL_EXCEEDED' });
    expect(
      await bus('debit', { payer: { workspace: 'ghost', agent: 'bob' }, amount: 1, ref: `ghost ${names}` }),
    ).toMatchObject({ code: 'E_UNKNOWN_WORKSPACE' });
    expect(await node.as('bob')('escrow_getWorkspacePool', { workspaceId: 'acme' })).toMatchObject({
      pool: { spent: 30 },
      members: [{ agentId: 'bob', spent: 30, pending: 0 }],
    });
  });
});

describe('accounts', () => {
  it('open for who is known and for operators, not for invented names', async () => {
    const nobody = `nobody${names}`;
    const body = hold({ payer: { agent: nobody } });
    const rows = async () =>
      (await database.pool.query('SELECT 1 FROM escrow.accounts WHERE account_id = $1', [nobody])).rowCount;
    expect(await bus('hold', body, { operator: false })).toMatchObject({
      code: 'E_BUDGET',
      details: { reason: 'unknown_budget', available: 0 },
    });
    expect(await rows()).toBe(0);
    expect(await budget(nobody)).toBeNull();
    expect(await bus('hold', body)).toMatchObject({ answer: { reserved: 50 } });
    expect(await rows()).toBe(1);
    const scenario = { payer: { agent: 'scenario:materialize:bob' }, amount: 5, ref: `m ${names}` };
    expect(await bus('debit', scenario, { operator: false })).toMatchObject({ answer: { available: 995 } });
    const invented = { payer: { agent: 'scenario:materialize:nobody' }, amount: 5, ref: `n ${names}` };
    expect(await bus('debit', invented, { operator: false })).toMatchObject({ code: 'E_BUDGET' });
  });

  it('are opened once', async () => {
    const body = { account: `crew:c${names}`, limit: 120, ref: `crew ${names}` };
    expect(await bus('open', body)).toEqual({ ok: true, answer: { opened: true, created: true } });
    expect(await bus('open', body)).toEqual({ ok: true, answer: { opened: true, created: true, replay: true } });
    expect(await bus('open', { ...body, ref: `again ${names}` })).toEqual({
      ok: true,
      answer: { opened: true, created: false },
    });
    expect(await bus('open', { ...body, limit: 1, ref: `less ${names}` })).toMatchObject({ code: 'E_ACCOUNT_EXISTS' });
    expect(await bus('open', { ...body, limit: 1 })).toMatchObject({ code: 'E_REF_REUSED' });
  });

  it('show what sinks got', async () => {
    await bus('debit', { payer: { agent: buyer }, amount: 5, payee: `sink:s${names}`, ref: `s ${names}` });
    expect(await budget(`sink:s${names}`)).toMatchObject({ earned: 5 });
  });
});

it('what does not fit, comes late or names an id of a caller is refused', async () => {
  expect(await bus('hold', hold({ holdId: 'mine' }))).toMatchObject({ code: 'VAF_INPUT_INVALID' });
  expect(await bus('hold', hold({ amount: -1 }))).toMatchObject({ code: 'VAF_INPUT_INVALID' });
  expect(await bus('hold', hold({ payer: { agent: 'ws:acme' } }))).toMatchObject({ code: 'VAF_INPUT_INVALID' });
  expect(await bus('hold', hold({ ttlMs: 2_592_000_001 }))).toMatchObject({ code: 'VAF_INPUT_INVALID' });
  expect(await bus('hold', hold(), { deadlineAt: Date.now() - 1 })).toMatchObject({ code: 'TIMEOUT' });
  expect(await budget(buyer)).toMatchObject({ pending: 0 });
});
