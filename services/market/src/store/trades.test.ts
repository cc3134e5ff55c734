/** Trades on the real ledger: many at once, and what is found when rows contradict each other. */
import { CallError } from '@svc/contract/codes.ts';
import { runs } from '@svc/testing/counts.ts';
import { describe, expect, it } from 'vitest';
import { marketTests } from '../../testing/market-tests.ts';
import type { Act, Agent } from '../../testing/model/reference-market.ts';
import { readViolations } from './invariants.ts';
import { createMarketAudit } from './market-audit.ts';

const here = await marketTests('t');
const { client, database } = here;

const violations = () => readViolations(client, here.bed.ports.money, { closedWithinMs: null, graceMs: 0 });
const sql = (text: string, ...values: unknown[]) => client.$executeRawUnsafe(text, ...values);
const budget = async (agent: Agent) =>
  (await here.bed.escrow('escrow_status', { org: here.market.name(agent) })) as { budget: Record<string, number> };

type Kind = 'plain' | 'skill';
const offer = (kind: Kind, price: number, supply: number) =>
  ({ seller: 'a', kind, price, supply, unsettled: 'confirm' }) as const;

/** The trades of those who got one. */
async function bought(kind: Kind, price: number, supply: number, buyers: readonly Agent[]) {
  await here.market.list(0, offer(kind, price, supply));
  const ids = buyers.map(() => here.market.nextTradeId());
  const said = await Promise.all(
    buyers.map((buyer, n) => here.market.buy(ids[n] ?? '', 0, offer(kind, price, supply), buyer)),
  );
  return { ids: ids.filter((_, n) => said[n] === null), said };
}

async function oneBought(kind: Kind, price = 40): Promise<string> {
  const { ids } = await bought(kind, price, 1, ['b']);
  const [tradeId] = ids;
  if (tradeId === undefined) throw new Error('nothing was bought');
  return tradeId;
}

