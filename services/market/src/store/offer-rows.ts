/** Rows of listings and bids, and the statements that read and change them. */
import type { SqlClient } from '@svc/runtime/database.ts';
import { epochMs } from '@svc/runtime/sql-time.ts';
import type { View } from '../access.ts';
import { foldedText, type ListingType, OPEN_AT_ONCE } from '../domain/offer.ts';

export interface ListingRow {
  readonly listingId: string;
  readonly type: ListingType;
  readonly title: string;
  readonly description: string;
  readonly tags: readonly string[];
  /** As it was written; null = free. */
  readonly price: string | null;
  /** Micro-credits; 0 = no money moves. */
  readonly amount: bigint;
  readonly supply: number;
  readonly taken: number;
  readonly seller: string;
  readonly scope: string | null;
  readonly payloadKind: string | null;
  readonly capabilityTag: string | null;
  readonly context: Readonly<Record<string, unknown>> | null;
  readonly createdAt: number;
}

export type NewListing = Omit<ListingRow, 'taken' | 'createdAt'> & { readonly family: string };

export interface BidRow {
  readonly bidId: string;
  readonly listingId: string | null;
  readonly title: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly price: string | null;
  readonly amount: bigint;
  readonly bidder: string;
  readonly scope: string | null;
  readonly status: 'open' | 'accepted' | 'withdrawn' | 'expired';
  readonly expiresAt: number;
  readonly tradeId: string | null;
  readonly createdAt: number;
}

export type NewBid = Omit<BidRow, 'status' | 'expiresAt' | 'tradeId' | 'createdAt'> & {
  readonly family: string;
  readonly openMs: number;
};

/**
 * Nothing was delivered of these in time: what they took can be sold again, though nobody has looked. Few of many, for a
 * minute at most.
 */
export const OVERDUE = `overdue AS MATERIALIZED (
  SELECT listing_id, count(*)::int AS count FROM market.trades
  WHERE state IN ('pending', 'pending_delivery', 'delivered') AND state = 'pending_delivery' AND due_at <= now() GROUP BY 1)`;
const OVERDUE_OF = '(SELECT count FROM overdue WHERE overdue.listing_id = listings.listing_id)';
export const IS_LEFT = '(taken < supply OR listing_id IN (SELECT listing_id FROM overdue))';

const listingWith = (
  taken: string,
): string => `listing_id AS "listingId", type, title, description, tags, price, amount, supply, ${taken},
  seller, scope, payload_kind AS "payloadKind", capability_tag AS "capabilityTag", context, ${epochMs('created_at')} AS "createdAt"`;

export const LISTING = listingWith(`taken - coalesce(${OVERDUE_OF}, 0) AS taken`);

/** What time has closed reads as closed, swept or not. */
const BID_STATUS = `CASE WHEN status = 'open' AND expires_at <= clock_timestamp() THEN 'expired' ELSE status END`;
const BID = `bid_id AS "bidId", listing_id AS "listingId", title, description, tags, price, amount, bidder, scope,
  ${BID_STATUS} AS status, ${epochMs('expires_at')} AS "expiresAt", trade_id AS "tradeId",
  ${epochMs('created_at')} AS "createdAt"`;

/** Parameters of `VISIBLE`. */
export const visibleTo = (view: View): [boolean, readonly string[]] =>
  view === 'everything' ? [true, []] : [false, view.scopes];

/** Condition on the scope of a row; `first` is the number of the first of two parameters. */
export const VISIBLE = (first: number): string =>
  `($${first}::boolean OR scope IS NULL OR scope = ANY($${first + 1}::text[]))`;

