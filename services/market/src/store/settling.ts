/** Money follows what trades have become. Every step may be repeated, by anybody, in any order, after any stop. */
import { CallError } from '@svc/contract/codes.ts';
import { type AmountMicros, creditsFromAmount } from '@svc/contract/amount.ts';
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import type { ChangeCall } from '@svc/runtime/store.ts';
import { holdLifeMs, isClosed, moneyOf } from '../domain/trade.ts';
import type { Money, Ports } from '../ports.ts';
import { reopenBid } from './offer-rows.ts';
import type { MarketStore } from './trade-events.ts';
import type { MoveTrade } from './trade-moves.ts';
import type { TradeReports } from './trade-reports.ts';
import type { NewTrade } from './purchase-rows.ts';
import { type ClosedTrade, readTrade, restoreSupply, type TradeRow } from './trade-rows.ts';
import { settledEvent, type TradeSteps } from './trade-steps.ts';
import { Undone } from './undone.ts';

/** After this long a hold that was asked for is refused, so that none comes when its trade was given up. */
const HOLD_WITHIN_MS = 10_000;

export type HoldRefusal = 'E_BUDGET' | 'E_MEMBER_LIMIT' | 'E_POOL_EXCEEDED' | 'E_UNKNOWN_WORKSPACE' | 'E_LEDGER_FROZEN';
type Followed = 'done' | 'failed' | 'later';

export interface Settling {
  /** Holds the price; `triedAt` is when it was begun, in ms by the clock of the database. Throws E_OUTCOME_UNKNOWN without an answer. */
  hold(trade: NewTrade, triedAt: number): Promise<Decision<null, HoldRefusal>>;
  /** A trade that never began: no hold of it can come any more, supply is back, the row is gone. */
  undo(tradeId: string): Promise<void>;
  /**
   * Captures or voids for a closed trade, once; resolves with the trade as it is then. `closed`: the row as it was closed by
   * whoever asks. Throws E_OUTCOME_UNKNOWN while that cannot be done.
   */
  settle(tradeId: string, closed?: TradeRow | null): Promise<TradeRow | null>;
}

interface SettlingParts {
  readonly store: MarketStore;
  readonly ports: Pick<Ports, 'money'>;
  readonly move: MoveTrade;
  readonly steps: Pick<TradeSteps, 'settle'>;
  readonly reports: TradeReports;
  readonly log: Pick<Platform['log'], 'error'>;
  /** Counts trades whose seller is not paid. */
  readonly unpaid: { inc(): void };
}

export function holdIdOf(tradeId: string): string {
  return `trade:${tradeId}`;
}

const SYSTEM: ChangeCall = {
  caller: { subject: {}, operator: false, deadlineAt: Number.MAX_SAFE_INTEGER },
  idempotency: null,
};

export function createSettling(parts: SettlingParts): Settling {
  const { store } = parts;
  return {
    async hold(trade, triedAt) {
      const held = await hold(parts, trade, triedAt);
      if (held.ok || held.code !== 'given up') return held as Decision<null, HoldRefusal>;
      // A twin gave it up before this one began anew: what that took is given back now, and not when the reconciler comes.
      await undo(parts, trade.tradeId);
      throw new Undone();
    },

    undo: (tradeId) => undo(parts, tradeId),

    async settle(tradeId, closed = null) {
      const trade = closed ?? (await readTrade(store.client, tradeId));
      if (trade === null || !isClosedTrade(trade)) return trade;
      if (trade.settlement === 'pending') return follow(parts, trade);
      if (!trade.reported) await parts.reports.tell(trade);
      return trade;
    },
  };
}

function isClosedTrade(trade: TradeRow): trade is ClosedTrade {
  return isClosed(trade.state);
}

async function undo({ store, ports, move }: SettlingParts, tradeId: string): Promise<void> {
  const { trade } = await move(SYSTEM, { tradeId, decide: decideUndo });
  if (trade?.state !== 'undoing') return;
  const given = await answered(ports.money.void({ holdId: holdIdOf(tradeId), reason: 'undone' }));
  if (!given.ok) throw new CallError('E_OUTCOME_UNKNOWN');
  await store.transact(async (tx) => {
    const gone = await tx.$executeRawUnsafe(
      `DELETE FROM market.trades WHERE trade_id = $1 AND state = 'undoing'`,
      tradeId,
    );
    if (gone !== 1) return;
    await restoreSupply(tx, trade.listingId === null ? [] : [trade.listingId]);
    await reopenBid(tx, tradeId);
  });
}

/** A trade that stands, or is none any more, is not undone. */
function decideUndo({ state }: TradeRow) {
  return allow({ answer: null, to: state === 'opening' ? ({ state: 'undoing' } as const) : null });
}

function payerOf({ buyer, workspace }: Pick<NewTrade, 'buyer' | 'workspace'>) {
  return workspace === null ? { agent: buyer } : { workspace, agent: buyer };
}

