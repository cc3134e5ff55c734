/** The tables of the market beside those of the ledger, past the doors. */
import type { Database } from '@svc/runtime/database.ts';

type Pool = Database['pool'];

/** Whose trades are looked at: on a target that others had before, these traded with nobody else. */
interface Traded {
  readonly sellers: readonly string[];
  readonly buyers: readonly string[];
}

const PAID = `('completed', 'confirmed')`;
/** Listings whose supply is not what their trades took: holds at any moment. */
const SUPPLY = `
  SELECT 'supply of ' || l.listing_id AS wrong FROM market.listings l WHERE l.seller = ANY($1) AND (l.taken > l.supply
    OR l.taken <> (SELECT count(*) FROM market.trades t WHERE t.listing_id = l.listing_id AND t.state NOT IN ('cancelled', 'expired')))`;
/** At any moment: a trade that stands has its hold, and one whose money is said to have moved has it moved that way. */
const HOLDS = `
  SELECT concat_ws(' ', t.trade_id, t.state, t.settlement, 'with a hold', coalesce(h.state, 'that is absent')) AS wrong
    FROM market.trades t LEFT JOIN escrow.holds h ON h.hold_id = 'trade:' || t.trade_id
    WHERE t.seller = ANY($1) AND t.state NOT IN ('opening', 'undoing') AND t.settlement <> 'pending'
      AND NOT coalesce(h.amount = t.amount AND h.state = CASE WHEN t.closed_at IS NULL THEN 'held'
        WHEN t.state IN ${PAID} THEN 'posted' ELSE 'released' END, false)`;
/** What must hold once nothing is under way any more. */
const AT_REST = `${SUPPLY}
  UNION ALL SELECT concat_ws(' ', t.trade_id, t.state, t.settlement, 'with a hold', coalesce(h.state, 'that is absent'))
    FROM market.trades t LEFT JOIN escrow.holds h ON h.hold_id = 'trade:' || t.trade_id
    WHERE t.seller = ANY($1) AND NOT coalesce(h.amount = t.amount AND CASE
      WHEN t.closed_at IS NULL THEN t.settlement = 'none' AND h.state = 'held' AND t.state NOT IN ('opening', 'undoing')
      WHEN t.state IN ${PAID} THEN t.settlement = 'done' AND h.state = 'posted' AND h.captured = t.amount
      ELSE t.settlement = 'done' AND h.state = 'released' END, false)
  UNION ALL SELECT 'an orphan, ' || h.hold_id FROM escrow.holds h
    WHERE h.account = ANY($2) AND h.state = 'held' AND NOT EXISTS (
      SELECT 1 FROM market.trades t WHERE 'trade:' || t.trade_id = h.hold_id AND t.closed_at IS NULL)
  UNION ALL SELECT concat_ws(' ', a.account_id, 'spent', a.spent, 'holds', a.pending, 'for', s.paid, s.open)
    FROM escrow.accounts a CROSS JOIN LATERAL (
      SELECT coalesce(sum(amount) FILTER (WHERE state IN ${PAID}), 0) AS paid,
        coalesce(sum(amount) FILTER (WHERE closed_at IS NULL), 0) AS open FROM market.trades WHERE buyer = a.account_id) s
    WHERE a.account_id = ANY($2) AND (a.spent <> s.paid OR a.pending <> s.open)
  UNION ALL SELECT concat_ws(' ', a.account_id, 'earned', a.earned, 'for', s.paid)
    FROM escrow.accounts a CROSS JOIN LATERAL (
      SELECT coalesce(sum(amount) FILTER (WHERE state IN ${PAID}), 0) AS paid FROM market.trades WHERE seller = a.account_id) s
    WHERE a.account_id = ANY($1) AND a.earned <> s.paid`;

/** A sentence for each listing that sold more or less than there are trades for. */
export function wrongSupplies(pool: Pool, { sellers }: Traded): Promise<string[]> {
  return sentences(pool, SUPPLY, [sellers]);
}

/** A sentence for each listing and trade that contradicts itself or its hold, whatever is under way. */
export function wrongAtAnyMoment(pool: Pool, { sellers }: Traded): Promise<string[]> {
  return sentences(pool, `${SUPPLY} UNION ALL ${HOLDS}`, [sellers]);
}

/** A sentence for each listing, trade, hold or account that says something else than the others; empty = all agree. */
export function contradictions(pool: Pool, { sellers, buyers }: Traded): Promise<string[]> {
  return sentences(pool, AT_REST, [sellers, buyers]);
}

async function sentences(pool: Pool, sql: string, values: readonly unknown[]): Promise<string[]> {
  const { rows } = await pool.query<{ wrong: string }>(sql, [...values]);
  return rows.map(({ wrong }) => wrong);
}

/** Every trade of the buyers with its state. */
export async function tradesOf(pool: Pool, { buyers }: Traded): Promise<Map<string, string>> {
  const { rows } = await pool.query<{ id: string; state: string }>(
    'SELECT trade_id AS id, state FROM market.trades WHERE buyer = ANY($1)',
    [buyers],
  );
  return new Map(rows.map(({ id, state }) => [id, state]));
}
