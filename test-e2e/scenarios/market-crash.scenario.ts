/** kill -9 while trades are bought, delivered, settled, cancelled and swept: money follows each of them once. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { Caller } from '../client.ts';
import { withLedger } from '../instruments/ledger-rows.ts';
import { contradictions, tradesOf, wrongAtAnyMoment } from '../instruments/market-rows.ts';
import { withSettings } from '../instruments/node-settings.ts';
import { NO_ANSWER } from '../instruments/persistent-calls.ts';
import { keepTrading, type Trading } from '../instruments/persistent-trader.ts';
import type { Random } from '../instruments/random.ts';
import { TradeJournal } from '../instruments/trade-journal.ts';
import { createTraders, offer, purseOf, skillsOn } from '../instruments/traders.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { MARKET_KILL_ROUNDS } from '../settings.ts';
import { killed } from '../targets/service-process.ts';
import { breakable, logsOf, type OwnTarget, type TargetPlace } from '../targets/target.ts';
import { EACH_APART, newName, ownTarget, type Scenario, verifies } from '../verifies.ts';

const target = ownTarget({}, { apart: EACH_APART });
const TRADERS = 6;
const STEPS_BEFORE = 20;
/** A start of the whole node takes as long as many of one of its processes. */
const roundsOf = ({ place }: OwnTarget): number =>
  place.kind === 'cluster' ? MARKET_KILL_ROUNDS : Math.ceil(MARKET_KILL_ROUNDS / 4);
/** Every trade is over this long after it was left alone. */
const WINDOW_MS = 4000;
const SETTINGS = { 'market.skillsTradeTtlMs': WINDOW_MS, 'market.tradeWindowMs': WINDOW_MS };

interface Fault {
  readonly name: string;
  happen(system: OwnTarget): Promise<void>;
}

function faultsOf({ place }: OwnTarget, random: Random): Fault[] {
  if (place.kind === 'embedded') return [{ name: 'the node', happen: ({ everybody }) => killed(everybody) }];
  const one = (role: string): Fault => ({
    name: `a ${role}`,
    happen: (system) => killed([random.pick(system.of(role))]),
  });
  return [
    one('market'),
    one('escrow'),
    { name: 'every market and escrow', happen: (system) => killed([...system.of('market'), ...system.escrows]) },
    { name: 'NATS', happen: (system) => breakable(system, 'nats').restart(random.int(0, 300)) },
    { name: 'PostgreSQL', happen: (system) => breakable(system, 'postgres').restart(random.int(0, 300)) },
    one('market'),
    { name: 'every market', happen: (system) => killed(system.of('market')) },
    { name: 'every escrow', happen: ({ escrows }) => killed(escrows) },
  ];
}

/** What a market that starts finds wrong with these trades. */
function contradictionsTold({ place }: OwnTarget, { sellers, buyers, journal }: Trading): string[] {
  const names = [...sellers, ...buyers, ...journal.trades];
  return logsOf(place)
    .split('\n')
    .filter(
      (line) => line.includes('contradicts its listing or its hold') && names.some((name) => line.includes(name)),
    );
}

async function suffer(trading: Trading): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  const faults = faultsOf(target.get(), trading.random);
  const rounds = roundsOf(target.get());
  for (let round = 0; round < rounds; round += 1) {
    const before = trading.steps;
    await waitFor(() => trading.steps >= before + STEPS_BEFORE, { what: 'trades to be under way' });
    await delay(trading.random.int(0, 250));
    const fault = faults[round % faults.length] ?? trading.random.pick(faults);
    await fault.happen(target.get());
    counts[fault.name] = (counts[fault.name] ?? 0) + 1;
    for (const one of target.get().gateways) await one.ready();
    expect(await withLedger(target.get(), (pool) => wrongAtAnyMoment(pool, trading))).toEqual([]);
  }
  return counts;
}

