/**
 * Buying: two transactions with the hold between them. Whatever is cut off in between the reconciler finishes.
 */
import { CallError, type RefusalCode } from '@svc/contract/codes.ts';
import { allow, type Decision, deny, type Denial } from '@svc/contract/decision.ts';
import type { Clock } from '@svc/runtime/clock.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import { createGroupedChange } from '@svc/runtime/grouped-change.ts';
import { idempotencyId, type Once } from '@svc/runtime/idempotency.ts';
import type { ChangeCall, Unit } from '@svc/runtime/store.ts';
import { OPEN_AT_ONCE } from '../domain/offer.ts';
import type { Trade } from '../domain/trade.ts';
import { takeBid } from './offer-rows.ts';
import type { HoldRefusal, Settling } from './settling.ts';
import { eventOf, inWorkspace, type MarketEvent, type MarketStore } from './trade-events.ts';
import type { Moved, MoveTrade, Rejected } from './trade-moves.ts';
import {
  beginTrades,
  countOpenOfFamilies,
  insertTrade,
  lockBegun,
  type NewTrade,
  readBegun,
  readTrade,
  readUndelivered,
  type Sold,
  takeSupply,
  type TradeRow,
  tryAgain,
} from './trade-rows.ts';
import type { TradeSteps } from './trade-steps.ts';

export type Purchase = Omit<NewTrade, 'openKey' | 'argsHash'>;

/** A trade as it was when it began. */
export interface Opened {
  readonly tradeId: string;
  /** Milliseconds since the epoch. */
  readonly dueAt: number;
}

type BuyRefusal = HoldRefusal | 'E_QUOTA' | 'E_SOLD_OUT';
/** How often a bid may be lost to somebody else and be open again. */
const BID_ATTEMPTS = 5;

export interface BuyingParts {
  readonly store: MarketStore;
  readonly move: MoveTrade;
  readonly steps: Pick<TradeSteps, 'open'>;
  readonly settling: Settling;
  readonly clock: Clock;
  /** Closes what time has closed; its money may follow later. */
  touch(tradeId: string): Promise<void>;
}

/** `trade` is the row that now stands; null = read it. */
type Bought<Code extends string> = Once<Opened, Code | BuyRefusal> & { readonly trade: TradeRow | null };

export function createBuying(parts: BuyingParts) {
  const { store, move, steps, settling } = parts;
  const { client, change, idempotency } = store;
  const begin = createBeginning(parts);
  return {
    /**
     * Resolves when the price is held and the trade stands; sent again with its key it goes on where it stopped. What is
     * bought is decided once for each key.
     */
    async buy<Code extends RefusalCode>(
      call: ChangeCall,
      decide: () => Promise<Decision<Purchase, Code>>,
    ): Promise<Bought<Code>> {
      const earlier = await idempotency.find<Opened, Code | BuyRefusal>(client, call.idempotency);
      if (earlier !== null) return { decision: earlier, replayed: true, trade: null };
      const refused = async (denial: Denial<Code | BuyRefusal>): Promise<Bought<Code>> => ({
        ...(call.idempotency === null
          ? { decision: denial, replayed: false }
          : await change<Opened, Code | BuyRefusal>(call, async () => denial)),
        trade: null,
      });
      const begun = await decideAndBegin(parts, call, decide, begin);
      if (!begun.ok) return refused(begun);
      const { trade, triedAt } = begun.value;
      const { tradeId } = trade;
      const held = await settling.hold(trade, triedAt);
      if (!held.ok) {
        await settling.undo(tradeId);
        // Whoever accepts a bid is told that it cannot be paid, and nothing of the purse of its bidder.
        return refused(trade.bidId === null ? held : deny(held.code));
      }
      const opened = call.idempotency === null ? await steps.open(call, tradeId) : null;
      if (opened !== null) return { decision: allow(answerOf(opened)), replayed: false, trade: opened };
      const outcome = await move<Opened, Code | BuyRefusal>(call, { tradeId, decide: decideOpen, absent: undone });
      // A twin was refused first, and that is what its key stands for.
      if (!outcome.decision.ok) await settling.undo(tradeId);
      return outcome as Bought<Code>;
    },

    /** What came of `buy`, whatever became of it since: a repetition is answered like the first call. */
    async opened({ tradeId, dueAt }: Opened, known: TradeRow | null): Promise<TradeRow> {
      const row = known ?? (await readTrade(client, tradeId));
      if (row === null) throw new Error('a trade was opened and has no row');
      const state = openStateOf(row);
      return {
        ...row,
        state,
        dueAt,
        settlement: 'none',
        version: 1,
        deliveredAt: null,
        closedAt: null,
        closedBy: null,
        payloadHash: null,
      };
    },
  };
}

