/** Finishes what was cut off, and closes what time has decided. Many may do it at once; the rows are the truth. */
import { CallError } from '@svc/contract/codes.ts';
import type { Clock } from '@svc/runtime/clock.ts';
import { isDatabaseAway } from '@svc/runtime/database-errors.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { hasRested, isAhead } from '@svc/runtime/sql-time.ts';
import type { Settling } from './settling.ts';
import type { MarketStore } from './trade-events.ts';
import type { TradeRow } from './trade-rows.ts';
import { closeDue, type ClosingParts } from './trade-store.ts';

/** A purchase that nobody goes on with is given up after this long; by then its hold is refused. */
const GIVEN_UP_AFTER = "interval '30 seconds'";
/** Whoever closed it is about to settle it. */
const LEFT_ALONE = "interval '2 seconds'";
const AT_ONCE = 100;
/** After this long a run leaves the rest to the next one. */
const RUN_WITHIN_MS = 20_000;

/**
 * Pages by `$1` and `$2`, the time and the id of the last row before; what a run itself sets back comes in the next run, behind
 * all others, so that what can never be done hides none of them.
 */
const pageOf = (which: string): string =>
  `SELECT trade_id AS "tradeId", tried_at::text AS at FROM market.trades
   WHERE (${which}) AND (tried_at, trade_id) > ($1::timestamptz, $2) AND tried_at <= $3::timestamptz
   ORDER BY tried_at, trade_id LIMIT ${AT_ONCE}`;
const OPEN = "state IN ('opening', 'undoing')";
const UNPAID = "(settlement = 'pending' OR (closed_at IS NOT NULL AND NOT reported))";
const DUE = "state IN ('pending', 'pending_delivery', 'delivered') AND due_at <= clock_timestamp()";
const BEGINNING = pageOf(
  `state = 'undoing' OR (state = 'opening' AND tried_at < clock_timestamp() - ${GIVEN_UP_AFTER})`,
);
const OWED = pageOf(`${UNPAID} AND ($4 OR ${hasRested('closed_at', LEFT_ALONE)})`);
/** What was tried before the clock was set back counts as tried now. */
const bringBack = (which: string): string =>
  `UPDATE market.trades SET tried_at = clock_timestamp() WHERE ${which} AND ${isAhead('tried_at')}`;
const DUE_OF = pageOf(`${DUE} AND state = ANY($4::text[])`);

interface Parts extends ClosingParts {
  readonly store: MarketStore;
  readonly settling: Settling;
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Pick<Platform['log'], 'warn' | 'error'>;
}

const OPEN_OF = { plain: ['pending'], skill: ['pending_delivery', 'delivered'] } as const;

export type Reconciler = ReturnType<typeof createReconciler>;

export function createReconciler(parts: Parts) {
  const { settling } = parts;
  return {
    /** `atStart`: nobody else is about to do it. */
    async finish({ atStart = false } = {}): Promise<void> {
      for (const which of [OPEN, UNPAID]) await parts.store.client.$executeRawUnsafe(bringBack(which));
      await inPages(parts, { sql: BEGINNING }, (tradeId) => tried(parts, tradeId, () => settling.undo(tradeId)));
      await inPages(parts, { sql: OWED, values: [atStart] }, (tradeId) =>
        tried(parts, tradeId, () => settling.settle(tradeId)),
      );
    },

    /** Trades that this call closed, as they were before. */
    async closeDue(kind: keyof typeof OPEN_OF, withinMs = RUN_WITHIN_MS): Promise<TradeRow[]> {
      const closed: TradeRow[] = [];
      await parts.store.client.$executeRawUnsafe(bringBack(DUE));
      await inPages(parts, { sql: DUE_OF, values: [OPEN_OF[kind]], withinMs }, async (tradeId) => {
        const judged = await tried(parts, tradeId, () => closeDue(parts, tradeId));
        if (judged === null || judged.value === null) return judged;
        const { before, after } = judged.value;
        closed.push(before);
        return tried(parts, tradeId, () => settling.settle(tradeId, after));
      });
      return closed;
    },
  };
}

/** What came of it; null = it cannot be done now. */
type Tried<Value> = { readonly value: Value } | null;

interface Pages {
  readonly sql: string;
  readonly values?: readonly unknown[];
  readonly withinMs?: number;
}

/**
 * All that there is when it begins, until the time is over. Where nothing of a page could be done somebody is away, and the
 * others would only wait for the same.
 */
async function inPages(
  { store: { client }, clock }: Pick<Parts, 'store' | 'clock'>,
  { sql, values = [], withinMs = RUN_WITHIN_MS }: Pages,
  work: (tradeId: string) => Promise<Tried<unknown>>,
): Promise<void> {
  const endsAt = clock.now() + withinMs;
  const [moment] = await client.$queryRawUnsafe<{ now: string }[]>('SELECT clock_timestamp()::text AS now');
  let [at, after] = ['-infinity', ''];
  for (let more = true; more && clock.now() < endsAt; ) {
    const rows = await client.$queryRawUnsafe<{ tradeId: string; at: string }[]>(
      sql,
      at,
      after,
      moment?.now,
      ...values,
    );
    const came = await Promise.all(rows.map(({ tradeId }) => work(tradeId)));
    const last = rows.at(-1);
    [at, after] = [last?.at ?? at, last?.tradeId ?? after];
    more = rows.length === AT_ONCE && came.some((one) => one !== null);
  }
}

/** One that cannot be finished now does not hold up the others: they come first the next time. Throws when the database is away. */
async function tried<Value>({ store, log }: Parts, tradeId: string, work: () => Promise<Value>): Promise<Tried<Value>> {
  try {
    return { value: await work() };
  } catch (error) {
    if (isDatabaseAway(error)) throw error;
    if (error instanceof CallError && error.code !== 'INTERNAL') {
      log.warn({ tradeId, code: error.code }, 'a trade waits to be finished');
    } else log.error({ err: error, tradeId }, 'a trade cannot be finished');
    await store.client.$executeRawUnsafe(
      `UPDATE market.trades SET tried_at = clock_timestamp() WHERE trade_id = $1 AND state <> 'opening'`,
      tradeId,
    );
    return null;
  }
}
