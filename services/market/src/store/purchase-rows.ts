/** The rows that many purchases are judged by, read under their locks, and what comes of them, each in one statement. */
import type { SqlClient } from '@svc/runtime/database.ts';
import { IDEMPOTENCY_KEPT_MS } from '@svc/runtime/idempotency.ts';
import { nameLock } from '@svc/runtime/name-lock.ts';
import type { Statement } from '@svc/runtime/transaction.ts';
import type { Trade } from '../domain/trade.ts';
import { COLUMNS, ms, type TradeRow } from './trade-rows.ts';

export interface NewTrade extends Pick<Trade, 'tradeId' | 'kind' | 'buyer' | 'windowMs' | 'unsettled'> {
  readonly buyerFamily: string;
  readonly bidId: string | null;
  readonly seller: string;
  readonly listingId: string | null;
  readonly price: string | null;
  readonly amount: bigint;
  readonly workspace: string | null;
  readonly scope: string | null;
  readonly operator: boolean;
  readonly openKey: string | null;
  readonly argsHash: string | null;
}

/** Of a listing, before anything of it is taken. */
export interface Offered {
  readonly listingId: string;
  readonly left: number;
  readonly type: string;
  readonly seller: string;
  readonly scope: string | null;
}

export interface PurchaseRows {
  /** By the keys under which they began. */
  readonly begun: ReadonlyMap<string, TradeRow>;
  readonly listings: readonly Offered[];
  /** Ids of those that are open. */
  readonly bids: readonly string[];
  /** Trades of each family that are not over; families without any are left out. */
  readonly open: Readonly<Record<string, number>>;
  /** Clock of the database when all of it was locked, ms since the epoch. */
  readonly now: number;
}

const lockNames = nameLock('market');

/**
 * Locked in the order in which everybody locks: keys, trades, listings, bids. A twin that another process has under way is
 * waited for before its trade is looked for. Trades that others begin at this moment are not counted.
 */
export async function lockForPurchases(tx: SqlClient, trades: readonly NewTrade[]): Promise<PurchaseRows> {
  const named = (of: (trade: NewTrade) => string | null): string[] => [
    ...new Set(trades.map(of).filter((one) => one !== null)),
  ];
  const keys = named(({ openKey }) => openKey);
  const [, known, [row]] = await Promise.all([
    keys.length === 0 ? null : lockNames(tx, keys),
    keys.length === 0 ? [] : lockBegun(tx, keys),
    tx.$queryRawUnsafe<LockedRow[]>(
      LOCK,
      named(({ listingId }) => listingId),
      named(({ bidId }) => bidId),
      named(({ buyerFamily }) => buyerFamily),
    ),
  ]);
  if (row === undefined) throw new Error('a statement without a condition gave no row');
  const { listings, bids, open, now } = row;
  const begun = await forgetting(tx, known);
  return { begun: byKey(begun), listings: listings ?? [], bids: bids ?? [], open: open ?? {}, now };
}

interface LockedRow {
  readonly listings: Offered[] | null;
  readonly bids: string[] | null;
  readonly open: Record<string, number> | null;
  readonly now: number;
}

const LOCK = `
  WITH offered AS MATERIALIZED (
    SELECT listing_id, supply - taken AS "left", type, seller, scope FROM market.listings
    WHERE listing_id = ANY($1::text[]) ORDER BY listing_id FOR UPDATE
  ), bids AS MATERIALIZED (
    SELECT bid_id FROM market.bids WHERE bid_id = ANY($2::text[]) AND status = 'open' AND expires_at > clock_timestamp()
    ORDER BY bid_id FOR UPDATE
  ), open AS (
    SELECT buyer_family, count(*) AS count FROM market.trades
    WHERE buyer_family = ANY($3::text[]) AND state IN ('opening', 'pending', 'pending_delivery', 'delivered') GROUP BY 1
  )
  SELECT (SELECT json_agg(json_build_object('listingId', listing_id, 'left', "left", 'type', type, 'seller', seller,
      'scope', scope)) FROM offered) AS listings,
    (SELECT json_agg(bid_id) FROM bids) AS bids,
    (SELECT json_object_agg(buyer_family, count) FROM open) AS open,
    ${ms('clock_timestamp()')} AS now`;

