/** Moves that come at once share a transaction, and nothing else. */
import { CallError } from '@svc/contract/codes.ts';
import { allow, deny } from '@svc/contract/decision.ts';
import { migratedDatabase } from '@svc/testing/database.ts';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type MarketBed, openMarketBed } from '../../testing/market-store-bed.ts';
import { RealMarket } from '../../testing/model/real-market.ts';
import { createTradeMoves, type MoveTrade } from './trade-moves.ts';
import type { MarketStore } from './trade-events.ts';

const database = await migratedDatabase();
let bed: MarketBed;
let market: RealMarket;
let move: MoveTrade;
let transactions = 0;

beforeAll(async () => {
  bed = await openMarketBed(database);
  market = await RealMarket.begin(bed, database.pool, 'moves');
  const change: MarketStore['change'] = (...args) => {
    transactions += 1;
    return bed.base.change(...args);
  };
  move = createTradeMoves({ change, idempotency: bed.base.idempotency }, bed.platform.clock);
});
afterAll(async () => {
  await bed.stop();
  await database.close();
});

beforeEach(() => {
  transactions = 0;
});

test('each is judged as the trade stands after those before it, and suffers from nobody else', async () => {
  const listing = { seller: 'a', supply: 5, price: 1, kind: 'plain', unsettled: 'confirm' } as const;
  await market.list(0, listing);
  const ids = [market.nextTradeId(), market.nextTradeId()] as const;
  for (const id of ids) expect(await market.buy(id, 0, listing, 'b')).toBeNull();
  const [one, other] = ids;
  const call = market.call();
  const said = await Promise.allSettled([
    move(call, { tradeId: one, decide: ({ state }) => allow({ answer: state, to: { reported: true } }) }),
    move(call, { tradeId: 'trd_nobody', decide: () => allow({ answer: null, to: null }) }),
    move(call, {
      tradeId: 'trd_nobody',
      decide: () => deny('E_BUSY'),
      absent: () => new CallError('SERVICE_UNAVAILABLE'),
    }),
    move(call, { tradeId: other, decide: () => ({ ok: 'rejected', error: new CallError('TIMEOUT') }) }),
    move(call, { tradeId: one, decide: ({ version }) => allow({ answer: version, to: { reported: false } }) }),
    move(call, { tradeId: other, decide: ({ state }) => deny('E_TRADE_CLOSED', { state }) }),
  ]);
  expect(said).toMatchObject([
    { value: { decision: { value: 'pending' }, trade: { reported: true, version: 2 } } },
    { value: { decision: { code: 'E_TRADE_ABSENT' }, trade: null } },
    { reason: { code: 'SERVICE_UNAVAILABLE' } },
    { reason: { code: 'TIMEOUT' } },
    { value: { decision: { value: 2 }, trade: { reported: false, version: 3 } } },
    { value: { decision: { code: 'E_TRADE_CLOSED', details: { state: 'pending' } }, trade: { version: 1 } } },
  ]);
  expect(transactions).toBe(1);
  expect(await bed.trades.read(one)).toMatchObject({ version: 3, reported: false });
  expect(await bed.trades.read(other)).toMatchObject({ version: 1 });
});

test('calls with keys share a transaction with all others, and each key stands for what came of its call', async () => {
  const listing = { seller: 'a', supply: 5, price: 1, kind: 'plain', unsettled: 'confirm' } as const;
  await market.list(1, listing);
  const [one, other] = [market.nextTradeId(), market.nextTradeId()];
  for (const id of [one, other]) expect(await market.buy(id, 1, listing, 'b')).toBeNull();
  const [keyed, denied] = [market.keyed('move'), market.keyed('move')];
  const moveOne = (call = keyed) =>
    move(call, { tradeId: one, decide: ({ version }) => allow({ answer: version, to: { reported: true } }) });
  const denyOther = () => move(denied, { tradeId: other, decide: ({ state }) => deny('E_TRADE_CLOSED', { state }) });
  const first = await Promise.all([moveOne(), denyOther(), moveOne(), moveOne(market.call())]);
  expect(transactions).toBe(1);
  expect(first).toMatchObject([
    { decision: { value: 1 }, replayed: false },
    { decision: { code: 'E_TRADE_CLOSED' }, replayed: false },
    { decision: { value: 1 }, replayed: true, trade: null },
    { decision: { value: 2 }, replayed: false },
  ]);
  expect(await Promise.all([moveOne(), denyOther()])).toMatchObject([
    { decision: { value: 1 }, replayed: true },
    { decision: { code: 'E_TRADE_CLOSED' }, replayed: true },
  ]);
  expect(await bed.trades.read(one)).toMatchObject({ version: 3 });
});

test('a keyed call that is rejected leaves no outcome, and spoils no other', async () => {
  const listing = { seller: 'a', supply: 5, price: 1, kind: 'plain', unsettled: 'confirm' } as const;
  await market.list(2, listing);
  const tradeId = market.nextTradeId();
  expect(await market.buy(tradeId, 2, listing, 'b')).toBeNull();
  const keyed = market.keyed('move');
  const said = await Promise.allSettled([
    move(keyed, { tradeId, decide: () => ({ ok: 'rejected', error: new CallError('SERVICE_UNAVAILABLE') }) }),
    move(market.keyed('move'), { tradeId, decide: ({ state }) => allow({ answer: state, to: null }) }),
  ]);
  expect(said).toMatchObject([
    { reason: { code: 'SERVICE_UNAVAILABLE' } },
    { value: { decision: { value: 'pending' }, replayed: false } },
  ]);
  const again = await move(keyed, { tradeId, decide: () => allow({ answer: 'now', to: null }) });
  expect(again).toMatchObject({ decision: { value: 'now' }, replayed: false });
});
