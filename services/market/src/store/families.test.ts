/** What counts once for all of a family of buyers: its trades that are open, and what it says of a seller. */
import { beforeEach, expect, it } from 'vitest';
import { marketTests } from '../../testing/market-tests.ts';
import { OPEN_AT_ONCE } from '../domain/offer.ts';
import { reputationOf } from '../domain/reputation.ts';
import { readPartners } from './reputation-rows.ts';
import { sweepTrades } from './trade-retention.ts';

const here = await marketTests('f');
const { client } = here;
const OFFER = { seller: 'a', kind: 'skill', price: 1, supply: 5, unsettled: 'confirm' } as const;

beforeEach(async () => {
  await here.market.list(0, OFFER);
});

interface Closed {
  readonly buyer: string;
  readonly family: string;
  readonly credits: number;
  readonly state: string;
}

/** Trades as rows: what became of them long ago. */
async function insert(trades: readonly Closed[]): Promise<void> {
  await client.$executeRawUnsafe(
    `INSERT INTO market.trades (trade_id, kind, seller, buyer, buyer_family, amount, operator, state, settlement, created_at,
       due_at, window_ms, unsettled, tried_at)
     SELECT 'old' || $1::text || row_number() OVER (), 'skill', $1::text, buyer, family, credits * 1000000, true, state, 'none', now(), now(), 1000,
       'confirm', now()
     FROM json_to_recordset($2::json) AS r(buyer text, family text, credits bigint, state text)`,
    here.market.name('a'),
    JSON.stringify(trades),
  );
}

const bought = (family: string, keyed: boolean) => {
  const call = keyed ? here.market.keyed('buy') : here.market.call();
  return here.market.buy(here.market.nextTradeId(), 0, OFFER, 'b', call, here.market.name('b') + family);
};

it.each([false, true])(
  'a family has so many open trades and no more, whoever of it buys (with a key: %s)',
  async (keyed) => {
    const open = { buyer: 'x', family: `${here.market.name('b')}full`, credits: 0, state: 'delivered' };
    await insert(Array.from({ length: OPEN_AT_ONCE - 1 }, (_, n) => ({ ...open, buyer: `x${n}` })));
    expect(await bought('full', keyed)).toBeNull();
    expect(await bought('full', keyed)).toBe('E_QUOTA');
    expect(await bought('other', keyed)).toBeNull();
    expect((await here.market.state()).taken).toEqual({ [here.market.listingId(0)]: '2' });
    await client.$executeRawUnsafe(`UPDATE market.trades SET state = 'refuted' WHERE trade_id LIKE 'old%1'`);
    expect(await bought('full', keyed)).toBeNull();
    await client.$executeRawUnsafe(`DELETE FROM market.trades WHERE trade_id LIKE 'old%'`);
  },
);

it('children of one family are one partner, however many they are', async () => {
  const children = Array.from({ length: 9 }, (_, n) => ({ buyer: `child${n}`, family: 'root', credits: 100 }));
  const others = [
    { buyer: 'c', family: 'c', credits: 0, state: 'completed' },
    { buyer: 'c', family: 'c', credits: 30, state: 'refuted' },
    { buyer: 'd', family: 'd', credits: 500, state: 'cancelled' },
  ];
  await insert([...children.map((one) => ({ ...one, state: 'confirmed' })), ...others]);
  const partners = await readPartners(client, 'everything', here.market.name('a'));
  expect(partners.sort((one, other) => (one.family < other.family ? -1 : 1))).toEqual([
    { family: 'c', good: 10_000_000n, bad: 30_000_000n, settled: 1, refuted: 1 },
    { family: 'root', good: 100_000_000n, bad: 0n, settled: 9, refuted: 0 },
  ]);
  const [, family] = partners;
  expect(reputationOf(family === undefined ? [] : [family], () => 0.7)).toEqual({
    shillResistant: 0.6667,
    counterparties: 1,
    settled: 9,
    refuted: 0,
    concentration: { share: 1, flagged: true },
  });
});

it('what was delivered is kept for a time after the trade was closed, its hash for good', async () => {
  const tradeId = here.market.nextTradeId();
  await here.market.buy(tradeId, 0, OFFER, 'b');
  await here.market.act(tradeId, 'deliver', 'a');
  const older = (days: number) =>
    client.$executeRawUnsafe(
      `UPDATE market.trades SET closed_at = closed_at - make_interval(days => $2::int) WHERE trade_id = $1`,
      tradeId,
      days,
    );
  await sweepTrades(client, 90);
  await here.market.act(tradeId, 'confirm', 'b');
  await older(89);
  await sweepTrades(client, 90);
  expect(await here.bed.trades.payload(tradeId)).toBe('x');
  await older(2);
  await sweepTrades(client, 90);
  expect(await here.bed.trades.payload(tradeId)).toBeUndefined();
  expect(await here.bed.trades.read(tradeId)).toMatchObject({ payloadHash: 'h', state: 'confirmed' });
});
