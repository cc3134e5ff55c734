/**
 * Steps of a trade where nothing is left to judge but whether it is where it was left: it stands because its price is held,
 * it is settled because its money has moved. A guarded statement makes the step for many, and whoever it passed over is
 * judged on the locked row.
 */
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import type { Clock } from '@svc/runtime/clock.ts';
import { createGroupedChange } from '@svc/runtime/grouped-change.ts';
import type { ChangeCall, Unit } from '@svc/runtime/store.ts';
import { isClosed } from '../domain/trade.ts';
import { eventOf, type MarketEvent, type MarketStore } from './trade-events.ts';
import { COLUMNS, type TradeRow } from './trade-rows.ts';

/** Resolves with the trade after the step; null = it was not where it was left. */
type TradeStep = (call: ChangeCall, tradeId: string) => Promise<TradeRow | null>;

export interface TradeSteps {
  readonly open: TradeStep;
  readonly settle: TradeStep;
}

const stepOf = (from: string, to: string): string => `
  WITH locked AS MATERIALIZED (
    SELECT trade_id FROM market.trades WHERE trade_id = ANY($1::text[]) ORDER BY trade_id FOR UPDATE
  )
  UPDATE market.trades SET ${to}, version = version + 1
  WHERE trade_id = ANY($1::text[]) AND trade_id IN (SELECT trade_id FROM locked) AND ${from} RETURNING ${COLUMNS}`;

const OPEN = stepOf("state = 'opening'", "state = CASE kind WHEN 'skill' THEN 'pending_delivery' ELSE 'pending' END");
const SETTLE = stepOf("settlement = 'pending'", "settlement = 'done'");

export function createTradeSteps({ change }: Pick<MarketStore, 'change'>, clock: Clock): TradeSteps {
  const step = (lane: string, sql: string, told: (trade: TradeRow) => MarketEvent): TradeStep => {
    const grouped = createGroupedChange<Unit<MarketEvent>, string, TradeRow, 'E_BUSY'>(change, clock, {
      laneOf: () => lane,
      run: (unit, tradeIds) => take(unit, sql, tradeIds, told),
    });
    return async (call, tradeId) => {
      const { decision } = await grouped({ ...call, idempotency: null }, tradeId);
      return decision.ok ? decision.value : null;
    };
  };
  return {
    open: step('opened', OPEN, (trade) => eventOf(trade, trade.kind === 'skill' ? 'pending_delivery' : 'pending')),
    settle: step('settled', SETTLE, settledEvent),
  };
}

export function settledEvent(trade: TradeRow): MarketEvent {
  if (!isClosed(trade.state)) throw new Error('an open trade was settled');
  return eventOf(trade, trade.state, 'trade:settled');
}

async function take(
  { tx, emit }: Unit<MarketEvent>,
  sql: string,
  tradeIds: readonly string[],
  told: (trade: TradeRow) => MarketEvent,
): Promise<Decision<TradeRow, 'E_BUSY'>[]> {
  const rows = await tx.$queryRawUnsafe<TradeRow[]>(sql, [...new Set(tradeIds)]);
  const taken = new Map(rows.map((row) => [row.tradeId, row]));
  for (const row of rows) emit(told(row));
  return tradeIds.map((tradeId) => {
    const row = taken.get(tradeId);
    // Two of one trade at once: the second finds it done.
    return row !== undefined && taken.delete(tradeId) ? allow(row) : deny('E_BUSY');
  });
}
