/**
 * What happens to trades. Each method that changes something is one transaction; buying is two with the hold between them,
 * closing one with the capture or void after it. Whatever is cut off in between the reconciler finishes.
 */
import { CallError } from '@svc/contract/codes.ts';
import { allow, type Decision } from '@svc/contract/decision.ts';
import type { Clock } from '@svc/runtime/clock.ts';
import type { ChangeCall } from '@svc/runtime/store.ts';
import type { View } from '../access.ts';
import { type Closing, dueClosing, lapsedClosing, restoresSupply } from '../domain/trade.ts';
import { createBuying } from './buying.ts';
import type { IsLapsed } from './lapsing.ts';
import type { Settling } from './settling.ts';
import { eventOf, type MarketStore } from './trade-events.ts';
import type { Moved, MoveOutcome, MoveTrade } from './trade-moves.ts';
import { readPartners } from './reputation-rows.ts';
import { countOpen, readPayload, readTrade, type TradeRow } from './trade-rows.ts';
import type { TradeSteps } from './trade-steps.ts';

interface Delivered extends Named {
  readonly payloadSha256: string;
  readonly bytes: number;
  /** Milliseconds since the epoch. */
  readonly settleBy: number;
}

interface Named {
  readonly tradeId: string;
}

/** What is delivered, and until when the buyer may settle. */
export interface Delivery {
  /** JSON. */
  readonly text: string;
  readonly hash: string;
  readonly settleBy: number;
}

export type TradeStore = ReturnType<typeof createTradeStore>;

interface TradeStoreParts extends ClosingParts {
  readonly store: MarketStore;
  readonly steps: TradeSteps;
  readonly settling: Settling;
  readonly clock: Clock;
}

export function createTradeStore(parts: TradeStoreParts) {
  const { store, move, steps, settling, clock } = parts;
  const { client } = store;
  const { touch, touchDue, lapse } = createTouching(parts);
  return {
    ...createBuying({ store, move, steps, settling, clock, touch }),

    read: (tradeId: string): Promise<TradeRow | null> => readTrade(client, tradeId),

    /**
     * Closes by `decide`; resolves when money has followed, with the trade as it is then. Throws E_OUTCOME_UNKNOWN when it
     * is decided and has not.
     */
    async close<Code extends string>(
      call: ChangeCall,
      tradeId: string,
      decide: Decide<Closing, Code>,
    ): Promise<MoveOutcome<Named, Code>> {
      const outcome = await move(call, { tradeId, decide: (trade) => closed(trade, decide(trade)) });
      if (!outcome.decision.ok) {
        await touchDue(tradeId, outcome);
        return outcome;
      }
      // Also a repetition waits for the money of the first call.
      return { ...outcome, trade: await settling.settle(tradeId, outcome.trade) };
    },

    async deliver<Code extends string>(
      call: ChangeCall,
      tradeId: string,
      decide: Decide<Delivery, Code>,
    ): Promise<MoveOutcome<Delivered, Code>> {
      // Nobody is left who could take it, or refute it.
      await lapse(tradeId);
      const outcome = await move(call, { tradeId, decide: (trade) => delivered(trade, decide(trade)) });
      if (!outcome.decision.ok) await touchDue(tradeId, outcome);
      return outcome;
    },

    touch,
    lapse,

    /** Of a trade; undefined = nothing was delivered. */
    async payload(tradeId: string): Promise<unknown> {
      const text = await readPayload(client, tradeId);
      return text === null ? undefined : JSON.parse(text);
    },

    partnersOf: (view: View, seller: string) => readPartners(client, view, seller),
    countOpen: (listingId: string) => countOpen(client, listingId),
  };
}

/** What becomes of trades without anybody acting on them. */
function createTouching(parts: TradeStoreParts) {
  const { settling } = parts;
  /**
   * Time has decided something that nobody acted on yet. Whoever comes by is no party to its money: what cannot follow now
   * follows later.
   */
  const touch = async (tradeId: string): Promise<void> => {
    try {
      const closed = await closeDue(parts, tradeId);
      if (closed !== null) await settling.settle(tradeId, closed.after);
    } catch (error) {
      if (!(error instanceof CallError) || error.code === 'INTERNAL') throw error;
    }
  };
  /** Of what was denied, when it is time that denied it. */
  const touchDue = async (tradeId: string, { trade, replayed }: MoveOutcome<unknown, string>): Promise<void> => {
    if (replayed || (trade !== null && dueClosing(trade, trade.now) !== null)) await touch(tradeId);
  };
  /** Before something is done that matters to both parties: a trade is over when one of them is no more. */
  const lapse = async (tradeId: string): Promise<void> => {
    if (await parts.isLapsed(tradeId)) await touch(tradeId);
  };
  return { touch, touchDue, lapse };
}

type Decide<Value, Code extends string> = (trade: TradeRow) => Decision<Value, Code>;

function closed<Code extends string>(trade: TradeRow, decision: Decision<Closing, Code>): Decision<Moved<Named>, Code> {
  if (!decision.ok) return decision;
  const { state, by } = decision.value;
  return allow({
    answer: { tradeId: trade.tradeId },
    to: { state, settlement: 'pending' as const, closedAt: trade.now, closedBy: by },
    tells: [eventOf(trade, state)],
    restores: restoresSupply(state),
  });
}

function delivered<Code extends string>(
  trade: TradeRow,
  decision: Decision<Delivery, Code>,
): Decision<Moved<Delivered>, Code> {
  if (!decision.ok) return decision;
  const { tradeId, now: deliveredAt } = trade;
  const { hash: payloadSha256, text: payload, settleBy } = decision.value;
  return allow({
    answer: { tradeId, payloadSha256, bytes: Buffer.byteLength(payload), settleBy },
    to: { state: 'delivered' as const, payload, payloadHash: payloadSha256, deliveredAt, dueAt: settleBy },
    tells: [eventOf(trade, 'delivered')],
  });
}

/** For whoever looks, as of the database's clock. */
const NOBODY: ChangeCall = {
  caller: { subject: {}, operator: false, deadlineAt: Number.MAX_SAFE_INTEGER },
  idempotency: null,
};

/** A trade as it was, and as time has closed it. */
interface ClosedByTime {
  readonly before: TradeRow;
  readonly after: TradeRow;
}

export interface ClosingParts {
  readonly move: MoveTrade;
  readonly isLapsed: IsLapsed;
}

/** Closes what time has closed, or the end of a party; null when there was nothing to do. */
export async function closeDue({ move, isLapsed }: ClosingParts, tradeId: string): Promise<ClosedByTime | null> {
  const lapsed = await isLapsed(tradeId);
  let before: TradeRow | null = null;
  const { trade: after } = await move(NOBODY, {
    tradeId,
    decide(trade): Decision<Moved<Named>, never> {
      const closing = lapsed ? lapsedClosing(trade, trade.now) : dueClosing(trade, trade.now);
      before = closing === null ? null : trade;
      return closing === null ? allow({ answer: { tradeId }, to: null }) : closed(trade, allow(closing));
    },
  });
  return before === null || after === null ? null : { before, after };
}
