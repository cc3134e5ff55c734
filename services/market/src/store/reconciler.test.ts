/** After an outage: whatever is owed is finished in one run, and what cannot be finished stops nothing else. */
import { poolClient } from '@svc/runtime/transaction.ts';
import { migratedDatabase } from '@svc/testing/database.ts';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { type MarketBed, openMarketBed } from '../../testing/market-store-bed.ts';
import { RealMarket } from '../../testing/model/real-market.ts';
import { readViolations } from './invariants.ts';

const database = await migratedDatabase();
const client = poolClient(database.pool);
/** More than two pages. */
const MANY = 210;
const LISTED = { seller: 'a', price: 0, unsettled: 'confirm' } as const;
let bed: MarketBed;
let market: RealMarket;
let names = 0;

beforeAll(async () => {
  bed = await openMarketBed(database);
});
afterAll(async () => {
  await bed.stop();
  await database.close();
});
beforeEach(async () => {
  names += 1;
  market = await RealMarket.begin(bed, database.pool, `r${names}x`);
});

async function bought(kind: 'plain' | 'skill', count: number, listing = 0): Promise<string[]> {
  const offer = { ...LISTED, kind, supply: count };
  await market.list(listing, offer);
  const ids = Array.from({ length: count }, () => market.nextTradeId());
  const said = await Promise.all(ids.map((id) => market.buy(id, listing, offer, 'b')));
  expect(new Set(said)).toEqual(new Set([null]));
  return ids;
}

const statesOf = async () => [...new Set(Object.values((await market.state()).trades))];
const violations = () => readViolations(client, bed.ports.money, { closedWithinMs: null, graceMs: 0 });

it(`${MANY} trades that are owed their money have it after one run`, async () => {
  const ids = await bought('plain', MANY);
  await market.cutOff('question lost', async () => {
    const said = await Promise.allSettled(ids.map((id) => market.act(id, 'complete', 'b')));
    expect(said.every(({ status }) => status === 'rejected')).toBe(true);
    return null;
  });
  expect(await statesOf()).toEqual(['completed pending']);
  await market.finish();
  expect(await statesOf()).toEqual(['completed done']);
  expect(await violations()).toEqual([]);
});

it(`${MANY} trades whose time is over are closed in one run`, async () => {
  const ids = await bought('skill', MANY);
  await market.pass(10 * 86_400_000);
  const closed = await bed.reconciler.closeDue('skill');
  expect(closed.map(({ tradeId }) => tradeId).sort()).toEqual(ids);
  expect(await statesOf()).toEqual(['expired done']);
});

it('one that cannot be closed stops none of the others', async () => {
  const [broken = ''] = await bought('skill', 1, 0);
  const [sound = ''] = await bought('skill', 1, 1);
  await market.pass(10 * 86_400_000);
  // Nothing of its listing is sold, so nothing of it can be given back.
  const taken = (count: number) =>
    client.$executeRawUnsafe('UPDATE market.listings SET taken = $1 WHERE listing_id = $2', count, market.listingId(0));
  await taken(0);
  expect((await bed.reconciler.closeDue('skill')).map(({ tradeId }) => tradeId)).toEqual([sound]);
  expect((await market.state()).trades).toEqual({
    [broken]: 'pending_delivery none',
    [sound]: 'expired done',
  });
  await taken(1);
  expect((await bed.reconciler.closeDue('skill')).map(({ tradeId }) => tradeId)).toEqual([broken]);
});
