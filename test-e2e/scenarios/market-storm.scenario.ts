/** Many act on the same trades at the moment at which time decides them. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { Caller, codeOf, type Fields } from '../client.ts';
import type { EventSocket } from '../instruments/event-socket.ts';
import { withLedger } from '../instruments/ledger-rows.ts';
import { contradictions } from '../instruments/market-rows.ts';
import { withSettings } from '../instruments/node-settings.ts';
import { buySkill, createTraders, offer, offerSkill, purseOf, skillsOn, type Traders } from '../instruments/traders.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { STORM_RACERS, STORM_TRADES } from '../settings.ts';
import { ownTarget, type Scenario, verifies } from '../verifies.ts';

const target = ownTarget();
/** All of them begin before the first one ends. */
const WINDOW_MS = 3000 + 200 * STORM_TRADES;
const PRICE = 7;
/**
 * Before the time of a trade runs out, in ms. Of few trades some are raced for earlier: on a slow machine who is sent at
 * the last moment may come after it.
 */
const LEADS = STORM_TRADES >= 40 ? [1] : [1, 100, 800, 2500];
/** What was decided is told another time. */
const UNTOLD = ['E_OUTCOME_UNKNOWN', 'TIMEOUT', 'E_BUSY'];

interface Racer {
  readonly tool: string;
  /** What the trade is when this one wins; null = it wins nothing. */
  readonly wins: string | null;
  act(tradeId: string, gateway: number): Promise<string | null>;
}

interface Storm {
  readonly kind: 'plain' | 'skill';
  readonly setting: string;
  /** Of one trade, with the time at which it ends by itself. */
  begin(traders: Traders, listingId: string): Promise<{ tradeId: string; dueAt: number }>;
  racers(traders: Traders, operator: Caller): readonly Racer[];
}

const racer = (
  caller: Caller,
  wins: string | null,
  tool: string,
  argsOf: (tradeId: string) => Fields = (tradeId) => ({ tradeId }),
): Racer => ({
  tool,
  wins,
  act: async (tradeId, gateway) => codeOf(await caller.call(tool, argsOf(tradeId), { gateway })),
});

const cancelBy = ({ caller, id: agentId }: Traders['buyer']): Racer =>
  racer(caller, 'cancelled', 'market_cancelTrade', (tradeId) => ({ tradeId, agentId }));

const STORMS: readonly Storm[] = [
  {
    kind: 'skill',
    setting: 'market.skillsTradeTtlMs',
    async begin({ seller, buyer }, listingId) {
      const tradeId = await buySkill(buyer, listingId);
      const { settleBy } = await seller.caller.ok('market_skill_deliver', { tradeId, payload: { of: tradeId } });
      return { tradeId, dueAt: Number(settleBy) };
    },
    racers: ({ buyer }, operator) => [
      racer(buyer.caller, 'confirmed', 'market_skill_settle', (tradeId) => ({ tradeId, decision: 'confirm' })),
      racer(buyer.caller, 'refuted', 'market_skill_settle', (tradeId) => ({ tradeId, decision: 'refute' })),
      racer(operator, null, 'market_skill_sweep', () => ({})),
      cancelBy(buyer),
    ],
  },
  {
    kind: 'plain',
    setting: 'market.tradeWindowMs',
    async begin({ buyer }, listingId) {
      const { tradeId, completesAt } = await buyer.caller.ok('market_trade', { listingId });
      return { tradeId: String(tradeId), dueAt: Number(completesAt) };
    },
    racers: ({ buyer, seller }) => [
      racer(buyer.caller, 'completed', 'market_trade'),
      racer(seller.caller, null, 'market_getTrade'),
      cancelBy(buyer),
      cancelBy(seller),
    ],
  },
];

/** What the winners did to it; `untold` = some of them may not have heard that they won. */
async function race(
  { tradeId, dueAt }: { tradeId: string; dueAt: number },
  racers: readonly Racer[],
  lead: number,
): Promise<{ tradeId: string; won: string[]; untold: boolean }> {
  await delay(Math.max(0, dueAt - lead - Date.now()));
  const said = await Promise.all(
    Array.from({ length: STORM_RACERS }, (_, at) => at).flatMap((at) =>
      racers.map(async ({ wins, act }) => ({ wins, code: await act(tradeId, at) })),
    ),
  );
  const won = said.flatMap(({ wins, code }) => (code === null && wins !== null ? [wins] : []));
  return { tradeId, won, untold: said.some(({ code }) => UNTOLD.includes(code ?? '')) };
}

