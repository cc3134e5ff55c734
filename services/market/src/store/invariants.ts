/** What must hold of every listing and trade, and between trades and the ledger. */
import { type AmountMicros, creditsFromAmount } from '@svc/contract/amount.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import { isClosed, moneyOf, type Settlement, type TradeState } from '../domain/trade.ts';
import type { Money } from '../ports.ts';
import { holdIdOf } from './settling.ts';

export interface Violation {
  readonly invariant: 'supply' | 'parties' | 'closing' | 'hold' | 'orphan';
  /** Of a listing, a trade or a hold. */
  readonly id: string;
}

const OF_ROWS = `
  WITH sold AS (
    SELECT listing_id, count(*) FILTER (WHERE state NOT IN ('cancelled', 'expired')) AS trades FROM market.trades
    WHERE listing_id IS NOT NULL GROUP BY 1
  )
  SELECT 'supply' AS invariant, l.listing_id AS id FROM market.listings l LEFT JOIN sold s USING (listing_id)
    WHERE l.taken <> coalesce(s.trades, 0) OR l.taken NOT BETWEEN 0 AND l.supply
  UNION ALL SELECT 'parties', trade_id FROM market.trades WHERE seller = buyer
  UNION ALL SELECT 'closing', trade_id FROM market.trades
    WHERE (settlement = 'none') <> (closed_at IS NULL) OR (closed_at IS NULL) <> (closed_by IS NULL)
      OR (closed_at IS NULL) <> (state IN ('opening', 'undoing', 'pending', 'pending_delivery', 'delivered'))`;

interface Checked {
  readonly tradeId: string;
  readonly state: TradeState;
  readonly settlement: Settlement;
  readonly amount: bigint;
  readonly version: number;
}

const CHECKED = 'trade_id AS "tradeId", state, settlement, amount, version';
/** Those whose money stands: open ones, and closed ones that are settled. */
const STANDING = `SELECT ${CHECKED} FROM market.trades
  WHERE trade_id > $1 AND state NOT IN ('opening', 'undoing') AND settlement IN ('none', 'done')
    AND (closed_at IS NULL OR $2::float8 IS NULL OR closed_at >= clock_timestamp() - $2 * interval '1 ms') ORDER BY trade_id LIMIT $3`;
const AGAIN = `SELECT ${CHECKED} FROM market.trades WHERE trade_id = ANY($1::text[])`;

const AT_ONCE = 500;
/** A trade that began or ended within this time may be under way. */
const GRACE_MS = 60_000;

export interface Look {
  /** Closed trades of the last milliseconds; null = all. */
  readonly closedWithinMs: number | null;
  /** How old a live hold is that a trade must stand for. */
  readonly graceMs?: number;
}

/** What is found is looked at twice: money follows a trade a moment later. */
export async function readViolations(
  client: SqlClient,
  money: Pick<Money, 'states' | 'live'>,
  { closedWithinMs, graceMs = GRACE_MS }: Look,
): Promise<Violation[]> {
  const rows = await client.$queryRawUnsafe<Violation[]>(OF_ROWS);
  const held = await unheld(client, money, closedWithinMs);
  return [...rows, ...held, ...(await orphans(client, money, graceMs))];
}

async function unheld(client: SqlClient, money: Pick<Money, 'states'>, withinMs: number | null): Promise<Violation[]> {
  const violations: Violation[] = [];
  for (let after = '', more = true; more; ) {
    const trades = await client.$queryRawUnsafe<Checked[]>(STANDING, after, withinMs, AT_ONCE);
    const { holds } = await money.states({ holdIds: trades.map(({ tradeId }) => holdIdOf(tradeId)) });
    const wrong = trades.filter((trade) => !agrees(trade, holds[holdIdOf(trade.tradeId)]));
    const now = wrong.length === 0 ? [] : await client.$queryRawUnsafe<Checked[]>(AGAIN, idsOf(wrong));
    const versions = new Map(now.map(({ tradeId, version }) => [tradeId, version]));
    for (const { tradeId, version } of wrong) {
      if (versions.get(tradeId) === version) violations.push({ invariant: 'hold', id: tradeId });
    }
    after = trades.at(-1)?.tradeId ?? after;
    more = trades.length === AT_ONCE;
  }
  return violations;
}

const idsOf = (trades: readonly Checked[]): string[] => trades.map(({ tradeId }) => tradeId);

type HoldState = Awaited<ReturnType<Money['states']>>['holds'][string];

/** A captured trade whose hold had lapsed was paid at once. */
function agrees({ state, amount }: Checked, hold: HoldState | undefined): boolean {
  if (hold === undefined || hold.amount !== creditsFromAmount(amount as AmountMicros)) return false;
  if (!isClosed(state)) return hold.state === 'held';
  const ends = moneyOf(state) === 'capture' ? ['posted', 'expired'] : ['released', 'expired'];
  return ends.includes(hold.state);
}

/** Live holds for which no trade stands that is open, or closed a moment ago. */
async function orphans(client: SqlClient, money: Pick<Money, 'live'>, graceMs: number): Promise<Violation[]> {
  const violations: Violation[] = [];
  for (let after: string | undefined, more = true; more; ) {
    const page = await money.live({ limit: AT_ONCE, ...(after === undefined ? {} : { after }) });
    const ids = page.holds.map(({ holdId }) => holdId);
    const rows = await client.$queryRawUnsafe<{ hold_id: string }[]>(
      `SELECT held.id AS hold_id FROM unnest($1::text[], $2::float8[]) AS held (id, at)
       LEFT JOIN market.trades t ON 'trade:' || t.trade_id = held.id
       WHERE held.id LIKE 'trade:%' AND to_timestamp(held.at / 1000.0) <= clock_timestamp() - $3::float8 * interval '1 ms'
         AND (t.trade_id IS NULL OR t.settlement IN ('done', 'failed'))`,
      ids,
      page.holds.map(({ heldAt }) => heldAt),
      graceMs,
    );
    violations.push(...rows.map((row): Violation => ({ invariant: 'orphan', id: row.hold_id })));
    after = ids.at(-1) ?? after;
    more = page.more;
  }
  return violations;
}