function openStateOf({ kind }: Pick<Trade, 'kind'>): 'pending' | 'pending_delivery' {
  return kind === 'skill' ? 'pending_delivery' : 'pending';
}

type Begin = (call: ChangeCall, purchase: Purchase) => Promise<Decision<Begun, BeginRefusal>>;

/** What is bought of a listing without a key goes together with what others buy; a key and a bid are met one by one. */
function createBeginning({ store: { change }, clock }: BuyingParts): Begin {
  const together = createGroupedChange<Unit<MarketEvent>, NewTrade, Begun, BeginRefusal>(change, clock, {
    laneOf: () => 'purchases',
    run: beginAll,
    readsFirst: true,
  });
  return async (call, purchase) => {
    if (call.idempotency === null && purchase.bidId === null && purchase.listingId !== null) {
      return (await together(call, { ...purchase, openKey: null, argsHash: null })).decision;
    }
    return (await change({ ...call, idempotency: null }, (unit) => begin(unit, call, purchase))).decision;
  };
}

/** A bid that somebody else has taken meanwhile is decided on again. */
async function decideAndBegin<Code extends RefusalCode>(
  parts: BuyingParts,
  call: ChangeCall,
  decide: () => Promise<Decision<Purchase, Code>>,
  attempt: Begin,
): Promise<Decision<Begun, Code | 'E_QUOTA' | 'E_SOLD_OUT'>> {
  const { idempotency } = call;
  const before = idempotency === null ? null : await readBegun(parts.store.client, idempotencyId(idempotency));
  for (let turn = 1; turn <= BID_ATTEMPTS; turn += 1) {
    const purchase = before === null ? await decide() : allow(before);
    if (!purchase.ok) return purchase;
    const begun = await beginFreeing(parts, purchase.value, () => attempt(call, purchase.value));
    if (begun.ok || begun.code !== 'E_BID_CLOSED') return begun as Decision<Begun, 'E_QUOTA' | 'E_SOLD_OUT'>;
  }
  throw new CallError('E_BUSY');
}

/** Where all is sold, what was not delivered in time may be sold again. */
async function beginFreeing(
  { store: { client }, touch }: BuyingParts,
  { listingId }: Purchase,
  attempt: () => ReturnType<Begin>,
): ReturnType<Begin> {
  const decision = await attempt();
  if (decision.ok || decision.code !== 'E_SOLD_OUT' || listingId === null) return decision;
  const overdue = await readUndelivered(client, listingId);
  await Promise.all(overdue.map(touch));
  return overdue.length === 0 ? decision : attempt();
}

type BeginRefusal = 'E_QUOTA' | 'E_SOLD_OUT' | 'E_BID_CLOSED';

interface Begun {
  readonly trade: NewTrade;
  readonly triedAt: number;
}

/** Supply and rows of many trades. */
async function beginAll(
  { tx, emit }: Unit<MarketEvent>,
  trades: readonly NewTrade[],
): Promise<Decision<Begun, BeginRefusal>[]> {
  const within = await withinQuota(tx, trades);
  const granted = await beginTrades(tx, [...within]);
  const triedAt = new Map(granted.map(({ tradeId, triedAt: at }) => [tradeId, at]));
  const emptied = new Map(granted.filter(({ left }) => left === 0).map((sold) => [sold.listingId, sold]));
  for (const [listingId, sold] of emptied) emit(soldOut(listingId, sold));
  return trades.map((trade) => {
    if (!within.has(trade)) return overQuota();
    const at = triedAt.get(trade.tradeId);
    return at === undefined ? deny('E_SOLD_OUT') : allow({ trade, triedAt: at });
  });
}

