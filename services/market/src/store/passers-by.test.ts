/** Whoever comes by a trade that time has closed is answered for itself, also while the money of that trade cannot follow. */
import { beforeEach, describe, expect, it } from 'vitest';
import { marketTests } from '../../testing/market-tests.ts';
import { sweepTrades } from './trade-retention.ts';

const here = await marketTests('p');
const { client } = here;
const OFFER = { seller: 'a', kind: 'skill', price: 40, supply: 1, unsettled: 'confirm' } as const;
const LONG_MS = 10 * 86_400_000;
let overdue: string;

beforeEach(async () => {
  await here.market.list(0, OFFER);
  overdue = here.market.nextTradeId();
  expect(await here.market.buy(overdue, 0, OFFER, 'b')).toBeNull();
});

const stateOf = async (tradeId: string) => (await here.market.state()).trades[tradeId];

describe('while nothing can be given back', () => {
  beforeEach(() => here.market.pass(LONG_MS));

  it.each([
    ['deliver', 'a', 'E_SKILL_EXPIRED'],
    ['confirm', 'b', 'E_SKILL_EXPIRED'],
    ['cancel', 'b', 'E_TRADE_CLOSED'],
  ] as const)('whoever comes too late to %s is told so', async (act, agent, code) => {
    expect(await here.market.cutOff('question lost', () => here.market.act(overdue, act, agent))).toBe(code);
    expect(await stateOf(overdue)).toBe('expired pending');
    await here.market.finish();
    expect(await stateOf(overdue)).toBe('expired done');
  });

  it('what nobody delivered is sold to the next', async () => {
    const next = here.market.nextTradeId();
    expect(await here.market.cutOff('question lost', () => here.market.buy(next, 0, OFFER, 'c'), ['void'])).toBeNull();
    expect([await stateOf(overdue), await stateOf(next)]).toEqual(['expired pending', 'pending_delivery none']);
    await here.market.finish();
    expect(await stateOf(overdue)).toBe('expired done');
  });
});

it('a key stands for its purchase for a day after that was closed, and then for a new one', async () => {
  await here.market.list(1, { ...OFFER, supply: 2 });
  const keyed = here.market.keyed('buy');
  const [first, second] = [here.market.nextTradeId(), here.market.nextTradeId()];
  expect(await here.market.buy(first, 1, OFFER, 'c', keyed)).toBeNull();
  await here.market.act(first, 'cancel', 'c');
  await sweepTrades(client, 90);
  expect(await here.market.buy(second, 1, OFFER, 'c', keyed)).toBeNull();
  expect(await stateOf(second)).toBeUndefined();
  const age = (table: string, column: string, id: string) =>
    client.$executeRawUnsafe(`UPDATE market.${table} SET ${column} = ${column} - interval '25 hours' WHERE ${id}`);
  await age('trades', 'closed_at', `trade_id = '${first}'`);
  await age('idempotency', 'at', `key = '${keyed.idempotency?.key}'`);
  await sweepTrades(client, 90);
  expect(await here.market.buy(second, 1, OFFER, 'c', keyed)).toBeNull();
  expect(await stateOf(second)).toBe('pending_delivery none');
});