/** The trades that keyed calls began, by their keys. */
export async function readBegun(
  client: SqlClient,
  openKeys: readonly string[],
): Promise<ReadonlyMap<string, TradeRow>> {
  return byKey((await begunWith(client, openKeys, '')).filter((trade) => !isForgotten(trade)));
}

/**
 * Its outcome is kept for as long as any other, and then the key stands for something new. Until it was opened a trade goes on
 * under its key, whenever that was used.
 */
function isForgotten({ state, createdAt, now }: TradeRow): boolean {
  return state !== 'opening' && state !== 'undoing' && createdAt < now - IDEMPOTENCY_KEPT_MS;
}

/** Those whose keys still stand for them; the keys of the others are free. */
async function forgetting(tx: SqlClient, begun: readonly TradeRow[]): Promise<readonly TradeRow[]> {
  const forgotten = begun.filter(isForgotten).map(({ tradeId }) => tradeId);
  if (forgotten.length === 0) return begun;
  await tx.$executeRawUnsafe(
    'UPDATE market.trades SET open_key = NULL, args_hash = NULL WHERE trade_id = ANY($1::text[])',
    forgotten,
  );
  return begun.filter((trade) => !isForgotten(trade));
}

function lockBegun(tx: SqlClient, openKeys: readonly string[]): Promise<TradeRow[]> {
  return begunWith(tx, openKeys, 'ORDER BY trade_id FOR UPDATE');
}

function begunWith(client: SqlClient, openKeys: readonly string[], rest: string): Promise<TradeRow[]> {
  return client.$queryRawUnsafe<TradeRow[]>(
    `SELECT ${COLUMNS} FROM market.trades WHERE open_key = ANY($1::text[]) ${rest}`,
    openKeys,
  );
}

function byKey(rows: readonly TradeRow[]): ReadonlyMap<string, TradeRow> {
  return new Map(rows.map((row) => [row.openKey ?? '', row]));
}

export interface Taken {
  readonly begun: readonly NewTrade[];
  /** Ids of trades that began before and are gone on with. */
  readonly again: readonly string[];
  /** When, in ms since the epoch by the clock of the database. */
  readonly at: number;
}

/** Of rows that are locked. */
export function takingOf({ begun, again, at }: Taken): Statement {
  const sold = Map.groupBy(
    begun.flatMap(({ listingId }) => listingId ?? []),
    (listingId) => listingId,
  );
  const accepted = begun.filter(({ bidId }) => bidId !== null);
  return {
    sql: TAKE,
    values: [
      JSON.stringify(begun.map((trade) => ({ ...trade, amount: String(trade.amount) }))),
      at,
      [...sold.keys()],
      [...sold.values()].map(({ length }) => length),
      accepted.map(({ bidId }) => bidId),
      accepted.map(({ tradeId }) => tradeId),
      again,
    ],
  };
}

const TAKE = `
  WITH moment AS (SELECT to_timestamp($2::float8 / 1000.0) AS at),
  sold AS (
    UPDATE market.listings l SET taken = taken + more.count FROM unnest($3::text[], $4::int[]) AS more (id, count)
    WHERE l.listing_id = more.id AND l.listing_id = ANY($3::text[])
  ), accepted AS (
    UPDATE market.bids b SET status = 'accepted', trade_id = won.trade_id
    FROM unnest($5::text[], $6::text[]) AS won (bid_id, trade_id) WHERE b.bid_id = won.bid_id
  ), again AS (
    UPDATE market.trades SET tried_at = (SELECT at FROM moment) WHERE trade_id = ANY($7::text[])
  )
  INSERT INTO market.trades (trade_id, kind, listing_id, bid_id, seller, buyer, buyer_family, price, amount, workspace, scope,
    operator, state, settlement, created_at, due_at, window_ms, unsettled, open_key, args_hash, tried_at)
  SELECT "tradeId", kind, "listingId", "bidId", seller, buyer, "buyerFamily", price, amount, workspace, scope, operator,
    'opening', 'none', at, at + "windowMs" * interval '1 ms', "windowMs", unsettled, "openKey", "argsHash", at
  FROM moment, json_to_recordset($1::json) AS r("tradeId" text, kind text, "listingId" text, "bidId" text, seller text,
    buyer text, "buyerFamily" text, price text, amount bigint, workspace text, scope text, operator boolean,
    "windowMs" bigint, unsettled text, "openKey" text, "argsHash" text)`;
