/** What people do in the market, each compared with the reference at once: answers, rows, money, events. */
import { deepStrictEqual } from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { CallError } from '@svc/contract/codes.ts';
import type * as fc from 'fast-check';
import {
  type Act,
  type Agent,
  AGENTS,
  type ReferenceListing,
  type ReferenceMarket,
  type ReferenceTrade,
  WINDOW_MS,
} from './reference-market.ts';
import type { RealMarket } from './real-market.ts';

export type Command = fc.AsyncCommand<ReferenceMarket, RealMarket>;
type Step = (reference: ReferenceMarket, real: RealMarket) => Promise<void>;

function command(name: string, step: Step, check: (reference: ReferenceMarket) => boolean = () => true): Command {
  return {
    check,
    toString: () => name,
    async run(reference, real) {
      await step(reference, real);
      deepStrictEqual(await real.state(), stateOf(reference, real));
    },
  };
}

function stateOf(reference: ReferenceMarket, real: RealMarket): Awaited<ReturnType<RealMarket['state']>> {
  const { trades, listings, purses } = reference;
  const byTrade = (shown: (trade: ReferenceTrade) => string): Record<string, string> =>
    Object.fromEntries(trades.map((trade, at) => [real.tradeIds[at] ?? '', shown(trade)]));
  return {
    trades: byTrade(({ state, unpaid, events }) => {
      const isClosed = events.at(-1) === 'trade:settled';
      return `${state} ${unpaid ? 'failed' : isClosed ? 'done' : 'none'}`;
    }),
    taken: Object.fromEntries(listings.map(({ taken }, at) => [real.listingId(at), String(taken)])),
    purses: Object.fromEntries(
      AGENTS.map((agent) => {
        const { spent, pending, earned } = purses[agent];
        return [real.name(agent), `${spent} ${pending} ${earned}`];
      }),
    ),
    events: byTrade(({ events }) => events.join(' ')),
  };
}

/** The one that the number names among those there are. */
function pick<Item>(items: readonly Item[], at: number): Item {
  const item = items[at % items.length];
  if (item === undefined) throw new Error('nothing to pick from');
  return item;
}

const hasListings = ({ listings }: ReferenceMarket): boolean => listings.length > 0;
const hasTrades = ({ trades }: ReferenceMarket): boolean => trades.length > 0;

export const offering = (one: Omit<ReferenceListing, 'taken'>): Command =>
  command(`list ${JSON.stringify(one)}`, async (reference, real) => {
    await real.list(reference.listings.length, one);
    reference.list(one);
  });

export type Way = 'once' | 'twice with a key' | 'question lost' | 'answer lost';
interface Buying {
  readonly at: number;
  readonly buyer: Agent;
  readonly way: Way;
  /** A purchase that was cut off is sent again; otherwise it is given up. */
  readonly again: boolean;
}

/** Nobody buys from themselves: the gate before the store sees to that. */
export const buying = (wish: Buying): Command =>
  command(
    `buy ${JSON.stringify(wish)}`,
    async (reference, real) => {
      const at = wish.at % reference.listings.length;
      const listing = pick(reference.listings, at);
      const buyer = listing.seller === wish.buyer ? pick(AGENTS, AGENTS.indexOf(wish.buyer) + 1) : wish.buyer;
      const tradeId = real.nextTradeId();
      const isCut = wish.way === 'question lost' || wish.way === 'answer lost';
      const call = wish.way === 'once' ? real.call() : real.keyed('buy');
      const send = () => real.buy(tradeId, at, listing, buyer, call);
      if (isCut && !wish.again) {
        const said = await real.cutOff(wish.way, send);
        await real.finish();
        const before = reference.buy(at, buyer);
        if (before === null) giveUp(reference);
        deepStrictEqual(said, before === 'E_SOLD_OUT' ? before : 'E_OUTCOME_UNKNOWN');
        return;
      }
      const wanted = reference.buy(at, buyer);
      if (wanted === null) real.tradeIds.push(tradeId);
      if (isCut) await real.cutOff(wish.way, send);
      const times = wish.way === 'twice with a key' ? 2 : 1;
      const said = await Promise.all(Array.from({ length: times }, () => untilAnswered(send)));
      deepStrictEqual(said, Array<string | null>(times).fill(wanted));
      // A trade that made room may have been closed when the ledger could not be heard.
      if (isCut) await real.finish();
    },
    hasListings,
  );

/** One that meets its twin while that is undone comes again. */
async function untilAnswered(send: () => Promise<string | null>): Promise<string | null> {
  for (;;) {
    try {
      return await send();
    } catch (error) {
      if (!(error instanceof CallError) || error.code !== 'SERVICE_UNAVAILABLE') throw error;
      await setImmediate();
    }
  }
}

