/** What services do on the bus with other people's money, while tools look on. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { Caller, type Fields } from '../client.ts';
import { readTotals, withLedger } from '../instruments/ledger-rows.ts';
import { createMembers, memberAt } from '../instruments/members.ts';
import {
  connectPayingService,
  type EscrowReply,
  type PayingService,
  refusedBy,
} from '../instruments/paying-service.ts';
import { budgetOf } from '../instruments/pools.ts';
import { newName, ownTarget, REGISTRY_APART, verifies } from '../verifies.ts';

const target = ownTarget({}, { only: 'cluster', apart: REGISTRY_APART });
const WEEK_MS = 604_800_000;

/** With the service connected, and closed afterwards. */
async function asMarket(work: (market: PayingService) => Promise<void>, service = 'market'): Promise<void> {
  const market = await connectPayingService(target.get().place, service);
  try {
    await work(market);
  } finally {
    await market.close();
  }
}

const trade = (payer: string, amount: number, ttlMs = WEEK_MS) => ({
  holdId: `trade:${newName('t')}`,
  payer: { agent: payer },
  amount,
  ttlMs,
  condition: { type: 'trade' },
});

verifies(
  'escrow:create',
  () =>
    asMarket(async (market) => {
      const user = new Caller(target.get().place);
      const org = newName('o');
      await user.ok('escrow_create', { org });
      await market.ok('debit', { payer: { org }, amount: 200, ref: newName('r') });
      expect(await user.ok('escrow_create', { org, budget: 300 })).toMatchObject({
        budget: { spent: 200, limit: 300, available: 100, pending: 0, earned: 0 },
      });
      await user.refused('E_LIMIT_BELOW_COMMITTED', 'escrow_create', { org, budget: 100 }, { gateway: 1 });
      for (let n = 0; n < 9; n += 1) await market.ok('debit', { payer: { org }, amount: 0.1, ref: newName('r') });
      expect(await budgetOf(user, org)).toMatchObject({ spent: 200.9, available: 99.1 });
    }),
  { on: target, title: 'What a service spent counts like everything else.' },
);

const TRADES = 40;
const RACERS = 50;
const HEAD_START = 10;
const HEAD_START_MS = [0, 2, 5, 10, 20];

/** Who, of many that settle one hold at once, decided; the others are told that it is closed or get the same answer again. */
function decided(replies: readonly EscrowReply[]): 'captured' | 'voided' {
  const isReplay = (reply: EscrowReply) => reply.ok && reply.value.replay === true;
  const winners = replies.filter((reply) => reply.ok && !isReplay(reply));
  const losers = replies.filter((reply) => isReplay(reply) || refusedBy(reply) === 'E_HOLD_CLOSED');
  expect([winners.length, losers.length]).toEqual([1, RACERS - 1]);
  const outcomes = new Set(
    replies.flatMap((reply) => (reply.ok ? [reply.value.captured === true ? 'captured' : 'voided'] : [])),
  );
  expect(outcomes.size).toBe(1);
  return outcomes.has('captured') ? 'captured' : 'voided';
}

verifies(
  'escrow:settle-race',
  ({ random, report }) =>
    asMarket(async (market) => {
      const operator = new Caller(target.get().place);
      const seller = newName('seller');
      await operator.ok('escrow_create', { org: seller, budget: 0 });
      const outcomes = { captured: 0, voided: 0 };
      const startedAt = performance.now();
      for (let n = 0; n < TRADES; n += 1) {
        const buyer = newName('buyer');
        await operator.ok('escrow_create', { org: buyer });
        const body = trade(buyer, 50);
        const { holdId } = body;
        await market.ok('hold', body);
        const confirm = () => market.ask('capture', { holdId, payee: seller });
        const refute = () => market.ask('void', { holdId, reason: 'refuted' });
        const sweep = () => market.ask('void', { holdId, reason: 'swept' });
        // A void has less to do than a capture: in half of the races some captures start a little earlier.
        const early = n % 2 === 0 ? Array.from({ length: HEAD_START }, confirm) : [];
        if (early.length > 0) await delay(random.pick(HEAD_START_MS));
        const others = Array.from({ length: RACERS - early.length }, () => random.pick([confirm, refute, sweep])());
        const outcome = decided(await Promise.all([...early, ...others]));
        outcomes[outcome] += 1;
        const paid = outcome === 'captured' ? 50 : 0;
        expect(await budgetOf(operator, buyer)).toMatchObject({ spent: paid, pending: 0, available: 1000 - paid });
      }
      const took = Math.round(performance.now() - startedAt);
      report(`${TRADES} trades x ${RACERS} racers in ${took} ms: ${JSON.stringify(outcomes)}`);
      expect(await budgetOf(operator, seller)).toMatchObject({ earned: 50 * outcomes.captured, spent: 0 });
      // Otherwise nobody raced.
      expect([outcomes.captured > 0, outcomes.voided > 0]).toEqual([true, true]);
      expect(await withLedger(target.get(), readTotals)).toMatchObject({ sum: 0 });
    }),
  { on: target },
);

