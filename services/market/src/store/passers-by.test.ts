/** Whoever comes by a trade that time has closed is answered for itself, also while the money of that trade cannot follow. */
import { poolClient } from '@svc/runtime/transaction.ts';
import { migratedDatabase } from '@svc/testing/database.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type MarketBed, openMarketBed } from '../../testing/market-store-bed.ts';
import { RealMarket } from '../../testing/model/real-market.ts';
import { sweepTrades } from './trade-retention.ts';

const database = await migratedDatabase();
const client = poolClient(database.pool);
const OFFER = { seller: 'a', kind: 'skill', price: 40, supply: 1, unsettled: 'confirm' } as const;
const LONG_MS = 10 * 86_400_000;
let bed: MarketBed;
let market: RealMarket;
let names = 0;
let overdue: string;

beforeAll(async () => {
  bed = await openMarketBed(database);
});
afterAll(async () => {
  await bed.stop();
  await database.close();
});
beforeEach(async () => {
  names += 1;
  market = await RealMarket.begin(bed, database.pool, `p${names}x`);
  await market.list(0, OFFER);
  overdue = market.nextTradeId();
  expect(await market.buy(overdue, 0, OFFER, 'b')).toBeNull();
});

const stateOf = async (tradeId: string) => (await market.state()).trades[tradeId];

describe('while nothing can be given back', () => {
  beforeEach(() => market.pass(LONG_MS));

  it.each([
    ['deliver', 'a', 'E_SKILL_EXPIRED'],
    ['confirm', 'b', 'E_SKILL_EXPIRED'],
    ['cancel', 'b', 'E_TRADE_CLOSED'],
  ] as const)('whoever comes too late to %s is told so', async (act, agent, code) => {
    expect(await market.cutOff('question lost', () => market.act(overdue, act, agent))).toBe(code);
    expect(await stateOf(overdue)).toBe('expired pending');
    await market.finish();
    expect(await stateOf(overdue)).toBe('expired done');
  });

  it('what nobody delivered is sold to the next', async () => {
    const next = market.nextTradeId();
    expect(await market.cutOff('question lost', () => market.buy(next, 0, OFFER, 'c'), ['void'])).toBeNull();
    expect([await stateOf(overdue), await stateOf(next)]).toEqual(['expired pending', 'pending_delivery none']);
    await market.finish();
    expect(await stateOf(overdue)).toBe('expired done');
  });
});

it('a key stands for its purchase for a day after that was closed, and then for a new one', async () => {
  await market.list(1, { ...OFFER, supply: 2 });
  const keyed = market.keyed('buy');
  const [first, second] = [market.nextTradeId(), market.nextTradeId()];
  expect(await market.buy(first, 1, OFFER, 'c', keyed)).toBeNull();
  await market.act(first, 'cancel', 'c');
  await sweepTrades(client, 90);
  expect(await market.buy(second, 1, OFFER, 'c', keyed)).toBeNull();
  expect(await stateOf(second)).toBeUndefined();
  const age = (table: string, column: string, id: string) =>
    client.$executeRawUnsafe(`UPDATE market.${table} SET ${column} = ${column} - interval '25 hours' WHERE ${id}`);
  await age('trades', 'closed_at', `trade_id = '${first}'`);
  await age('idempotency', 'at', `key = '${keyed.idempotency?.key}'`);
  await sweepTrades(client, 90);
  expect(await market.buy(second, 1, OFFER, 'c', keyed)).toBeNull();
  expect(await stateOf(second)).toBe('pending_delivery none');
});
