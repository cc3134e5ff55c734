/** The trust of sellers hears of each closed trade, once. */
import { type AmountMicros, creditsFromAmount } from '@svc/contract/amount.ts';
import { CallError } from '@svc/contract/codes.ts';
import type { Clock } from '@svc/runtime/clock.ts';
import { createGroupCommit } from '@svc/runtime/group-commit.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { outcomeOf } from '../domain/trade.ts';
import type { Trust } from '../ports.ts';
import type { MarketStore } from './trade-events.ts';
import type { ClosedTrade } from './trade-rows.ts';

export interface TradeReports {
  /** Whether it was told and noted; false = the registry is away. */
  tell(trade: ClosedTrade): Promise<boolean>;
  /** Nobody waits for it: what is cut off is told by the reconciler. */
  tellLater(trade: ClosedTrade): void;
}

interface Parts {
  readonly store: MarketStore;
  readonly trust: Trust;
  readonly clock: Clock;
  readonly log: Pick<Platform['log'], 'warn'>;
}

export function createTradeReports({ store: { client }, trust, clock, log }: Parts): TradeReports {
  const group = createGroupCommit<ClosedTrade, boolean>(clock, async (trades) => {
    const told = await Promise.all(trades.map((trade) => isTold(trust, trade)));
    const ids = trades.filter((_, index) => told[index]).map(({ tradeId }) => tradeId);
    if (ids.length > 0) await client.$executeRawUnsafe(REPORTED, ids);
    return told;
  });
  const tell = (trade: ClosedTrade): Promise<boolean> => group.submit('reports', trade, Infinity);
  return {
    tell,
    tellLater(trade) {
      tell(trade).catch((error: unknown) => log.warn({ err: error }, 'a closed trade is told of later'));
    },
  };
}

/** Locked in the order in which everybody locks trades. */
const REPORTED = `
  WITH locked AS MATERIALIZED (
    SELECT trade_id FROM market.trades WHERE trade_id = ANY($1::text[]) AND NOT reported ORDER BY trade_id FOR UPDATE
  )
  UPDATE market.trades SET reported = true WHERE trade_id = ANY($1::text[]) AND trade_id IN (SELECT trade_id FROM locked)`;

async function isTold(trust: Trust, { tradeId, seller, buyer, state, amount }: ClosedTrade): Promise<boolean> {
  try {
    await trust.recordTrade({
      tradeId,
      seller,
      buyer,
      outcome: outcomeOf(state),
      amount: creditsFromAmount(amount as AmountMicros),
    });
    return true;
  } catch (error) {
    if (error instanceof CallError && error.code !== 'INTERNAL') return false;
    throw error;
  }
}