async function weather(storm: Storm, { place, caller, socket, report }: Scenario): Promise<void> {
  const operator = new Caller(place);
  await skillsOn(operator);
  const ears = await socket();
  const traders = await createTraders(place);
  const { seller, buyer } = traders;
  const supply = { supply: STORM_TRADES };
  const listingId =
    storm.kind === 'skill' ? await offerSkill(seller, `${PRICE}`, supply) : await offer(seller, `${PRICE}`, supply);
  const racers = storm.racers(traders, caller());
  const wealth = async () =>
    (await purseOf(operator, buyer.id)).available + (await purseOf(operator, seller.id)).available;
  const before = await wealth();
  const outcomes = await withSettings(operator, { [storm.setting]: WINDOW_MS }, async () => {
    const begun = await Promise.all(Array.from({ length: STORM_TRADES }, () => storm.begin(traders, listingId)));
    return Promise.all(begun.map((trade, index) => race(trade, racers, LEADS[index % LEADS.length] ?? 1)));
  });
  const ends: string[] = [];
  for (const { tradeId, won, untold } of outcomes) {
    const { state, closedBy } = await settled(buyer.caller, tradeId);
    ends.push(`${String(state)} by ${String(closedBy)}`);
    expect(won.length, `winners of ${tradeId}`).toBeLessThanOrEqual(1);
    if (won.length === 1) expect(won).toEqual([state]);
    else if (!untold) expect(closedBy).toBe(storm.kind === 'skill' ? 'timeout' : 'timer');
  }
  await heardOnce(
    ears,
    outcomes.map(({ tradeId }) => tradeId),
  );
  const paid = ends.filter((end) => /^(completed|confirmed)/.test(end)).length;
  expect(await purseOf(operator, buyer.id)).toMatchObject({ spent: PRICE * paid, pending: 0 });
  expect(await purseOf(operator, seller.id)).toMatchObject({ earned: PRICE * paid });
  expect(await wealth()).toBe(before);
  const traded = { sellers: [seller.id], buyers: [buyer.id] };
  expect(await withLedger(target.get(), (pool) => contradictions(pool, traded))).toEqual([]);
  const counted = [...Map.groupBy(ends, (end) => end)].map(([end, { length }]) => `${length} ${end}`).sort();
  const each = racers.map(({ tool }) => tool).join(', ');
  report(
    `${STORM_TRADES} trades, ${STORM_RACERS} each of ${each}: ${counted.join(', ')}; each paid or given back once`,
  );
}

function settled(caller: Caller, tradeId: string): Promise<Fields> {
  return waitFor(
    async () => {
      const shown = await caller.ok('market_getTrade', { tradeId });
      return shown['settlement'] === 'done' ? shown : null;
    },
    { what: 'the money of a trade' },
  );
}

const CLOSINGS = ['completed', 'confirmed', 'refuted', 'cancelled', 'expired'].map((state) => `trade:${state}`);

async function heardOnce({ heard }: EventSocket, tradeIds: readonly string[]): Promise<void> {
  const told = (tradeId: string) => heard.filter((event) => event['tradeId'] === tradeId).map(({ name }) => name);
  await waitFor(() => tradeIds.every((id) => told(id).includes('trade:settled')), { what: 'how the trades ended' });
  for (const id of tradeIds) {
    const names = told(id);
    expect(names.filter((name) => CLOSINGS.includes(name))).toHaveLength(1);
    expect(names.filter((name) => name === 'trade:settled')).toHaveLength(1);
  }
}

for (const storm of STORMS) {
  verifies(
    storm.kind === 'skill' ? 'market:skill:storm' : 'market:trade:storm',
    (scenario) => weather(storm, scenario),
    { on: target, timeoutMs: 300_000 + STORM_TRADES * STORM_RACERS * 100 },
  );
}
