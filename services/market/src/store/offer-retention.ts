/** Offers that are over leave after a time. Trades stay: reputation is counted from them. */
import type { SqlClient } from '@svc/runtime/database.ts';

const AT_ONCE = 1000;
const LONG_AGO = `clock_timestamp() - make_interval(days => $1::int)`;

/** Whoever withdrew or accepted one did so before it would have expired. One whose trade is still open may be open again. */
const BIDS = `DELETE FROM market.bids WHERE bid_id IN (
  SELECT bid_id FROM market.bids b WHERE expires_at < ${LONG_AGO} AND NOT EXISTS (
    SELECT 1 FROM market.trades t WHERE t.trade_id = b.trade_id AND t.closed_at IS NULL) LIMIT ${AT_ONCE})`;

/** Where all is sold, and the last trade was closed so long ago, nothing comes back. */
const LISTINGS = `DELETE FROM market.listings WHERE taken = supply AND listing_id IN (
  SELECT listing_id FROM market.listings l WHERE taken = supply AND created_at < ${LONG_AGO}
    AND NOT EXISTS (SELECT 1 FROM market.trades t
      WHERE t.listing_id = l.listing_id AND (t.closed_at IS NULL OR t.closed_at >= ${LONG_AGO}))
    AND NOT EXISTS (SELECT 1 FROM market.bids b WHERE b.listing_id = l.listing_id) LIMIT ${AT_ONCE})`;

/** Deletes what was over so many days ago. */
export async function sweepOffers(client: SqlClient, keptDays: number): Promise<void> {
  for (const statement of [BIDS, LISTINGS]) {
    for (let gone = AT_ONCE; gone === AT_ONCE; ) gone = await client.$executeRawUnsafe(statement, keptDays);
  }
}