verifies(
  'escrow:service-holds',
  () =>
    asMarket(async (market) => {
      const { place } = target.get();
      const members = await createMembers(place, 'editor', 'editor');
      const [buyer, seller] = [memberAt(members, 0), memberAt(members, 1)];
      const body = trade(buyer.id, 50);
      const { holdId } = body;
      await market.ok('hold', body);
      for (const caller of [buyer.caller, seller.caller, new Caller(place)]) {
        expect(await caller.ok('escrow_release', { holdId })).toEqual({ released: false, holdId });
        await caller.fails('VAF_INPUT_INVALID', 'escrow_hold', { holdId });
      }
      expect(await market.ok('state', { holdId })).toMatchObject({ state: 'held', amount: 50 });
      await asMarket(async (forum) => {
        expect(await forum.ok('state', { holdId })).toEqual({ state: 'absent' });
        expect(refusedBy(await forum.ask('capture', { holdId, payee: seller.id }))).toBe('E_HOLD_ABSENT');
        expect(refusedBy(await forum.ask('void', { holdId, reason: 'mine now' }))).toBe('E_HOLD_CLOSED');
      }, 'agora');
      expect(await buyer.caller.ok('escrow_status', { org: buyer.id })).toMatchObject({
        budget: { available: 950, pending: 50 },
        holds: { [holdId]: { amount: 50 } },
      });
      expect(await market.ok('hold', body)).toMatchObject({ held: true, replay: true });
      expect(refusedBy(await market.ask('hold', { ...body, amount: 51 }))).toBe('E_HOLD_EXISTS');
      await market.ok('capture', { holdId, amount: 20, payee: seller.id });
      expect(await budgetOf(buyer.caller, buyer.id)).toMatchObject({ spent: 20, pending: 0, available: 980 });
      expect(await budgetOf(seller.caller, seller.id)).toMatchObject({ earned: 20, limit: 1000, available: 1020 });
      expect(refusedBy(await market.ask('hold', { ...body, amount: 51 }))).toMatch(/^E_HOLD_/);
    }),
  { on: target },
);

verifies(
  'escrow:deadlines',
  () =>
    asMarket(async (market) => {
      const operator = new Caller(target.get().place);
      const org = newName('o');
      await operator.ok('escrow_create', { org });
      const old = trade(org, 100);
      await market.ok('hold', old);
      await withLedger(target.get(), (pool) =>
        pool.query(
          `UPDATE escrow.holds SET held_at = held_at - interval '1 day', expires_at = expires_at - interval '1 day'
           WHERE hold_id = $1`,
          [old.holdId],
        ),
      );
      expect(await market.ok('state', { holdId: old.holdId })).toMatchObject({ state: 'held' });
      expect(await market.ok('capture', { holdId: old.holdId })).toMatchObject({ captured: true, amount: 100 });

      for (let round = 0; round < 20; round += 1) {
        const brief = trade(org, 900, 50);
        await market.ok('hold', brief);
        await delay(51);
        const holdId = newName('h');
        expect(await operator.ok('escrow_hold', { holdId, condition: { org, amount: 900 } })).toMatchObject({
          reserved: 900,
        });
        expect(refusedBy(await market.ask('capture', { holdId: brief.holdId }))).toBe('E_HOLD_EXPIRED');
        expect(await market.ok('void', { holdId: brief.holdId, reason: 'late' })).toMatchObject({
          voided: true,
          expired: true,
        });
        await operator.ok('escrow_release', { holdId });
      }
      const late = trade(org, 900);
      expect(await market.ok('void', { holdId: late.holdId, reason: 'never came' })).toMatchObject({ voided: true });
      expect(refusedBy(await market.ask('hold', late))).toBe('E_HOLD_CLOSED');
      expect(await budgetOf(operator, org)).toMatchObject({ spent: 100, pending: 0, available: 900 });
    }),
  { on: target },
);

