/**
 * What happens to trades. Each method that changes something is one transaction; buying is two with the hold between them,
 * closing one with the capture or void after it. Whatever is cut off in between the reconciler finishes.
 */
import { CallError } from '@svc/contract/codes.ts';
import { allow, type Decision, deny, type Denial } from '@svc/contract/decision.ts';
import type { MARKET_EVENTS } from '@svc/contract/events.market.ts';
import { idempotencyId, type Once } from '@svc/runtime/idempotency.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import type { EventIn } from '@svc/runtime/outbox.ts';
import type { ChangeCall, ServiceStore, Unit } from '@svc/runtime/store.ts';
import { type Closing, dueClosing, restoresSupply, type Trade } from '../domain/trade.ts';
import {
  closeTrade,
  deliverTrade,
  type Delivery,
  insertTrade,
  lockBegun,
  lockTrade,
  moveTrade,
  type NewTrade,
  readTrade,
  readUndelivered,
  restoreSupply,
  takeSupply,
  type TradeRow,
  tryAgain,
} from './trade-rows.ts';
import type { HoldRefusal, Settling } from './settling.ts';

export type MarketEvent = EventIn<typeof MARKET_EVENTS>;
export type MarketStore = ServiceStore<MarketEvent>;
export type Purchase = Omit<NewTrade, 'openKey' | 'argsHash'>;

interface Named {
  readonly tradeId: string;
}

/** A state that is told of; what never began never was. */
type ToldState = Exclude<TradeRow['state'], 'opening' | 'undoing'>;

const TOLD = {
  pending: 'trade:opened',
  pending_delivery: 'trade:opened',
  delivered: 'trade:delivered',
  completed: 'trade:completed',
  confirmed: 'trade:confirmed',
  refuted: 'trade:refuted',
  cancelled: 'trade:cancelled',
  expired: 'trade:expired',
} as const satisfies Record<ToldState, keyof typeof MARKET_EVENTS>;

export function eventOf(trade: Trade, state: ToldState, name: MarketEvent['name'] = TOLD[state]): MarketEvent {
  const { tradeId, listingId, kind, seller, buyer } = trade;
  return { name, payload: { tradeId, listingId, kind, seller, buyer, state, parties: [buyer, seller] } };
}

export type TradeStore = ReturnType<typeof createTradeStore>;

export function createTradeStore(store: MarketStore, settling: Settling) {
  const { client, change, idempotency } = store;
  /** Time has decided something that nobody acted on yet. */
  const touch = async (tradeId: string): Promise<void> => {
    if (await closeDue(store, tradeId)) await settling.settle(tradeId);
  };
  return {
    read: (tradeId: string): Promise<TradeRow | null> => readTrade(client, tradeId),

    /** Resolves when the price is held and the trade stands; sent again with its key it goes on where it stopped. */
    async buy(call: ChangeCall, purchase: Purchase): Promise<Once<Named, HoldRefusal | 'E_SOLD_OUT'>> {
      const earlier = await idempotency.find<Named, HoldRefusal | 'E_SOLD_OUT'>(client, call.idempotency);
      if (earlier !== null) return { decision: earlier, replayed: true };
      const begun = await beginFreeing(store, call, purchase, touch);
      if (!begun.ok) return change(call, async () => begun);
      const { trade, triedAt } = begun.value;
      const { tradeId } = trade;
      const held = await settling.hold(trade, triedAt);
      if (!held.ok) {
        await settling.undo(tradeId);
        return change(call, async () => held);
      }
      const outcome = await change(call, (unit) => open(unit, tradeId));
      // A twin was refused first, and that is what its key stands for.
      if (!outcome.decision.ok) await settling.undo(tradeId);
      return outcome;
    },

    /** Closes by `decide`; resolves when money has followed. Throws E_OUTCOME_UNKNOWN when it is decided and has not. */
    async close<Code extends string>(call: ChangeCall, tradeId: string, decide: Decide<Closing, Code>) {
      const outcome = await change(call, (unit) => close(unit, tradeId, decide));
      // Also a repetition waits for the money of the first call.
      if (outcome.decision.ok) await settling.settle(tradeId);
      else await touch(tradeId);
      return outcome;
    },

    async deliver<Code extends string>(call: ChangeCall, tradeId: string, decide: Decide<Delivery, Code>) {
      const outcome = await change(call, (unit) => deliver(unit, tradeId, decide));
      if (!outcome.decision.ok) await touch(tradeId);
      return outcome;
    },

    touch,
  };
}

type Decide<Value, Code extends string> = (trade: TradeRow) => Decision<Value, Code>;

