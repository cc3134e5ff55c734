/** Finishes what was cut off, and closes what time has decided. Many may do it at once; the rows are the truth. */
import { CallError } from '@svc/contract/codes.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import type { Settling } from './settling.ts';
import type { MarketStore } from './trade-events.ts';
import type { MoveTrade } from './trade-moves.ts';
import type { TradeRow } from './trade-rows.ts';
import { closeDue } from './trade-store.ts';

/** A purchase that nobody goes on with is given up after this long; by then its hold is refused. */
const GIVEN_UP_AFTER = "interval '30 seconds'";
/** Whoever closed it is about to settle it. */
const LEFT_ALONE = "interval '2 seconds'";
const AT_ONCE = 100;

const BEGINNING = `SELECT trade_id FROM market.trades
  WHERE state = 'undoing' OR (state = 'opening' AND tried_at < clock_timestamp() - ${GIVEN_UP_AFTER})
  ORDER BY tried_at LIMIT ${AT_ONCE}`;
const OWED = `SELECT trade_id FROM market.trades
  WHERE (settlement = 'pending' OR (closed_at IS NOT NULL AND NOT reported))
    AND ($1 OR closed_at < clock_timestamp() - ${LEFT_ALONE})
  ORDER BY tried_at LIMIT ${AT_ONCE}`;
const DUE = `SELECT trade_id FROM market.trades
  WHERE state = ANY($1::text[]) AND due_at <= clock_timestamp() ORDER BY due_at LIMIT ${AT_ONCE}`;

interface Parts {
  readonly store: MarketStore;
  readonly move: MoveTrade;
  readonly settling: Settling;
  readonly log: Pick<Platform['log'], 'warn'>;
}

const OPEN_OF = { plain: ['pending'], skill: ['pending_delivery', 'delivered'] } as const;

export type Reconciler = ReturnType<typeof createReconciler>;

export function createReconciler(parts: Parts) {
  const { store, move, settling } = parts;
  const ids = async (sql: string, ...values: readonly unknown[]): Promise<string[]> => {
    const rows = await store.client.$queryRawUnsafe<{ trade_id: string }[]>(sql, ...values);
    return rows.map((row) => row.trade_id);
  };
  return {
    /** `atStart`: nobody else is about to do it. */
    async finish({ atStart = false } = {}): Promise<void> {
      for (const tradeId of await ids(BEGINNING)) await unlessAway(parts, tradeId, settling.undo);
      await Promise.all((await ids(OWED, atStart)).map((tradeId) => unlessAway(parts, tradeId, settling.settle)));
    },

    /** Trades that this call closed, as they were before. */
    async closeDue(kind: keyof typeof OPEN_OF): Promise<TradeRow[]> {
      const due = await ids(DUE, OPEN_OF[kind]);
      const closed = (await Promise.all(due.map((tradeId) => closeDue(move, tradeId)))).filter((one) => one !== null);
      await Promise.all(
        closed.map(({ after }) => unlessAway(parts, after.tradeId, (tradeId) => settling.settle(tradeId, after))),
      );
      return closed.map(({ before }) => before);
    },
  };
}

/** One that cannot be finished now does not hold up the others: they come first the next time. */
async function unlessAway(
  { store, log }: Parts,
  tradeId: string,
  work: (tradeId: string) => Promise<unknown>,
): Promise<void> {
  try {
    await work(tradeId);
  } catch (error) {
    if (!(error instanceof CallError)) throw error;
    log.warn({ tradeId, code: error.code }, 'a trade waits to be finished');
    await store.client.$executeRawUnsafe(
      `UPDATE market.trades SET tried_at = clock_timestamp() WHERE trade_id = $1 AND state <> 'opening'`,
      tradeId,
    );
  }
}