verifies(
  'escrow:hold:record',
  async ({ socket }) => {
    const operator = new Caller(target.get().place);
    const ears = await socket();
    expect(await ears.subscribe()).toMatchObject({ ok: true });
    const org = newName('o');
    await operator.ok('escrow_create', { org });
    const holdId = newName('h');
    await operator.ok('escrow_hold', { holdId, condition: { agent: org } });
    const age = (ms: number) =>
      withLedger(target.get(), (pool) =>
        pool.query(
          `UPDATE escrow.holds SET held_at = held_at - $2 * interval '1 millisecond',
             expires_at = expires_at - $2 * interval '1 millisecond' WHERE hold_id = $1`,
          [holdId, ms],
        ),
      );
    await age(290_000);
    expect(Object.keys((await operator.ok<{ holds: Fields }>('escrow_status', { org })).holds)).toEqual([holdId]);
    await age(10_000);
    expect(await operator.ok('escrow_status', { org })).toMatchObject({ holds: {}, budget: { available: 1000 } });
    expect(await operator.ok('escrow_release', { holdId })).toEqual({ released: false, holdId });
    const told = await ears.until('of the end', (event) => event.name === 'escrow:expired' && event.holdId === holdId);
    expect(told).toMatchObject({ account: org, amount: expect.any(Number) as number });
  },
  { on: target, title: 'After 300,000 ms a hold is gone, and not before.' },
);

verifies(
  'escrow:opening',
  () =>
    asMarket(async (market) => {
      const operator = new Caller(target.get().place);
      const rows = (id: string) =>
        withLedger(target.get(), async (pool) => {
          const found = await pool.query('SELECT 1 AS found FROM escrow.accounts WHERE account_id = $1', [id]);
          return found.rowCount;
        });
      const name = newName('nobody');
      const body = trade(name, 5);
      const refused = await market.ask('hold', body);
      expect(refused).toMatchObject({
        ok: false,
        code: 'E_BUDGET',
        details: { reason: 'unknown_budget', available: 0 },
      });
      const debit = { payer: { agent: name }, amount: 1, ref: newName('r') };
      expect(await market.ask('debit', debit)).toMatchObject({
        code: 'E_BUDGET',
        details: { reason: 'unknown_budget' },
      });
      expect(await market.ok('balance', { account: name })).toEqual({ budget: null });
      await operator.ok('escrow_status', { org: name });
      await operator.ok('escrow_canSpend', { agent: name });
      expect(await rows(name)).toBe(0);
      expect(await market.ok('hold', body, { operator: true })).toMatchObject({ held: true, reserved: 5 });
      expect(await budgetOf(operator, name)).toMatchObject({ limit: 1000, pending: 5 });
      const { id } = memberAt(await createMembers(target.get().place, 'viewer'), 0);
      expect(await market.ok('hold', trade(id, 5))).toMatchObject({ reserved: 5 });
      expect(
        await market.ok('debit', { payer: { agent: `scenario:run:${id}` }, amount: 1, ref: newName('r') }),
      ).toMatchObject({
        available: 999,
      });
      const payee = newName('nobody');
      await market.ok('debit', { payer: { agent: id }, amount: 3, payee, ref: newName('r') });
      expect(await market.ok('balance', { account: payee })).toMatchObject({
        budget: { limit: 0, earned: 3, available: 3 },
      });
    }),
  { on: target },
);

verifies(
  'escrow:unknown-workspace',
  async () => {
    const { place, habitats } = target.get();
    const operator = new Caller(place, { headers: { 'x-svc-timeout-ms': '8000' } });
    const { workspace: workspaceId, members } = await createMembers(place, 'admin');
    const [admin] = members;
    const agentId = admin?.id;
    await operator.ok('escrow_setWorkspaceBudget', { workspaceId, amount: 10, adminId: agentId });
    await operator.ok('escrow_workspaceRecordSpend', { workspaceId, agentId, amount: 1 });
    await Promise.all(habitats.map((one) => one.kill()));
    try {
      const canSpend = await operator.ok('escrow_workspaceCanSpend', { workspaceId, agentId });
      expect(canSpend).toMatchObject({ allowed: false, reason: 'unknown_workspace', available: 0, poolAvailable: 0 });
      const spend = { workspaceId, agentId, amount: 1 };
      await operator.refused('E_UNKNOWN_WORKSPACE', 'escrow_workspaceRecordSpend', spend);
      await admin?.caller.fails('SERVICE_UNAVAILABLE', 'escrow_workspaceRecordSpend', spend);
      await operator.fails('SERVICE_UNAVAILABLE', 'escrow_setWorkspaceBudget', {
        workspaceId,
        amount: 20,
        adminId: agentId,
      });
    } finally {
      for (const one of habitats) one.spawn();
    }
    await target.get().whole();
    expect(await operator.ok('escrow_workspaceRecordSpend', { workspaceId, agentId, amount: 1 })).toMatchObject({
      poolSpent: 2,
    });
  },
  { on: target, title: 'While the registry is away, nothing is known and nothing is drawn.' },
);