describe('at once', () => {
  it('one of fifty buyers gets the only one, and one hold is placed', async () => {
    const { said } = await bought('plain', 40, 1, Array<Agent>(50).fill('b'));
    expect(said.filter((code) => code === null)).toHaveLength(1);
    expect(said.filter((code) => code === 'E_SOLD_OUT')).toHaveLength(49);
    expect(await budget('b')).toMatchObject({ budget: { pending: 40, available: 60 } });
    expect(await violations()).toEqual([]);
  });

  it('a purchase that begins after its twin was given up leaves nothing behind', async () => {
    await here.market.list(0, offer('plain', 40, 1));
    const tradeId = here.market.nextTradeId();
    await here.bed.ports.money.void({ holdId: `trade:${tradeId}`, reason: 'undone' });
    const again = here.market.buy(tradeId, 0, offer('plain', 40, 1), 'b', here.market.keyed('buy'));
    await expect(again).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    expect(await here.market.state()).toMatchObject({ trades: {}, taken: { [here.market.listingId(0)]: '0' } });
    expect(await violations()).toEqual([]);
  });

  it('a budget of 100 pays for two of five trades of 40, and no supply is lost', async () => {
    const { said } = await bought('skill', 40, 5, Array<Agent>(5).fill('b'));
    expect(said.filter((code) => code === null)).toHaveLength(2);
    expect(said.filter((code) => code === 'E_BUDGET')).toHaveLength(3);
    expect((await here.market.state()).taken).toEqual({ [here.market.listingId(0)]: '2' });
    expect(await violations()).toEqual([]);
  });

  it('many trades share transactions, in the market, in the ledger and in the registry', async () => {
    let taken = 0;
    const count = (): void => {
      taken += 1;
    };
    const crowd = [...Array<Agent>(40)].map((_, n): Agent => (n % 2 === 0 ? 'b' : 'c'));
    database.pool.on('acquire', count);
    const { ids } = await bought('skill', 1, crowd.length, crowd);
    expect(await Promise.all(ids.map((id) => here.market.act(id, 'deliver', 'a')))).toEqual(crowd.map(() => null));
    const confirmed = ids.map((id, n) => here.market.act(id, 'confirm', crowd[n] ?? 'b'));
    expect(await Promise.all(confirmed)).toEqual(crowd.map(() => null));
    database.pool.off('acquire', count);
    // One by one each of them takes a connection ten times and more.
    expect(taken / crowd.length).toBeLessThan(4);
    expect(await violations()).toEqual([]);
  });

  it('a key that was used more than a day ago stands for something new, whatever became of its trade', async () => {
    const offered = offer('plain', 1, 3);
    await here.market.list(0, offered);
    const call = here.market.keyed('buy');
    const [first, second] = [here.market.nextTradeId(), here.market.nextTradeId()];
    expect(await here.market.buy(first, 0, offered, 'b', call)).toBeNull();
    expect(await here.market.buy(second, 0, offered, 'b', call)).toBeNull();
    expect(Object.keys((await here.market.state()).trades)).toEqual([first]);
    expect(await here.market.act(first, 'complete', 'b')).toBeNull();
    await sql(`UPDATE market.trades SET created_at = created_at - interval '25 hours' WHERE trade_id = $1`, first);
    await sql(`UPDATE market.idempotency SET at = at - interval '25 hours' WHERE key = $1`, call.idempotency?.key);
    expect(await here.market.buy(second, 0, offered, 'b', call)).toBeNull();
    expect(await here.market.buy(here.market.nextTradeId(), 0, offered, 'b', call)).toBeNull();
    expect((await here.market.state()).trades).toEqual({ [first]: 'completed done', [second]: 'pending none' });
    expect(await violations()).toEqual([]);
  });

  const TRADES = runs(40);
  const RACERS = runs(50);
  it.each(['plain', 'skill'] as const)(
    `each of ${TRADES} %s trades has one outcome of ${RACERS} racers`,
    async (kind) => {
      const { ids } = await bought(
        kind,
        2,
        TRADES,
        [...Array<Agent>(TRADES)].map((_, n) => (n % 2 === 0 ? 'b' : 'c')),
      );
      const acts: readonly Act[] = kind === 'plain' ? ['complete', 'cancel'] : ['confirm', 'refute', 'cancel'];
      const buyerOf = (n: number): Agent => (n % 2 === 0 ? 'b' : 'c');
      if (kind === 'skill') for (const id of ids) expect(await here.market.act(id, 'deliver', 'a')).toBeNull();
      // Some of them come when the window is over: then the timer has decided, whoever asks first.
      await sql(
        `UPDATE market.trades SET due_at = clock_timestamp() + $1 * interval '1 ms' WHERE trade_id = ANY($2::text[])`,
        150,
        ids,
      );
      const said = await Promise.all(
        ids.map((id, n) => Promise.all(Array.from({ length: RACERS }, (_, at) => raced(id, acts, buyerOf(n), at)))),
      );
      await sql(
        `UPDATE market.trades SET due_at = clock_timestamp() WHERE due_at > clock_timestamp() AND trade_id = ANY($1::text[])`,
        ids,
      );
      await here.market.sweep();
      await here.market.finish();
      expect(said.every((codes) => codes.filter((code) => code === null).length <= 1)).toBe(true);
      const { trades, purses, events } = await here.market.state();
      const settled = Object.values(events).map(
        (one) => one.split(' ').filter((name) => name === 'trade:settled').length,
      );
      expect(settled).toEqual(Array<number>(TRADES).fill(1));
      const paid = Object.values(trades).filter((one) => /^(completed|confirmed) done$/.test(one)).length;
      const ends = ['completed done', 'cancelled done', 'confirmed done', 'refuted done'];
      expect(Object.values(trades).every((one) => ends.includes(one))).toBe(true);
      const [spentB = 0, spentC = 0] = [here.market.name('b'), here.market.name('c')].map((name) =>
        Number(purses[name]?.split(' ')[0]),
      );
      expect([spentB + spentC, purses[here.market.name('a')]]).toEqual([2 * paid, `0 0 ${2 * paid}`]);
      expect(await violations()).toEqual([]);
    },
  );

  async function raced(id: string, acts: readonly Act[], buyer: Agent, at: number): Promise<string | null> {
    try {
      if (at % 10 === 9) return await here.market.sweep().then(() => 'swept');
      return await here.market.act(id, acts[at % acts.length] ?? 'cancel', buyer);
    } catch (error) {
      // Decided, and not told in time on a busy machine; what has become of it counts.
      if (error instanceof CallError && error.code === 'E_OUTCOME_UNKNOWN') return error.code;
      throw error;
    }
  }
});