/** What a purchase changed that nobody went on with. */
function giveUp(reference: ReferenceMarket): void {
  const trade = reference.trades.pop();
  const listing = trade === undefined ? undefined : reference.listings[trade.listing];
  if (trade === undefined || listing === undefined) throw new Error('nothing was bought');
  listing.taken -= 1;
  reference.purses[trade.buyer].pending -= listing.price;
}

interface Acting {
  readonly trade: number;
  readonly act: Act;
  readonly agent: Agent;
  readonly way: Way;
  /** What was cut off is sent again under its key; otherwise the reconciler finishes it. */
  readonly again: boolean;
}

export const acting = (wish: Acting): Command =>
  command(
    `act ${JSON.stringify(wish)}`,
    async (reference, real) => {
      const trade = pick(reference.trades, wish.trade);
      const tradeId = pick(real.tradeIds, wish.trade);
      const before = trade.events.length;
      const wanted = reference.act(trade, wish.act, wish.agent);
      const call = wish.way === 'once' ? real.call() : real.keyed(wish.act);
      const send = () => real.act(tradeId, wish.act, wish.agent, call);
      if (wish.way === 'once') return deepStrictEqual(await send(), wanted);
      if (wish.way === 'twice with a key') {
        return deepStrictEqual(await Promise.all([send(), send()]), [wanted, wanted]);
      }
      const said = await real.cutOff(wish.way, send);
      const moved = trade.events.length > before && trade.events.at(-1) === 'trade:settled';
      // Whoever is refused is told so, also while the money of what time has closed cannot follow.
      deepStrictEqual(said, wanted === null && moved ? 'E_OUTCOME_UNKNOWN' : wanted);
      if (wish.again) deepStrictEqual(await send(), wanted);
      await real.finish();
    },
    hasTrades,
  );

/** Everybody at once, with the sweeps: one of them decides, and the reference learns which. */
export const racing = (at: number, crowd: readonly { act: Act; agent: Agent }[]): Command =>
  command(
    `race ${at} ${JSON.stringify(crowd)}`,
    async (reference, real) => {
      const trade = pick(reference.trades, at);
      const tradeId = pick(real.tradeIds, at);
      reference.lookAt(trade);
      const before = trade.state;
      const racers = crowd.map(({ act, agent }, n) =>
        n % 2 === 0 ? real.act(tradeId, act, agent) : real.actElsewhere(tradeId, act, agent),
      );
      const [said] = await Promise.all([Promise.all(racers), real.sweep()]);
      for (const one of reference.trades) reference.lookAt(one);
      const isOpen = ['pending', 'pending_delivery', 'delivered'].includes(before);
      const closers = crowd.filter((_, n) => said[n] === null).filter(({ act }) => act !== 'deliver');
      const delivered = crowd.filter((_, n) => said[n] === null).filter(({ act }) => act === 'deliver');
      deepStrictEqual(
        [closers.length <= 1, delivered.length <= 1, isOpen || said.every((one) => one !== null)],
        [true, true, true],
      );
      for (const { act, agent } of [...delivered, ...closers]) deepStrictEqual(reference.act(trade, act, agent), null);
      // Whoever may close what is open has closed it, unless it was delivered after that one was judged.
      const wouldClose = crowd.some(({ act, agent }) => act === 'cancel' && isOpen && isParty(reference, trade, agent));
      if (wouldClose && delivered.length === 0 && before !== 'delivered') deepStrictEqual(closers.length, 1);
    },
    hasTrades,
  );

function isParty({ listings }: ReferenceMarket, trade: ReferenceTrade, agent: Agent): boolean {
  return agent === trade.buyer || agent === listings[trade.listing]?.seller;
}

/** One listing, everybody's money: no more are sold than there are, and nobody pays more than they have. */
export const rushing = (at: number, crowd: number): Command =>
  command(
    `rush ${at} x ${crowd}`,
    async (reference, real) => {
      const place = at % reference.listings.length;
      const listing = pick(reference.listings, place);
      const buyers = Array.from({ length: crowd }, (_, n) =>
        pick(
          AGENTS.filter((one) => one !== listing.seller),
          n,
        ),
      );
      const ids = buyers.map(() => real.nextTradeId());
      const said = await Promise.all(buyers.map((buyer, n) => real.buy(ids[n] ?? '', place, listing, buyer)));
      for (const [n, buyer] of buyers.entries()) {
        if (said[n] !== null) continue;
        deepStrictEqual(reference.buy(place, buyer), null);
        real.tradeIds.push(ids[n] ?? '');
      }
      // Who was refused for money or supply was right: at the end there is none, or it was held by another for a moment.
      for (const [n, code] of said.entries()) {
        const buyer = buyers[n] ?? 'a';
        if (code === 'E_BUDGET') deepStrictEqual(reference.available(buyer) < crowd * listing.price, true);
        else if (code === 'E_SOLD_OUT') deepStrictEqual(listing.supply - listing.taken < crowd, true);
        else deepStrictEqual(code, null);
      }
    },
    hasListings,
  );