export async function insertListing(tx: SqlClient, listing: NewListing): Promise<ListingRow> {
  const folded = foldedText(listing);
  const [row] = await tx.$queryRawUnsafe<ListingRow[]>(
    `INSERT INTO market.listings (listing_id, type, title, description, tags, price, amount, supply, seller, scope,
       payload_kind, capability_tag, context, created_at, family, folded_title, folded)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13::json, clock_timestamp(), $14, $15, $16)
     RETURNING ${listingWith('taken')}`,
    listing.listingId,
    listing.type,
    listing.title,
    listing.description,
    listing.tags,
    listing.price,
    listing.amount,
    listing.supply,
    listing.seller,
    listing.scope,
    listing.payloadKind,
    listing.capabilityTag,
    listing.context === null ? null : JSON.stringify(listing.context),
    listing.family,
    folded.title,
    folded.all,
  );
  if (row === undefined) throw new Error('a listing was written and has no row');
  return row;
}

export async function countOffers(tx: SqlClient, family: string): Promise<number> {
  const [row] = await tx.$queryRawUnsafe<{ count: number }[]>(
    'SELECT count(*)::int AS count FROM market.listings WHERE family = $1 AND taken < supply',
    family,
  );
  return row?.count ?? 0;
}

/** Who offers what leaves a family no room for more; nobody where it has some. */
export async function readSellersWithoutRoom(client: SqlClient, family: string): Promise<string[]> {
  const rows = await client.$queryRawUnsafe<{ seller: string }[]>(
    `SELECT seller FROM (
       SELECT seller, count(*) OVER () AS offers FROM market.listings WHERE family = $1 AND taken < supply) l
     WHERE offers >= ${OPEN_AT_ONCE} GROUP BY seller`,
    family,
  );
  return rows.map(({ seller }) => seller);
}

/** Those of which something was left: none of them can be bought any more. */
export async function closeListings(
  tx: SqlClient,
  seller: string,
): Promise<Pick<ListingRow, 'listingId' | 'type' | 'scope'>[]> {
  return tx.$queryRawUnsafe(
    `WITH locked AS MATERIALIZED (
       SELECT listing_id FROM market.listings WHERE seller = $1 AND taken < supply ORDER BY listing_id FOR UPDATE
     )
     UPDATE market.listings l SET supply = taken FROM locked WHERE l.listing_id = locked.listing_id
     RETURNING l.listing_id AS "listingId", type, scope`,
    seller,
  );
}

/** In the order of the ids. */
export async function readListings(client: SqlClient, listingIds: readonly string[]): Promise<(ListingRow | null)[]> {
  const rows = await client.$queryRawUnsafe<ListingRow[]>(
    `WITH ${OVERDUE} SELECT ${LISTING} FROM market.listings WHERE listing_id = ANY($1::text[])`,
    listingIds,
  );
  const found = new Map(rows.map((row) => [row.listingId, row]));
  return listingIds.map((id) => found.get(id) ?? null);
}

export async function insertBid(tx: SqlClient, bid: NewBid): Promise<BidRow> {
  const [row] = await tx.$queryRawUnsafe<BidRow[]>(
    `INSERT INTO market.bids (bid_id, listing_id, title, description, tags, price, amount, bidder, scope, family, status,
       expires_at, created_at)
     SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 'open', at + $11 * interval '1 ms', at
     FROM (SELECT clock_timestamp() AS at) moment RETURNING ${BID}`,
    bid.bidId,
    bid.listingId,
    bid.title,
    bid.description,
    bid.tags,
    bid.price,
    bid.amount,
    bid.bidder,
    bid.scope,
    bid.family,
    bid.openMs,
  );
  if (row === undefined) throw new Error('a bid was written and has no row');
  return row;
}

export async function countBids(tx: SqlClient, family: string): Promise<number> {
  const [row] = await tx.$queryRawUnsafe<{ count: number }[]>(
    `SELECT count(*)::int AS count FROM market.bids
     WHERE family = $1 AND status = 'open' AND expires_at > clock_timestamp()`,
    family,
  );
  return row?.count ?? 0;
}

