/** Every event in every state, for everybody, before its time and after. */
import { describe, expect, it } from 'vitest';
import {
  dueClosing,
  holdLifeMs,
  isClosed,
  moneyOf,
  outcomeOf,
  restoresSupply,
  stateAt,
  type Trade,
  type TradeState,
} from './trade.ts';
import { decideCancel, decideComplete, decideDeliver, decideSettle } from './trade-rules.ts';

const DUE = 1000;
const trade = (state: TradeState, over: Partial<Trade> = {}): Trade => ({
  tradeId: 'trd_1',
  kind: 'skill',
  listingId: 'lst_1',
  seller: 'seller',
  buyer: 'buyer',
  amount: 1n,
  state,
  dueAt: DUE,
  windowMs: 500,
  unsettled: 'confirm',
  ...over,
});
const plain = (state: TradeState, over: Partial<Trade> = {}) => trade(state, { kind: 'plain', ...over });
const said = (decision: { ok: boolean; code?: string; value?: unknown }): unknown =>
  decision.ok ? decision.value : decision.code;

/** What each act comes to before the deadline and at it. */
const ACTS = {
  complete: (one: Trade, now: number, who = 'buyer') => said(decideComplete(one, who, now)),
  cancel: (one: Trade, now: number, who = 'buyer') => said(decideCancel(one, who, now)),
  deliver: (one: Trade, now: number, who = 'seller') => said(decideDeliver(one, who, now)),
  confirm: (one: Trade, now: number, agentId = 'buyer') =>
    said(decideSettle(one, { agentId, verdict: 'confirm' }, now)),
  refute: (one: Trade, now: number, agentId = 'buyer') => said(decideSettle(one, { agentId, verdict: 'refute' }, now)),
} as const;
const CANCELLED = { state: 'cancelled', by: 'buyer' };

describe('a plain trade', () => {
  it.each([
    ['complete', 'pending', { state: 'completed', by: 'buyer' }, 'E_TRADE_CLOSED'],
    ['cancel', 'pending', CANCELLED, 'E_TRADE_CLOSED'],
    ['complete', 'completed', 'E_TRADE_CLOSED', 'E_TRADE_CLOSED'],
    ['cancel', 'completed', 'E_TRADE_CLOSED', 'E_TRADE_CLOSED'],
    ['complete', 'cancelled', 'E_TRADE_CLOSED', 'E_TRADE_CLOSED'],
    ['cancel', 'cancelled', 'E_TRADE_CLOSED', 'E_TRADE_CLOSED'],
    ['complete', 'opening', 'E_TRADE_ABSENT', 'E_TRADE_ABSENT'],
    ['cancel', 'undoing', 'E_TRADE_ABSENT', 'E_TRADE_ABSENT'],
    ['deliver', 'pending', 'E_TRADE_ABSENT', 'E_TRADE_ABSENT'],
    ['confirm', 'pending', 'E_TRADE_ABSENT', 'E_TRADE_ABSENT'],
  ] as const)('%s when %s', (act, state, before, after) => {
    expect(ACTS[act](plain(state), DUE - 1)).toEqual(before);
    expect(ACTS[act](plain(state), DUE)).toEqual(after);
  });

  it('is completed early by its buyer alone, and cancelled by both parties', () => {
    expect(ACTS.complete(plain('pending'), 0, 'seller')).toBe('E_NOT_BUYER');
    expect(ACTS.complete(plain('pending'), 0, 'somebody')).toBe('E_TRADE_ABSENT');
    expect(ACTS.cancel(plain('pending'), 0, 'seller')).toEqual({ state: 'cancelled', by: 'seller' });
    expect(ACTS.cancel(plain('pending'), 0, 'somebody')).toBe('E_TRADE_ABSENT');
    expect(ACTS.cancel(plain('completed'), 0, 'somebody')).toBe('E_TRADE_ABSENT');
  });
});

