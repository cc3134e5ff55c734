/** After an outage: whatever is owed is finished in one run, and what cannot be finished stops nothing else. */
import { expect, it } from 'vitest';
import { marketTests } from '../../testing/market-tests.ts';
import { readViolations } from './invariants.ts';

const here = await marketTests('r');
const { client } = here;
/** More than two pages. */
const MANY = 210;
const LISTED = { seller: 'a', price: 0, unsettled: 'confirm' } as const;

async function bought(kind: 'plain' | 'skill', count: number, listing = 0): Promise<string[]> {
  const offer = { ...LISTED, kind, supply: count };
  await here.market.list(listing, offer);
  const ids = Array.from({ length: count }, () => here.market.nextTradeId());
  const said = await Promise.all(ids.map((id) => here.market.buy(id, listing, offer, 'b')));
  expect(new Set(said)).toEqual(new Set([null]));
  return ids;
}

const statesOf = async () => [...new Set(Object.values((await here.market.state()).trades))];
const violations = () => readViolations(client, here.bed.ports.money, { closedWithinMs: null, graceMs: 0 });

it(`${MANY} trades that are owed their money have it after one run`, async () => {
  const ids = await bought('plain', MANY);
  await here.market.cutOff('question lost', async () => {
    const said = await Promise.allSettled(ids.map((id) => here.market.act(id, 'complete', 'b')));
    expect(said.every(({ status }) => status === 'rejected')).toBe(true);
    return null;
  });
  expect(await statesOf()).toEqual(['completed pending']);
  await here.market.finish();
  expect(await statesOf()).toEqual(['completed done']);
  expect(await violations()).toEqual([]);
});

it('what was cut off before the clock was set back is finished in time, not when the clock is there again', async () => {
  const [owed = ''] = await bought('plain', 1);
  const begun = here.market.nextTradeId();
  const offer = { ...LISTED, kind: 'plain', supply: 1 } as const;
  await here.market.list(1, offer);
  await here.market.cutOff('question lost', async () => {
    const said = await Promise.allSettled([
      here.market.act(owed, 'complete', 'b'),
      here.market.buy(begun, 1, offer, 'b'),
    ]);
    expect(said.every(({ status }) => status === 'rejected')).toBe(true);
    return null;
  });
  await client.$executeRawUnsafe(
    `UPDATE market.trades SET tried_at = tried_at + interval '1 hour', closed_at = closed_at + interval '1 hour'`,
  );
  const states = async () => (await here.market.state()).trades;
  expect(await states()).toMatchObject({ [owed]: 'completed pending', [begun]: 'opening none' });
  await here.bed.reconciler.finish();
  // Whoever began it may still be at it.
  expect(await states()).toMatchObject({ [owed]: 'completed done', [begun]: 'opening none' });
  await here.market.finish();
  expect(await states()).toEqual({ [owed]: 'completed done' });
  expect(await violations()).toEqual([]);
});

it(`${MANY} trades whose time is over are closed in one run`, async () => {
  const ids = await bought('skill', MANY);
  await here.market.pass(10 * 86_400_000);
  const closed = await here.bed.reconciler.closeDue('skill');
  expect(closed.map(({ tradeId }) => tradeId).sort()).toEqual(ids);
  expect(await statesOf()).toEqual(['expired done']);
});

/** Of the first listing: where nothing of it is sold, nothing of it can be given back. */
const taken = (count: number) =>
  client.$executeRawUnsafe(
    'UPDATE market.listings SET taken = $1 WHERE listing_id = $2',
    count,
    here.market.listingId(0),
  );

it('one that cannot be closed stops none of the others', async () => {
  const [broken = ''] = await bought('skill', 1, 0);
  const [sound = ''] = await bought('skill', 1, 1);
  await here.market.pass(10 * 86_400_000);
  await taken(0);
  expect((await here.bed.reconciler.closeDue('skill')).map(({ tradeId }) => tradeId)).toEqual([sound]);
  expect((await here.market.state()).trades).toEqual({
    [broken]: 'pending_delivery none',
    [sound]: 'expired done',
  });
  await taken(1);
  expect((await here.bed.reconciler.closeDue('skill')).map(({ tradeId }) => tradeId)).toEqual([broken]);
});

it('those that cannot be closed, however many, hide none that came due after them', async () => {
  const broken = await bought('skill', MANY, 0);
  await here.market.pass(60_000);
  const [sound = ''] = await bought('skill', 1, 1);
  await here.market.pass(10 * 86_400_000);
  await taken(0);
  const closed: string[] = [];
  for (let run = 0; run < 4; run += 1)
    closed.push(...(await here.bed.reconciler.closeDue('skill')).map(({ tradeId }) => tradeId));
  expect(closed).toEqual([sound]);
  await taken(MANY);
  for (let run = 0; run < 2; run += 1) await here.bed.reconciler.closeDue('skill');
  const { trades } = await here.market.state();
  expect(broken.filter((id) => trades[id] !== 'expired done')).toEqual([]);
});
