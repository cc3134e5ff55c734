/** What a trade sends to the database and over the bus, counted: a time would say more of the machine. */
import type { Fields } from '@svc/testing/service-bed.ts';
import { type Traffic, watchTraffic } from '@svc/testing/traffic.ts';
import { beforeAll, expect, test } from 'vitest';
import { serveMarket } from '../../testing/served-market.ts';

const { bed, database, call: callMarket } = await serveMarket();
const CROWD = 40;
const SELLERS = 8;
let counted: ReturnType<typeof watchTraffic>;
const listings: string[] = [];

beforeAll(async () => {
  counted = watchTraffic(bed.platform);
  await call('market_skill_gate', { value: true });
  for (let n = 0; n < SELLERS; n += 1) {
    const context = { seller: `seller${n}`, supply: 10 * CROWD };
    listings.push(String((await call('market_skill_list', { title: `Skill ${n}`, price: '0.01', context }))['id']));
  }
  for (let n = 0; n < CROWD; n += 1) await bed.escrow('escrow_create', { org: `buyer${n}`, budget: 100 });
  // Whatever is read once is read before anything is counted.
  for (let turn = 0; turn < 2; turn += 1) await trades(CROWD, false);
});

let keys = 0;
async function call(tool: string, args: Fields, keyed = false): Promise<Fields> {
  keys += 1;
  return callMarket(tool, args, keyed ? { idempotencyKey: `k${keys}` } : {});
}

/** From the purchase to the money of its seller. */
function trades(count: number, keyed: boolean): Promise<unknown> {
  const one = async (n: number): Promise<void> => {
    const buyer = `buyer${n}`;
    const bought = { listingId: listings[n % SELLERS] ?? '', buyerId: buyer };
    const { tradeId, seller } = await call('market_skill_buy', bought, keyed);
    await call('market_skill_deliver', { tradeId, payload: 'what was bought', agentId: seller }, keyed);
    const settled = await call('market_skill_settle', { tradeId, decision: 'confirm', agentId: buyer }, keyed);
    expect(settled).toMatchObject({ state: 'confirmed', debited: 0.01 });
  };
  return Promise.all(Array.from({ length: count }, (_, n) => one(n)));
}

/** What time brings round, whoever trades: events are numbered and sent, what is owed to the audit too. */
const UPKEEP = /outbox_head|event_batches|audit_|trust_|habitat\./;
const MARKET = /\bmarket"?\./;
const LEDGER = /\bescrow"?\./;

/** Of the transactions that change the tables of a service. */
function costIn(schema: RegExp, { transactions }: Traffic) {
  const own = transactions.filter(({ statements }) =>
    statements.some((text) => schema.test(text) && !UPKEEP.test(text)),
  );
  return {
    transactions: own.length,
    statements: own.reduce((sum, { statements }) => sum + statements.length, 0),
    waits: own.reduce((sum, { waits }) => sum + waits, 0),
  };
}

/** Single statements: a listing is read, an outcome and a trade of a key are looked for, the registry has heard of a trade. */
const ASIDE = [/WITH overdue/, /^SELECT.*"market"\.idempotency/s, /open_key = ANY/, /NOT reported ORDER/];
const asideOf = ({ statements }: Traffic): number[] =>
  ASIDE.map((pattern) => statements.filter((text) => pattern.test(text)).length);

test('a trade of one alone', async () => {
  const traffic = await counted(() => trades(1, false));
  // It begins, stands, is delivered, is closed and is settled: each with an event but the first.
  expect(costIn(MARKET, traffic)).toEqual({ transactions: 5, statements: 22, waits: 12 });
  expect(costIn(LEDGER, traffic)).toEqual({ transactions: 2, statements: 15, waits: 10 });
  expect(asideOf(traffic).slice(0, 3)).toEqual([1, 0, 0]);
});

test('with keys it takes as many transactions', async () => {
  const traffic = await counted(() => trades(1, true));
  expect(costIn(MARKET, traffic)).toEqual({ transactions: 5, statements: 34, waits: 17 });
  expect(asideOf(traffic).slice(0, 3)).toEqual([1, 1, 1]);
});

test.each([false, true])('a crowd shares what it sends (with keys: %s)', async (keyed) => {
  const traffic = await counted(() => trades(CROWD, keyed));
  const { transactions, waits } = costIn(MARKET, traffic);
  // Who comes a turn of the loop later is in the next one.
  expect(transactions).toBeLessThanOrEqual(5 * 3);
  expect(waits).toBeLessThanOrEqual(17 * 3);
  expect(costIn(LEDGER, traffic).transactions).toBeLessThanOrEqual(2 * 3);
  expect(Math.max(...asideOf(traffic))).toBeLessThanOrEqual(3);
  // Three calls of each, and what the market asks for all of them together.
  expect(traffic.asked.length).toBeLessThanOrEqual(3 * CROWD + 20);
});

test('what a seller is worth takes one question and one statement, however many bought from it', async () => {
  const families = 1200;
  await database.pool.query(
    `INSERT INTO market.trades (trade_id, kind, seller, buyer, buyer_family, amount, operator, state, settlement, created_at,
       due_at, window_ms, unsettled, tried_at, closed_at, reported)
     SELECT 'past' || n, 'skill', 'seller0', 'f' || n, 'f' || n, 100000000, true, 'confirmed', 'done', now(), now(), 1000,
       'confirm', now(), now(), true FROM generate_series(1, $1::int) n`,
    [families],
  );
  let worth: Fields = {};
  const { statements, asked } = await counted(async () => {
    worth = (await call('market_skill_status', { listingId: listings[0] }))['reputation'] as Fields;
  });
  expect(Number(worth['counterparties'])).toBeGreaterThan(families);
  expect(statements.filter((text) => text.includes('LEFT JOIN habitat.trust'))).toHaveLength(1);
  expect(asked.filter((subject) => subject.endsWith('.scores'))).toHaveLength(1);
  await database.pool.query("DELETE FROM market.trades WHERE trade_id LIKE 'past%'");
});