async function close<Code extends string>(
  unit: Unit<MarketEvent>,
  tradeId: string,
  decide: Decide<Closing, Code>,
): Promise<Decision<Named, Code | 'E_TRADE_ABSENT'>> {
  const trade = await lockTrade(unit.tx, tradeId);
  if (trade === null) return absent();
  const decision = decide(trade);
  if (!decision.ok) return decision;
  await applyClosing(unit, trade, decision.value);
  return allow({ tradeId });
}

async function deliver<Code extends string>(
  { tx, emit }: Unit<MarketEvent>,
  tradeId: string,
  decide: Decide<Delivery, Code>,
): Promise<Decision<Named, Code | 'E_TRADE_ABSENT'>> {
  const trade = await lockTrade(tx, tradeId);
  if (trade === null) return absent();
  const decision = decide(trade);
  if (!decision.ok) return decision;
  if (!(await deliverTrade(tx, tradeId, decision.value))) throw new Error('a locked trade changed');
  emit(eventOf(trade, 'delivered'));
  return allow({ tradeId });
}

const absent = (): Denial<'E_TRADE_ABSENT'> => deny('E_TRADE_ABSENT');

/** Where all is sold, what was not delivered in time may be sold again. */
async function beginFreeing(
  { client, change }: MarketStore,
  call: ChangeCall,
  purchase: Purchase,
  touch: (tradeId: string) => Promise<void>,
): Promise<Decision<Begun, 'E_SOLD_OUT'>> {
  const attempt = () => change({ ...call, idempotency: null }, (unit) => begin(unit, call, purchase));
  const { decision } = await attempt();
  if (decision.ok || purchase.listingId === null) return decision;
  const overdue = await readUndelivered(client, purchase.listingId);
  for (const tradeId of overdue) await touch(tradeId);
  return overdue.length === 0 ? decision : (await attempt()).decision;
}

interface Begun {
  readonly trade: NewTrade;
  readonly triedAt: number;
}

/** Supply and the row of the trade, or the row that an earlier attempt left. */
async function begin(
  { tx }: Pick<Unit, 'tx'>,
  { idempotency }: ChangeCall,
  purchase: Purchase,
): Promise<Decision<Begun, 'E_SOLD_OUT'>> {
  const openKey = idempotency === null ? null : idempotencyId(idempotency);
  const trade = { ...purchase, openKey, argsHash: idempotency?.argsHash ?? null };
  // The key comes first: a twin waits here until the other's supply is taken, and is not sold out by it.
  const triedAt = await insertTrade(tx, trade);
  if (triedAt === null) return goOn(tx, trade);
  const isTaken = purchase.listingId === null || (await takeSupply(tx, purchase.listingId));
  return isTaken ? allow({ trade, triedAt }) : deny('E_SOLD_OUT');
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

/** The hold is there: the trade stands, unless it is being undone already. */
async function open({ tx, emit }: Unit<MarketEvent>, tradeId: string): Promise<Decision<Named, never>> {
  const trade = await lockTrade(tx, tradeId);
  const state = trade?.kind === 'skill' ? 'pending_delivery' : 'pending';
  if (trade === null || trade.state === 'undoing') {
    throw new CallError('SERVICE_UNAVAILABLE', 'It took too long and was undone.', { retryAfterMs: 100 });
  }
  // A twin under the same key was faster.
  if (trade.state !== 'opening') return allow({ tradeId });
  if (!(await moveTrade(tx, tradeId, 'opening', state))) throw new Error('a locked trade changed');
  emit(eventOf(trade, state));
  return allow({ tradeId });
}

async function applyClosing({ tx, emit }: Unit<MarketEvent>, trade: TradeRow, closing: Closing): Promise<void> {
  if (!(await closeTrade(tx, trade, closing))) throw new Error('a locked trade changed');
  if (restoresSupply(closing.state)) await restoreSupply(tx, trade.listingId);
  emit(eventOf(trade, closing.state));
}

/** For whoever looks, as of the database's clock. */
const NOBODY: ChangeCall = {
  caller: { subject: {}, operator: false, deadlineAt: Number.MAX_SAFE_INTEGER },
  idempotency: null,
};

/** Whether time closed it now. */
export async function closeDue({ change }: Pick<MarketStore, 'change'>, tradeId: string): Promise<boolean> {
  const { decision } = await change(NOBODY, async (unit) => {
    const trade = await lockTrade(unit.tx, tradeId);
    const closing = trade === null ? null : dueClosing(trade, trade.now);
    if (trade !== null && closing !== null) await applyClosing(unit, trade, closing);
    return allow(closing !== null);
  });
  return decision.ok && decision.value;
}
