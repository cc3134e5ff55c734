/** Money follows what trades have become. Every step may be repeated, by anybody, in any order, after any stop. */
import { CallError } from '@svc/contract/codes.ts';
import { type AmountMicros, creditsFromAmount } from '@svc/contract/amount.ts';
import { allow, type Decision } from '@svc/contract/decision.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import type { ChangeCall } from '@svc/runtime/store.ts';
import { holdLifeMs, isClosed, moneyOf, outcomeOf } from '../domain/trade.ts';
import type { Money, Ports } from '../ports.ts';
import { reopenBid } from './offer-rows.ts';
import {
  type ClosedTrade,
  moveTrade,
  type NewTrade,
  readTrade,
  restoreSupply,
  settleTrade,
  type TradeRow,
} from './trade-rows.ts';
import { eventOf, type MarketStore } from './trade-events.ts';

/** After this long a hold that was asked for is refused, so that none comes when its trade was given up. */
const HOLD_WITHIN_MS = 10_000;

export type HoldRefusal = 'E_BUDGET' | 'E_MEMBER_LIMIT' | 'E_POOL_EXCEEDED' | 'E_UNKNOWN_WORKSPACE' | 'E_LEDGER_FROZEN';
type Followed = 'done' | 'failed' | 'later';

export interface Settling {
  /** Holds the price; `triedAt` is when it was begun, in ms by the clock of the database. Throws E_OUTCOME_UNKNOWN without an answer. */
  hold(trade: NewTrade, triedAt: number): Promise<Decision<null, HoldRefusal>>;
  /** A trade that never began: no hold of it can come any more, supply is back, the row is gone. */
  undo(tradeId: string): Promise<void>;
  /** Captures or voids for a closed trade, once. Throws E_OUTCOME_UNKNOWN while that cannot be done. */
  settle(tradeId: string): Promise<void>;
}

interface SettlingParts {
  readonly store: MarketStore;
  readonly ports: Ports;
  readonly log: Pick<Platform['log'], 'error'>;
}

export function holdIdOf(tradeId: string): string {
  return `trade:${tradeId}`;
}

const SYSTEM: ChangeCall = {
  caller: { subject: {}, operator: false, deadlineAt: Number.MAX_SAFE_INTEGER },
  idempotency: null,
};

export function createSettling(parts: SettlingParts): Settling {
  const { store, ports } = parts;
  return {
    hold: (trade, triedAt) => hold(parts, trade, triedAt),

    async undo(tradeId) {
      await store.transact((tx) => moveTrade(tx, tradeId, 'opening', 'undoing'));
      const trade = await readTrade(store.client, tradeId);
      if (trade?.state !== 'undoing') return;
      const given = await answered(ports.money.void({ holdId: holdIdOf(tradeId), reason: 'undone' }));
      if (!given.ok) throw new CallError('E_OUTCOME_UNKNOWN');
      await store.transact(async (tx) => {
        const gone = await tx.$executeRawUnsafe(
          `DELETE FROM market.trades WHERE trade_id = $1 AND state = 'undoing'`,
          tradeId,
        );
        if (gone !== 1) return;
        await restoreSupply(tx, trade.listingId);
        await reopenBid(tx, tradeId);
      });
    },

    async settle(tradeId) {
      const trade = await readTrade(store.client, tradeId);
      if (trade === null || !isClosedTrade(trade)) return;
      if (trade.settlement === 'pending') await follow(parts, trade);
      if (!trade.reported) await report(parts, trade);
    },
  };
}

function isClosedTrade(trade: TradeRow): trade is ClosedTrade {
  return isClosed(trade.state);
}

function payerOf({ buyer, workspace }: Pick<NewTrade, 'buyer' | 'workspace'>) {
  return workspace === null ? { agent: buyer } : { workspace, agent: buyer };
}

async function hold({ ports }: SettlingParts, trade: NewTrade, triedAt: number): Promise<Decision<null, HoldRefusal>> {
  const { tradeId, kind, buyer, amount, windowMs, operator } = trade;
  const question = {
    holdId: holdIdOf(tradeId),
    payer: payerOf(trade),
    amount: creditsFromAmount(amount as AmountMicros),
    ttlMs: holdLifeMs(kind, windowMs),
    condition: { type: 'trade', ref: `${tradeId}:hold` },
    deadlineAt: triedAt + HOLD_WITHIN_MS,
  };
  const held = await answered(ports.money.hold(question, { by: buyer, operator }));
  if (held.ok) return allow(null);
  const { code } = held;
  // It was given up meanwhile: nothing is held and nothing will be.
  if (code === 'E_HOLD_CLOSED' || code === 'E_HOLD_EXPIRED') throw new CallError('SERVICE_UNAVAILABLE');
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

async function follow(parts: SettlingParts, trade: ClosedTrade): Promise<void> {
  const followed = await (moneyOf(trade.state) === 'capture' ? capture(parts, trade) : giveBack(parts, trade));
  if (followed === 'later') throw new CallError('E_OUTCOME_UNKNOWN', undefined, { retryAfterMs: 1000 });
  await parts.store.change(SYSTEM, async ({ tx, emit, audit }) => {
    if (!(await settleTrade(tx, trade.tradeId, followed))) return allow(null);
    emit(eventOf(trade, trade.state, 'trade:settled'));
    const { tradeId, seller, buyer, workspace } = trade;
    if (followed === 'failed') audit({ event: 'trade:unpaid', workspace, data: { tradeId, seller, buyer } });
    return allow(null);
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

/** The seller's trust hears of it once; until the registry has answered the reconciler tells it again. */
async function report({ store, ports }: SettlingParts, trade: ClosedTrade): Promise<void> {
  const { tradeId, seller, buyer, state } = trade;
  try {
    await ports.trust.recordTrade({ tradeId, seller, buyer, outcome: outcomeOf(state) });
  } catch (error) {
    if (error instanceof CallError) return;
    throw error;
  }
  await store.client.$executeRawUnsafe('UPDATE market.trades SET reported = true WHERE trade_id = $1', tradeId);
}