/** `given up`: nothing is held under this id and nothing ever will be. */
async function hold(
  { ports }: SettlingParts,
  trade: NewTrade,
  triedAt: number,
): Promise<Decision<null, HoldRefusal | 'given up'>> {
  const { tradeId, kind, buyer, seller: payee, amount, windowMs, operator } = trade;
  const question = {
    holdId: holdIdOf(tradeId),
    payer: payerOf(trade),
    payee,
    amount: creditsFromAmount(amount as AmountMicros),
    ttlMs: holdLifeMs(kind, windowMs),
    condition: { type: 'trade', ref: `${tradeId}:hold` },
    deadlineAt: triedAt + HOLD_WITHIN_MS,
  };
  const held = await answered(ports.money.hold(question, { by: buyer, operator }));
  if (held.ok) return allow(null);
  const { code } = held;
  if (code === 'E_HOLD_CLOSED' || code === 'E_HOLD_EXPIRED') return deny('given up');
  if (code === 'E_HOLD_EXISTS') throw new Error(`the hold of ${tradeId} is another one`);
  return { ...held, code };
}

/** What is decided stays decided; only the money is not known to have moved. */
async function answered<Answer>(asked: Promise<Answer>): Promise<Answer> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof CallError && error.code !== 'INTERNAL') {
      throw new CallError('E_OUTCOME_UNKNOWN', undefined, { retryAfterMs: 1000 });
    }
    throw error;
  }
}

/** The word of how it ended goes out when money has moved, or could not. */
async function follow(parts: SettlingParts, trade: ClosedTrade): Promise<TradeRow | null> {
  try {
    const followed = await (moneyOf(trade.state) === 'capture' ? capture(parts, trade) : giveBack(parts, trade));
    if (followed === 'later') throw new CallError('E_OUTCOME_UNKNOWN', undefined, { retryAfterMs: 1000 });
    return await noteSettled(parts, trade, followed);
  } finally {
    if (!trade.reported) parts.reports.tellLater(trade);
  }
}

async function noteSettled(
  { steps, move, unpaid }: SettlingParts,
  { tradeId }: ClosedTrade,
  followed: Exclude<Followed, 'later'>,
): Promise<TradeRow | null> {
  const settled = followed === 'done' ? await steps.settle(SYSTEM, tradeId) : null;
  if (settled !== null) return settled;
  const { trade } = await move(SYSTEM, { tradeId, decide: (row) => decideSettled(row, followed) });
  if (followed === 'failed' && trade?.settlement === 'failed') unpaid.inc();
  return trade;
}

/** Money has followed, or never will; somebody else may have noted it before. */
function decideSettled(trade: TradeRow, settlement: Exclude<Followed, 'later'>) {
  if (trade.settlement !== 'pending' || !isClosedTrade(trade)) return allow({ answer: null, to: null });
  const { tradeId, seller, buyer, workspace } = trade;
  return allow({
    answer: null,
    to: { settlement },
    tells: [settledEvent(trade)],
    audits: settlement === 'failed' ? [{ event: 'trade:unpaid', workspace, data: { tradeId, seller, buyer } }] : [],
  });
}

async function capture(parts: SettlingParts, trade: ClosedTrade): Promise<Followed> {
  const { tradeId, seller: payee, buyer, operator } = trade;
  const options = { by: buyer, operator };
  const captured = await answered(parts.ports.money.capture({ holdId: holdIdOf(tradeId), payee }, options));
  if (captured.ok) return 'done';
  if (captured.code === 'E_HOLD_EXPIRED') return pay(parts, trade);
  return contradicted(parts, trade, captured.code);
}

/** The ledger was away for longer than the hold lived: the price is paid now, once, if the buyer still has it. */
async function pay(parts: SettlingParts, trade: ClosedTrade): Promise<Followed> {
  const { tradeId, seller: payee, buyer, amount, operator } = trade;
  if (amount === 0n) return 'done';
  const payment = {
    payer: payerOf(trade),
    amount: creditsFromAmount(amount as AmountMicros),
    payee,
    ref: `${tradeId}:capture`,
  };
  const paid: Awaited<ReturnType<Money['debit']>> = await answered(
    parts.ports.money.debit(payment, { by: buyer, operator }),
  );
  if (paid.ok) return 'done';
  if (paid.code === 'E_LEDGER_FROZEN' || paid.code === 'E_REF_REUSED') return contradicted(parts, trade, paid.code);
  parts.log.error(
    { tradeId, code: paid.code },
    'a trade cannot be paid: its hold had lapsed and the buyer has no funds',
  );
  return 'failed';
}

async function giveBack(parts: SettlingParts, trade: ClosedTrade): Promise<Followed> {
  const voided = await answered(parts.ports.money.void({ holdId: holdIdOf(trade.tradeId), reason: trade.state }));
  return voided.ok ? 'done' : contradicted(parts, trade, voided.code);
}

/** The ledger will not do it now: an operator has to look, and it is tried again meanwhile. */
function contradicted({ log }: SettlingParts, { tradeId, state }: ClosedTrade, code: string): Followed {
  log.error({ tradeId, state, code }, 'money does not follow a trade');
  return 'later';
}
