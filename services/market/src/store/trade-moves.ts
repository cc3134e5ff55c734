/**
 * Trades from one state to the next. What many want at once is one transaction: their rows are locked in one order, each
 * move is judged on the row as it stands after those before it, and what came of all is written at once.
 */
import type { CallError } from '@svc/contract/codes.ts';
import { allow, type Decision, deny, type Denial } from '@svc/contract/decision.ts';
import type { Clock } from '@svc/runtime/clock.ts';
import { createGroupedChange } from '@svc/runtime/grouped-change.ts';
import type { Once } from '@svc/runtime/idempotency.ts';
import type { ChangeCall, Unit } from '@svc/runtime/store.ts';
import type { MarketEvent, MarketStore } from './trade-events.ts';
import { lockTrades, restoreSupply, type TradeRow, type TradeWrite, writingOf } from './trade-rows.ts';

/** What becomes of a trade, what is told of it, and what the caller is answered, as plain JSON. */
export interface Moved<Answer> {
  readonly answer: Answer;
  /** Null = it stays as it is. */
  readonly to: Partial<TradeWrite> | null;
  readonly tells?: readonly MarketEvent[];
  readonly audits?: readonly Parameters<Unit['audit']>[0][];
  /** What was taken of its listing can be sold again. */
  readonly restores?: boolean;
}

export interface Move<Answer, Code extends string> {
  readonly tradeId: string;
  /** `rejected` is thrown, and is no outcome that a key would stand for. */
  decide(trade: TradeRow): Decision<Moved<Answer>, Code> | Rejected;
  /** Thrown when there is no such trade, instead of E_TRADE_ABSENT. */
  readonly absent?: () => CallError;
}

export interface Rejected {
  readonly ok: 'rejected';
  readonly error: CallError;
}

/** `trade` is the row after the move, or as it was when that was denied; null = there is none, or nothing was looked at again. */
export type MoveOutcome<Answer, Code extends string> = Once<Answer, Code | 'E_TRADE_ABSENT'> & {
  readonly trade: TradeRow | null;
};

export type MoveTrade = <Answer, Code extends string>(
  call: ChangeCall,
  move: Move<Answer, Code>,
) => Promise<MoveOutcome<Answer, Code>>;

/** One request with what came of it, of the last attempt. */
interface Asked {
  readonly move: Move<unknown, string>;
  readonly isKeyed: boolean;
  trade: TradeRow | null;
  rejected: CallError | null;
}

export function createTradeMoves(
  { change, idempotency }: Pick<MarketStore, 'change' | 'idempotency'>,
  clock: Clock,
): MoveTrade {
  const grouped = createGroupedChange<Unit<MarketEvent>, Asked, unknown, string>(change, clock, {
    // One commit at a time: what comes meanwhile shares the next one.
    laneOf: () => 'trades',
    run: moveAll,
    readsFirst: true,
    keys: idempotency,
  });
  return async <Answer, Code extends string>(call: ChangeCall, move: Move<Answer, Code>) => {
    const asked: Asked = { move, isKeyed: call.idempotency !== null, trade: null, rejected: null };
    const { decision, replayed } = await grouped(call, asked);
    if (asked.rejected !== null) throw asked.rejected;
    return { decision, replayed, trade: replayed ? null : asked.trade } as MoveOutcome<Answer, Code>;
  };
}

async function moveAll(unit: Unit<MarketEvent>, asked: readonly Asked[]): Promise<Decision<unknown, string>[]> {
  const rows = await lockTrades(unit.tx, [...new Set(asked.map(({ move }) => move.tradeId))]);
  const moving: Moving = { unit, rows, writes: new Map(), restored: [] };
  const decisions = asked.map((one) => judged(moving, one, asked.length));
  await restoreSupply(unit.tx, moving.restored);
  if (moving.writes.size > 0) unit.lastly(writingOf([...moving.writes.values()]));
  return decisions;
}

interface Moving {
  readonly unit: Pick<Unit<MarketEvent>, 'emit' | 'audit'>;
  /** As they stand after what was judged so far. */
  readonly rows: Map<string, TradeRow>;
  readonly writes: Map<string, TradeWrite>;
  /** Listings. */
  readonly restored: string[];
}

function judged(moving: Moving, asked: Asked, together: number): Decision<unknown, string> {
  const { tradeId, absent } = asked.move;
  const trade = moving.rows.get(tradeId) ?? null;
  asked.trade = trade;
  asked.rejected = null;
  if (trade === null) return absent === undefined ? deny('E_TRADE_ABSENT') : rejectedOf(asked, absent(), together);
  const ruling = asked.move.decide(trade);
  if (ruling.ok === 'rejected') return rejectedOf(asked, ruling.error, together);
  if (!ruling.ok) return ruling;
  asked.trade = moved(moving, trade, ruling.value);
  return allow(ruling.value.answer);
}

/** The trade as it stands then. */
function moved(
  { unit, rows, writes, restored }: Moving,
  trade: TradeRow,
  { to, tells = [], audits = [], restores = false }: Moved<unknown>,
): TradeRow {
  for (const event of tells) unit.emit(event);
  for (const entry of audits) unit.audit(entry);
  if (restores && trade.listingId !== null) restored.push(trade.listingId);
  if (to === null) return trade;
  const { tradeId, version } = trade;
  const after = { ...trade, ...to, version: version + 1 };
  const { payload = null, was = version } = writes.get(tradeId) ?? {};
  writes.set(tradeId, { payload, ...after, was });
  rows.set(tradeId, after);
  return after;
}

/**
 * Whoever came alone is told at once, and leaves no outcome; others of the same transaction are unaffected. One with a key
 * would leave one: then each of them is judged again, alone.
 */
function rejectedOf(asked: Asked, error: CallError, together: number): Denial<'E_BUSY'> {
  if (together === 1) throw error;
  if (asked.isKeyed) throw new Error('a keyed call of several is rejected', { cause: error });
  asked.rejected = error;
  return deny('E_BUSY');
}