describe('money that cannot follow', () => {
  it('is owed until the ledger is back; what the trade has become stays', async () => {
    const tradeId = await oneBought('plain');
    expect(await here.market.cutOff('question lost', () => here.market.act(tradeId, 'complete', 'b'))).toBe(
      'E_OUTCOME_UNKNOWN',
    );
    expect((await here.market.state()).trades[tradeId]).toBe('completed pending');
    expect(await here.market.act(tradeId, 'cancel', 'b')).toBe('E_TRADE_CLOSED');
    await here.market.finish();
    expect((await here.market.state()).trades[tradeId]).toBe('completed done');
    expect(await budget('a')).toMatchObject({ budget: { earned: 40 } });
  });

  it('is told as failed when the hold lapsed and nothing is left, and is audited', async () => {
    const tradeId = await oneBought('plain');
    await here.market.cutOff('question lost', () => here.market.act(tradeId, 'complete', 'b'));
    await here.market.lapse(tradeId);
    await here.bed.escrow('escrow_create', { org: here.market.name('b'), budget: 0 });
    await here.market.finish();
    expect((await here.market.state()).trades[tradeId]).toBe('completed failed');
    expect(await here.bed.platform.metrics.registry.metrics()).toContain('svc_market_unpaid_total 1');
    const entries = () =>
      client.$queryRawUnsafe<unknown[]>(
        `SELECT id FROM habitat.audit_entries WHERE event = 'trade:unpaid' AND data->>'tradeId' = $1`,
        tradeId,
      );
    await expect.poll(entries).toHaveLength(1);
    expect(await violations()).toEqual([]);
  });
});

describe('a contradiction is found', () => {
  it('between a listing and its trades', async () => {
    await oneBought('plain');
    await sql('UPDATE market.listings SET taken = 0 WHERE listing_id = $1', here.market.listingId(0));
    expect(await violations()).toEqual([{ invariant: 'supply', id: here.market.listingId(0) }]);
    await sql('UPDATE market.listings SET taken = 1 WHERE listing_id = $1', here.market.listingId(0));
  });

  it('between what a trade is and whether it was closed', async () => {
    const tradeId = await oneBought('plain');
    await sql(`UPDATE market.trades SET state = 'completed' WHERE trade_id = $1`, tradeId);
    expect(await violations()).toContainEqual({ invariant: 'closing', id: tradeId });
    await sql(`UPDATE market.trades SET state = 'pending' WHERE trade_id = $1`, tradeId);
  });

  it('between a trade and its hold', async () => {
    const tradeId = await oneBought('plain');
    await here.bed.ports.money.void({ holdId: `trade:${tradeId}`, reason: 'by mistake' });
    expect(await violations()).toEqual([{ invariant: 'hold', id: tradeId }]);
    await sql('DELETE FROM market.trades WHERE trade_id = $1', tradeId);
    await sql('UPDATE market.listings SET taken = 0 WHERE listing_id = $1', here.market.listingId(0));
  });

  it('told, counted and shown until it is mended', async () => {
    const tradeId = await oneBought('plain');
    const audit = createMarketAudit({ store: here.bed.base, money: here.bed.ports.money, platform: here.bed.platform });
    expect(await audit.run()).toEqual([]);
    await sql('UPDATE market.listings SET taken = 0 WHERE listing_id = $1', here.market.listingId(0));
    expect(await audit.run()).toEqual([{ invariant: 'supply', id: here.market.listingId(0) }]);
    expect(await audit.holds()).toBe(false);
    // Also a process that did not look itself knows of it.
    const elsewhere = createMarketAudit({
      store: here.bed.base,
      money: here.bed.ports.money,
      platform: here.bed.platform,
    });
    expect(await elsewhere.holds()).toBe(false);
    expect(await here.bed.platform.metrics.registry.metrics()).toContain('svc_market_contradictions 1');
    const entries = () =>
      client.$queryRawUnsafe<unknown[]>(
        `SELECT id FROM habitat.audit_entries WHERE event = 'market:contradicted' AND data::text LIKE $1`,
        `%${here.market.listingId(0)}%`,
      );
    await expect.poll(entries).toHaveLength(1);
    expect((await here.market.state()).trades[tradeId]).toBe('pending none');
    await sql('UPDATE market.listings SET taken = 1 WHERE listing_id = $1', here.market.listingId(0));
    expect([await audit.run(), await elsewhere.holds()]).toEqual([[], true]);
  });

  it('when a hold lives for which no trade stands', async () => {
    const tradeId = await oneBought('plain');
    await sql('DELETE FROM market.trades WHERE trade_id = $1', tradeId);
    await sql('UPDATE market.listings SET taken = 0 WHERE listing_id = $1', here.market.listingId(0));
    expect(await violations()).toEqual([{ invariant: 'orphan', id: `trade:${tradeId}` }]);
    await here.bed.ports.money.void({ holdId: `trade:${tradeId}`, reason: 'orphan' });
    expect(await violations()).toEqual([]);
  });
});
