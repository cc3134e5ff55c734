/**
 * What happens to trades. Each method that changes something is one transaction; buying is two with the hold between them,
 * closing one with the capture or void after it. Whatever is cut off in between the reconciler finishes.
 */
import { allow, type Decision, deny, type Denial } from '@svc/contract/decision.ts';
import type { ChangeCall, Unit } from '@svc/runtime/store.ts';
import type { View } from '../access.ts';
import { type Closing, dueClosing, restoresSupply } from '../domain/trade.ts';
import { createBuying } from './buying.ts';
import type { Settling } from './settling.ts';
import { eventOf, type MarketEvent, type MarketStore } from './trade-events.ts';
import {
  closeTrade,
  countOpen,
  deliverTrade,
  type Delivery,
  lockTrade,
  readPayload,
  readSold,
  readTrade,
  restoreSupply,
  type TradeRow,
} from './trade-rows.ts';

export interface Delivered extends Named {
  readonly payloadSha256: string;
  readonly bytes: number;
  /** Milliseconds since the epoch. */
  readonly settleBy: number;
}

interface Named {
  readonly tradeId: string;
}

export type TradeStore = ReturnType<typeof createTradeStore>;

export function createTradeStore(store: MarketStore, settling: Settling) {
  const { client, change } = store;
  /** Time has decided something that nobody acted on yet. */
  const touch = async (tradeId: string): Promise<void> => {
    if ((await closeDue(store, tradeId)) !== null) await settling.settle(tradeId);
  };
  return {
    ...createBuying(store, settling, touch),

    read: (tradeId: string): Promise<TradeRow | null> => readTrade(client, tradeId),

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

    /** Of a trade; undefined = nothing was delivered. */
    async payload(tradeId: string): Promise<unknown> {
      const text = await readPayload(client, tradeId);
      return text === null ? undefined : JSON.parse(text);
    },

    soldBy: (view: View, seller: string) => readSold(client, view, seller),
    countOpen: (listingId: string) => countOpen(client, listingId),
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
): Promise<Decision<Delivered, Code | 'E_TRADE_ABSENT'>> {
  const trade = await lockTrade(tx, tradeId);
  if (trade === null) return absent();
  const decision = decide(trade);
  if (!decision.ok) return decision;
  if (!(await deliverTrade(tx, tradeId, decision.value))) throw new Error('a locked trade changed');
  emit(eventOf(trade, 'delivered'));
  const { hash: payloadSha256, text, settleBy } = decision.value;
  return allow({ tradeId, payloadSha256, bytes: Buffer.byteLength(text), settleBy });
}

const absent = (): Denial<'E_TRADE_ABSENT'> => deny('E_TRADE_ABSENT');

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

/** Closes what time has closed; the trade as it was before, null when there was nothing to do. */
export async function closeDue({ change }: Pick<MarketStore, 'change'>, tradeId: string): Promise<TradeRow | null> {
  const { decision } = await change(NOBODY, async (unit) => {
    const trade = await lockTrade(unit.tx, tradeId);
    const closing = trade === null ? null : dueClosing(trade, trade.now);
    if (trade === null || closing === null) return allow(null);
    await applyClosing(unit, trade, closing);
    return allow(trade);
  });
  return decision.ok ? decision.value : null;
}