export async function readBid(client: SqlClient, bidId: string): Promise<BidRow | null> {
  const [row = null] = await client.$queryRawUnsafe<BidRow[]>(
    `SELECT ${BID} FROM market.bids WHERE bid_id = $1`,
    bidId,
  );
  return row;
}

export async function findBids(
  client: SqlClient,
  view: View,
  { listingId, status }: { readonly listingId: string | null; readonly status: string | null },
  { after, limit }: { readonly after: string | null; readonly limit: number },
): Promise<BidRow[]> {
  return client.$queryRawUnsafe<BidRow[]>(
    `SELECT ${BID} FROM market.bids
     WHERE ${VISIBLE(1)} AND ($3::text IS NULL OR listing_id = $3) AND ($4::text IS NULL OR ${BID_STATUS} = $4)
       AND ($5::text IS NULL OR bid_id < $5) ORDER BY bid_id DESC LIMIT $6`,
    ...visibleTo(view),
    listingId,
    status,
    after,
    limit,
  );
}

/** False when it was open no more. */
export async function withdrawBid(tx: SqlClient, bidId: string): Promise<boolean> {
  const closed = await tx.$executeRawUnsafe(
    `UPDATE market.bids SET status = 'withdrawn' WHERE bid_id = $1 AND status = 'open' AND expires_at > clock_timestamp()`,
    bidId,
  );
  return closed === 1;
}

/** The trade that it was accepted for never came to be. */
export async function reopenBid(tx: SqlClient, tradeId: string): Promise<void> {
  await tx.$executeRawUnsafe(`UPDATE market.bids SET status = 'open', trade_id = NULL WHERE trade_id = $1`, tradeId);
}

interface MarketCounts {
  readonly listings: number;
  readonly active: number;
  readonly bids: number;
  readonly types: Readonly<Record<string, number>>;
  readonly trades: Readonly<Record<string, number>>;
  readonly skillTrades: Readonly<Record<string, number>>;
  /** Micro-credits that were paid. */
  readonly volume: bigint;
}

/** Of trades those of `identity`, and those of the workspaces in the view: nobody else knows of a trade. */
export async function countMarket(client: SqlClient, view: View, identity: string | null): Promise<MarketCounts> {
  const seen = visibleTo(view);
  const [types, [bids], trades] = await Promise.all([
    client.$queryRawUnsafe<{ type: string; count: number; active: number }[]>(
      `WITH ${OVERDUE} SELECT type, count(*)::int AS count, (count(*) FILTER (WHERE ${IS_LEFT}))::int AS active
       FROM market.listings WHERE ${VISIBLE(1)} GROUP BY type`,
      ...seen,
    ),
    client.$queryRawUnsafe<{ count: number }[]>(
      `SELECT count(*)::int AS count FROM market.bids WHERE ${VISIBLE(1)}`,
      ...seen,
    ),
    client.$queryRawUnsafe<{ kind: string; state: string; count: number; paid: string }[]>(
      `SELECT kind, state, count(*)::int AS count,
         (coalesce(sum(amount) FILTER (WHERE state IN ('completed', 'confirmed')), 0))::text AS paid
       FROM market.trades WHERE ($1::boolean OR scope = ANY($2::text[]) OR $3 IN (buyer, seller))
         AND state NOT IN ('opening', 'undoing') GROUP BY kind, state`,
      ...seen,
      identity,
    ),
  ]);
  const byState = (kind: string) =>
    Object.fromEntries(trades.filter((row) => row.kind === kind).map(({ state, count }) => [state, count]));
  return {
    listings: types.reduce((sum, { count }) => sum + count, 0),
    active: types.reduce((sum, { active }) => sum + active, 0),
    bids: bids?.count ?? 0,
    types: Object.fromEntries(types.map(({ type, count }) => [type, count])),
    trades: byState('plain'),
    skillTrades: byState('skill'),
    volume: trades.reduce((sum, { paid }) => sum + BigInt(paid), 0n),
  };
}