/** More want what costs nothing than there is of it: as many get it as there are, whoever comes with whom. */
export const crowding = (seller: Agent, supply: number): Command =>
  command(`${supply} for a crowd of ${seller}'s`, async (reference, real) => {
    const place = reference.listings.length;
    const one = { seller, supply, price: 0, kind: 'plain', unsettled: 'confirm' } as const;
    await real.list(place, one);
    reference.list(one);
    const buyer = pick(AGENTS, AGENTS.indexOf(seller) + 1);
    const ids = Array.from({ length: supply + 3 }, () => real.nextTradeId());
    const said = await Promise.all(ids.map((id) => real.buy(id, place, one, buyer)));
    const count = (code: string | null) => said.filter((one) => one === code).length;
    deepStrictEqual([count(null), count('E_SOLD_OUT')], [supply, said.length - supply]);
    for (const [n, id] of ids.entries()) {
      if (said[n] !== null) continue;
      deepStrictEqual(reference.buy(place, buyer), null);
      real.tradeIds.push(id);
    }
  });

/** Somebody acts when the time is over and nobody has looked yet. */
export const comingLate = (at: number, act: Act): Command =>
  command(
    `${act} ${at} too late`,
    async (reference, real) => {
      const open = reference.trades.filter(({ state }) => state.startsWith('pending') || state === 'delivered');
      const trade = pick(open.length > 0 ? open : reference.trades, at);
      const tradeId = pick(real.tradeIds, reference.trades.indexOf(trade));
      reference.now += 1.2 * WINDOW_MS;
      await real.pass(1.2 * WINDOW_MS);
      deepStrictEqual(await real.act(tradeId, act, trade.buyer), reference.act(trade, act, trade.buyer));
      await real.sweep();
      for (const one of reference.trades) reference.lookAt(one);
    },
    hasTrades,
  );

/** The ledger is away when a trade closes, and comes back when its hold has lapsed. */
export const lapsing = (at: number): Command =>
  command(
    `lapse ${at}`,
    async (reference, real) => {
      const trade = pick(reference.trades, at);
      const tradeId = pick(real.tradeIds, at);
      reference.lookAt(trade);
      await real.sweep();
      for (const one of reference.trades) reference.lookAt(one);
      const act = trade.state === 'delivered' ? 'confirm' : trade.state === 'pending' ? 'complete' : 'cancel';
      const isOpen = ['pending', 'pending_delivery', 'delivered'].includes(trade.state);
      const said = await real.cutOff('question lost', () => real.act(tradeId, act, trade.buyer));
      if (!isOpen) return deepStrictEqual(said, 'E_TRADE_CLOSED');
      deepStrictEqual(said, 'E_OUTCOME_UNKNOWN');
      await real.lapse(tradeId);
      await real.finish();
      reference.closeLate(trade, { confirm: 'confirmed', complete: 'completed', cancel: 'cancelled' }[act]);
    },
    hasTrades,
  );

/** Nobody acts on it any more, but that a skill is delivered late in its window: the buyer has a whole window then. */
export const leaving = (at: number): Command =>
  command(
    `leave ${at} alone`,
    async (reference, real) => {
      const trade = pick(reference.trades, at);
      const tradeId = pick(real.tradeIds, at);
      const { seller } = pick(reference.listings, trade.listing);
      const pass = async (share: number): Promise<void> => {
        reference.now += share * WINDOW_MS;
        await real.pass(share * WINDOW_MS);
        await real.sweep();
        for (const one of reference.trades) reference.lookAt(one);
        deepStrictEqual(await real.state(), stateOf(reference, real));
      };
      await pass(0.4);
      const wanted = reference.act(trade, 'deliver', seller);
      deepStrictEqual(await real.act(tradeId, 'deliver', seller), wanted);
      await pass(0.8);
      await pass(0.4);
    },
    hasTrades,
  );

export const sweeping = command('sweep', async (reference, real) => {
  await real.sweep();
  for (const trade of reference.trades) reference.lookAt(trade);
});

export const passing = (ms: number): Command =>
  command(`${ms} ms pass`, async (reference, real) => {
    reference.now += ms;
    await real.pass(ms);
  });