/** Those that their families may have open beside what they have; what other processes begin at this moment is not seen. */
async function withinQuota(tx: SqlClient, trades: readonly NewTrade[]): Promise<ReadonlySet<NewTrade>> {
  const open = await countOpenOfFamilies(tx, [...new Set(trades.map(({ buyerFamily }) => buyerFamily))]);
  const within = trades.filter(({ buyerFamily }) => {
    const before = open.get(buyerFamily) ?? 0;
    open.set(buyerFamily, before + 1);
    return before < OPEN_AT_ONCE;
  });
  return new Set(within);
}

function overQuota(): Denial<'E_QUOTA'> {
  return deny('E_QUOTA', { limit: OPEN_AT_ONCE });
}

/** Supply and the row of the trade, or the row that an earlier attempt left. */
async function begin(
  unit: Pick<Unit<MarketEvent>, 'tx' | 'emit'>,
  { idempotency }: ChangeCall,
  purchase: Purchase,
): Promise<Decision<Begun, BeginRefusal>> {
  const { tx } = unit;
  const openKey = idempotency === null ? null : idempotencyId(idempotency);
  const trade = { ...purchase, openKey, argsHash: idempotency?.argsHash ?? null };
  // The key comes first: a twin waits here until the other's supply is taken, and is not sold out by it.
  const triedAt = await insertTrade(tx, trade);
  if (triedAt === null) return goOn(tx, trade);
  const open = await countOpenOfFamilies(tx, [trade.buyerFamily]);
  if ((open.get(trade.buyerFamily) ?? 0) > OPEN_AT_ONCE) return overQuota();
  const denial = await takeOffer(unit, purchase);
  return denial ?? allow({ trade, triedAt });
}

/** One more of the listing, and the bid; what is denied leaves neither taken. */
async function takeOffer(
  { tx, emit }: Pick<Unit<MarketEvent>, 'tx' | 'emit'>,
  { listingId, bidId, tradeId }: Purchase,
): Promise<Denial<BeginRefusal> | null> {
  const sold = listingId === null ? null : await takeSupply(tx, listingId);
  if (listingId !== null && sold === null) return deny('E_SOLD_OUT');
  if (bidId !== null && !(await takeBid(tx, bidId, tradeId))) return deny('E_BID_CLOSED');
  if (listingId !== null && sold?.left === 0) emit(soldOut(listingId, sold));
  return null;
}

/** With what an earlier attempt under the key has begun. */
async function goOn(tx: SqlClient, { openKey, argsHash }: NewTrade): Promise<Decision<Begun, never>> {
  const begun = await lockBegun(tx, openKey ?? '');
  if (begun !== null && begun.argsHash !== argsHash) throw new CallError('IDEMPOTENCY_KEY_REUSED');
  if (begun === null || begun.state === 'undoing') {
    throw new CallError('SERVICE_UNAVAILABLE', undefined, { retryAfterMs: 100 });
  }
  return allow({ trade: begun, triedAt: await tryAgain(tx, begun.tradeId) });
}

function soldOut(listingId: string, { type: kind, seller, scope }: Sold): MarketEvent {
  return { name: 'listing:sold-out', ...inWorkspace(scope), payload: { listingId, kind, seller } };
}

function answerOf({ tradeId, createdAt, windowMs }: TradeRow): Opened {
  return { tradeId, dueAt: createdAt + windowMs };
}

/** The hold is there: the trade stands, unless it is being undone already. */
function decideOpen(trade: TradeRow): Decision<Moved<Opened>, never> | Rejected {
  const { state } = trade;
  if (state === 'undoing') return { ok: 'rejected', error: undone() };
  const answer = answerOf(trade);
  // A twin under the same key was faster.
  if (state !== 'opening') return allow({ answer, to: null });
  const opened = openStateOf(trade);
  return allow({ answer, to: { state: opened }, tells: [eventOf(trade, opened)] });
}

function undone(): CallError {
  return new CallError('SERVICE_UNAVAILABLE', 'It took too long and was undone.', { retryAfterMs: 100 });
}