describe('a skill trade', () => {
  const CONFIRMED = { state: 'confirmed', by: 'buyer' };
  it.each([
    ['complete', 'delivered', 'E_TRADE_ABSENT', 'E_TRADE_ABSENT'],
    ['cancel', 'pending_delivery', CANCELLED, 'E_TRADE_CLOSED'],
    ['cancel', 'delivered', 'E_SKILL_DELIVERED', 'E_TRADE_CLOSED'],
    ['cancel', 'refuted', 'E_TRADE_CLOSED', 'E_TRADE_CLOSED'],
    ['deliver', 'pending_delivery', { settleBy: DUE - 1 + 500 }, 'E_SKILL_EXPIRED'],
    ['deliver', 'delivered', 'E_SKILL_ALREADY_DELIVERED', 'E_SKILL_ALREADY_SETTLED'],
    ['deliver', 'confirmed', 'E_SKILL_ALREADY_SETTLED', 'E_SKILL_ALREADY_SETTLED'],
    ['deliver', 'expired', 'E_SKILL_EXPIRED', 'E_SKILL_EXPIRED'],
    ['deliver', 'cancelled', 'E_SKILL_CANCELLED', 'E_SKILL_CANCELLED'],
    ['confirm', 'pending_delivery', 'E_SKILL_NOT_DELIVERED', 'E_SKILL_EXPIRED'],
    ['confirm', 'delivered', CONFIRMED, 'E_SKILL_ALREADY_SETTLED'],
    ['refute', 'delivered', { state: 'refuted', by: 'buyer' }, 'E_SKILL_ALREADY_SETTLED'],
    ['refute', 'confirmed', 'E_SKILL_ALREADY_SETTLED', 'E_SKILL_ALREADY_SETTLED'],
    ['confirm', 'refuted', 'E_SKILL_ALREADY_SETTLED', 'E_SKILL_ALREADY_SETTLED'],
    ['confirm', 'cancelled', 'E_SKILL_CANCELLED', 'E_SKILL_CANCELLED'],
    ['confirm', 'opening', 'E_TRADE_ABSENT', 'E_TRADE_ABSENT'],
  ] as const)('%s when %s', (act, state, before, after) => {
    expect(ACTS[act](trade(state), DUE - 1)).toEqual(before);
    expect(ACTS[act](trade(state), DUE)).toEqual(after);
  });

  it('is delivered by its seller and settled by its buyer; for others it does not exist', () => {
    expect(ACTS.deliver(trade('pending_delivery'), 0, 'buyer')).toBe('E_SKILL_NOT_SELLER');
    expect(ACTS.deliver(trade('pending_delivery'), 0, 'somebody')).toBe('E_TRADE_ABSENT');
    expect(ACTS.confirm(trade('delivered'), 0, 'seller')).toBe('E_SKILL_NOT_BUYER');
    expect(ACTS.refute(trade('delivered'), 0, 'somebody')).toBe('E_TRADE_ABSENT');
  });
});

describe('time', () => {
  it('alone completes, expires and settles, as the trade was agreed', () => {
    expect(dueClosing(plain('pending'), DUE)).toEqual({ state: 'completed', by: 'timer' });
    expect(dueClosing(trade('pending_delivery'), DUE)).toEqual({ state: 'expired', by: 'sweep' });
    expect(dueClosing(trade('delivered'), DUE)).toEqual({ state: 'confirmed', by: 'timeout' });
    expect(dueClosing(trade('delivered', { unsettled: 'refute' }), DUE)).toEqual({ state: 'refuted', by: 'timeout' });
    for (const state of ['pending', 'pending_delivery', 'delivered'] as const) {
      expect([dueClosing(trade(state), DUE - 1), stateAt(trade(state), DUE - 1)]).toEqual([null, state]);
    }
    for (const state of ['opening', 'undoing', 'completed', 'confirmed', 'refuted', 'cancelled', 'expired'] as const) {
      expect(dueClosing(trade(state), DUE)).toBeNull();
    }
  });

  it('leaves the hold alive until every window of the trade has passed', () => {
    expect(holdLifeMs('plain', 300_000)).toBe(3_900_000);
    expect(holdLifeMs('skill', 259_200_000)).toBe(522_000_000);
  });
});

it('each end says what becomes of money, supply and trust', () => {
  const ends = (['completed', 'confirmed', 'refuted', 'cancelled', 'expired'] as const).map((state) => [
    state,
    isClosed(state),
    moneyOf(state),
    restoresSupply(state),
    outcomeOf(state),
  ]);
  expect(ends).toEqual([
    ['completed', true, 'capture', false, 'confirmed'],
    ['confirmed', true, 'capture', false, 'confirmed'],
    ['refuted', true, 'void', false, 'refuted'],
    ['cancelled', true, 'void', true, 'cancelled'],
    ['expired', true, 'void', true, 'expired'],
  ]);
});