verifies(
  'market:ledger:away',
  async ({ place }) => {
    const { seller, buyer } = await createTraders(place);
    const ask = { 'x-svc-timeout-ms': '3000' };
    const keyed = () => ({ headers: { ...ask, 'idempotency-key': newName('key') } });
    const [confirming, buying] = [keyed(), keyed()];
    const listingId = await offer(seller, '40', { supply: 2 });
    const { tradeId } = await buyer.caller.ok('market_trade', { listingId });
    const { escrows } = target.get();
    await Promise.all(escrows.map((one) => one.stop()));
    await buyer.caller.fails('E_OUTCOME_UNKNOWN', 'market_trade', { tradeId }, confirming);
    const shown = await buyer.caller.ok('market_getTrade', { tradeId });
    expect(shown).toMatchObject({ state: 'completed', settlement: 'pending' });
    const late = { tradeId, agentId: seller.id };
    await seller.caller.refused('E_TRADE_CLOSED', 'market_cancelTrade', late, { headers: ask });
    await buyer.caller.fails('E_OUTCOME_UNKNOWN', 'market_trade', { listingId }, buying);
    await Promise.all(escrows.map((one) => one.start()));
    await target.get().whole();
    const again = { ...confirming, gateway: 1 };
    const done = { tradeId, state: 'completed', settlement: 'done' };
    expect(await buyer.caller.ok('market_trade', { tradeId }, again)).toMatchObject(done);
    const bought = await buyer.caller.ok('market_trade', { listingId }, buying);
    expect(bought).toMatchObject({ state: 'pending', settlement: 'none' });
    expect(await buyer.caller.ok('market_trade', { listingId }, { ...buying, gateway: 1 })).toEqual(bought);
    expect(await purseOf(new Caller(place), buyer.id)).toMatchObject({ spent: 40, pending: 40, available: 920 });
    expect(await purseOf(new Caller(place), seller.id)).toMatchObject({ earned: 40 });
  },
  { on: target, only: 'cluster' },
);

const OPEN = ['opening', 'undoing', 'pending', 'pending_delivery', 'delivered'];

/** Until every trade is over and its money where it belongs; each trade with its state. */
async function atRest(trading: Trading, place: TargetPlace): Promise<ReadonlyMap<string, string>> {
  const operator = new Caller(place);
  let left: readonly string[] = [];
  let found: ReadonlyMap<string, string> = new Map();
  const isAtRest = async (): Promise<boolean> => {
    // The job comes once a minute, and each look stops an embedded node before it does.
    await operator.ok('market_skill_sweep');
    left = await withLedger(target.get(), async (pool) => {
      found = await tradesOf(pool, trading);
      const open = [...found].filter(([, state]) => OPEN.includes(state)).map(String);
      return [...(await contradictions(pool, trading)), ...open];
    });
    return left.length === 0;
  };
  // Embedded, each look stops the node: the first one is worth it when the last trade can be over.
  if (place.kind === 'embedded') await delay(WINDOW_MS);
  await waitFor(isAtRest, {
    everyMs: place.kind === 'embedded' ? 8000 : 500,
    what: () => `money to follow every trade: ${left.slice(0, 10).join('; ')}`,
    ignoreErrors: (error) => NO_ANSWER.some((code) => String(error).includes(code)),
  });
  return found;
}

async function tradeAndSuffer({ place, random }: Scenario): Promise<[Trading, Record<string, number>]> {
  const operator = new Caller(place);
  await skillsOn(operator);
  const buyers = Array.from({ length: TRADERS }, () => newName('buyer'));
  for (const agentId of buyers) await operator.ok('escrow_create', { agentId, budget: 1_000_000 });
  const trading: Trading = {
    operator: new Caller(place, { headers: { 'x-svc-timeout-ms': '3000' } }),
    random,
    journal: new TradeJournal(),
    sellers: [],
    buyers,
    problems: [],
    steps: 0,
    over: false,
  };
  const counts = await withSettings(operator, SETTINGS, async () => {
    const working = Promise.all(buyers.map((buyer) => keepTrading(trading, buyer)));
    const suffered = await suffer(trading).finally(() => {
      trading.over = true;
    });
    await working;
    await target.get().whole();
    return suffered;
  });
  return [trading, counts];
}

verifies(
  'market:killed',
  async (scenario) => {
    const { place, report } = scenario;
    const [trading, counts] = await tradeAndSuffer(scenario);
    expect(trading.problems).toEqual([]);
    const found = await atRest(trading, place);
    expect(trading.journal.wrong(found)).toEqual([]);
    expect(contradictionsTold(target.get(), trading)).toEqual([]);
    const ends = [...Map.groupBy(found.values(), (state) => state)].map(([state, { length }]) => `${length} ${state}`);
    const { acknowledged, unanswered } = trading.journal;
    report(
      `${JSON.stringify(counts)} killed: ${found.size} trades (${ends.join(', ')}), ${acknowledged} acknowledged steps, ` +
        `${unanswered} unanswered purchases; none lost, none twice`,
    );
  },
  { on: target, timeoutMs: 300_000 + MARKET_KILL_ROUNDS * 20_000 },
);
