/** Rows of trades, and the statements that read and change them. */
import type { SqlClient } from '@svc/runtime/database.ts';
import type { ClosedState, Decider, Settlement, Trade } from '../domain/trade.ts';

export interface TradeRow extends Trade {
  /** Under whom the buyer counted when it bought. */
  readonly buyerFamily: string;
  readonly bidId: string | null;
  readonly price: string | null;
  /** Whose pool pays; null = the buyer's own budget. */
  readonly workspace: string | null;
  readonly scope: string | null;
  readonly operator: boolean;
  readonly settlement: Settlement;
  readonly createdAt: number;
  readonly deliveredAt: number | null;
  readonly closedAt: number | null;
  readonly closedBy: Decider | null;
  readonly openKey: string | null;
  readonly argsHash: string | null;
  readonly reported: boolean;
  readonly version: number;
  /** SHA-256 of what was delivered; null = nothing yet. */
  readonly payloadHash: string | null;
  /** Clock of the database when the row was read, ms since the epoch. */
  readonly now: number;
}

/** A closed one, whose money follows. */
export type ClosedTrade = TradeRow & { readonly state: ClosedState };

const ms = (column: string): string => `floor(extract(epoch FROM ${column}) * 1000)::float8`;

export const COLUMNS = `trade_id AS "tradeId", kind, listing_id AS "listingId", bid_id AS "bidId", seller, buyer,
  buyer_family AS "buyerFamily", price, amount, workspace, scope, operator, state, settlement, ${ms('created_at')} AS "createdAt", ${ms('due_at')} AS "dueAt",
  window_ms::float8 AS "windowMs", unsettled, ${ms('delivered_at')} AS "deliveredAt", ${ms('closed_at')} AS "closedAt",
  closed_by AS "closedBy", open_key AS "openKey", args_hash AS "argsHash", reported, version,
  payload_hash AS "payloadHash", ${ms('clock_timestamp()')} AS now`;

async function readOne(tx: SqlClient, rest: string, ...values: readonly unknown[]): Promise<TradeRow | null> {
  const [row = null] = await tx.$queryRawUnsafe<TradeRow[]>(`SELECT ${COLUMNS} FROM market.trades ${rest}`, ...values);
  return row;
}

export function readTrade(tx: SqlClient, tradeId: string): Promise<TradeRow | null> {
  return readOne(tx, 'WHERE trade_id = $1', tradeId);
}

/** By their ids, in one order for everybody. The clock of each is read after its lock is there: nobody who waited is judged by the time at which it came. */
export async function lockTrades(tx: SqlClient, tradeIds: readonly string[]): Promise<Map<string, TradeRow>> {
  const rows = await tx.$queryRawUnsafe<TradeRow[]>(
    `WITH locked AS MATERIALIZED (SELECT * FROM market.trades WHERE trade_id = ANY($1::text[]) ORDER BY trade_id FOR UPDATE)
     SELECT ${COLUMNS} FROM locked`,
    tradeIds,
  );
  return new Map(rows.map((row) => [row.tradeId, row]));
}

/** The trade that a keyed call began. */
export function readBegun(client: SqlClient, openKey: string): Promise<TradeRow | null> {
  return readOne(client, 'WHERE open_key = $1', openKey);
}

export function lockBegun(tx: SqlClient, openKey: string): Promise<TradeRow | null> {
  return readOne(tx, 'WHERE open_key = $1 FOR UPDATE', openKey);
}

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

/** Resolves with the moment, in ms since the epoch; null = there is one under that key, or with that id. */
export async function insertTrade(tx: SqlClient, trade: NewTrade): Promise<number | null> {
  const { tradeId, kind, listingId, bidId, seller, buyer, price, amount, workspace, scope, operator } = trade;
  const { windowMs, unsettled, openKey, argsHash, buyerFamily } = trade;
  const [row] = await tx.$queryRawUnsafe<Tried[]>(
    `INSERT INTO market.trades (trade_id, kind, listing_id, bid_id, seller, buyer, price, amount, workspace, scope, operator,
       state, settlement, created_at, due_at, window_ms, unsettled, open_key, args_hash, buyer_family, tried_at)
     SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 'opening', 'none', at, at + $12 * interval '1 ms', $12, $13, $14,
       $15, $16, at FROM (SELECT clock_timestamp() AS at) moment
     ON CONFLICT DO NOTHING RETURNING ${ms('tried_at')} AS "triedAt"`,
    tradeId,
    kind,
    listingId,
    bidId,
    seller,
    buyer,
    price,
    amount,
    workspace,
    scope,
    operator,
    windowMs,
    unsettled,
    openKey,
    argsHash,
    buyerFamily,
  );
  return row?.triedAt ?? null;
}

/** A purchase of many: what became of its trade, and of its listing after all of them. */
interface Granted extends Tried {
  readonly tradeId: string;
  readonly listingId: string;
  readonly left: number;
  readonly type: string;
  readonly seller: string;
  readonly scope: string | null;
}

/**
 * One more of its listing is sold for each that there is, in the order of the purchases; those beyond are left out, and so
 * are those of a listing that is not there.
 */
export function beginTrades(tx: SqlClient, purchases: readonly NewTrade[]): Promise<Granted[]> {
  return tx.$queryRawUnsafe<Granted[]>(
    BEGIN_TRADES,
    JSON.stringify(purchases.map((purchase, place) => ({ ...purchase, amount: String(purchase.amount), place }))),
    [...new Set(purchases.map(({ listingId }) => listingId))],
  );
}

const BEGIN_TRADES = `
  WITH wanted AS (
    SELECT *, row_number() OVER (PARTITION BY "listingId" ORDER BY place) AS turn
    FROM json_to_recordset($1::json) AS r(place int, "tradeId" text, kind text, "listingId" text, seller text, buyer text,
      "buyerFamily" text, price text, amount bigint, workspace text, scope text, operator boolean, "windowMs" bigint, unsettled text)
  ), locked AS MATERIALIZED (
    SELECT listing_id, supply - taken AS free FROM market.listings WHERE listing_id = ANY($2::text[])
    ORDER BY listing_id FOR UPDATE
  ), granted AS MATERIALIZED (
    SELECT wanted.*, clock_timestamp() AS at FROM wanted JOIN locked ON listing_id = "listingId" WHERE turn <= free
  ), sold AS (
    UPDATE market.listings l SET taken = taken + more.count
    FROM (SELECT "listingId" AS id, count(*)::int AS count FROM granted GROUP BY 1) more
    WHERE l.listing_id = more.id AND l.listing_id = ANY($2::text[])
    RETURNING l.listing_id, supply - taken AS left, type, l.seller, l.scope
  ), begun AS (
    INSERT INTO market.trades (trade_id, kind, listing_id, seller, buyer, buyer_family, price, amount, workspace, scope, operator,
      state, settlement, created_at, due_at, window_ms, unsettled, tried_at)
    SELECT "tradeId", kind, "listingId", seller, buyer, "buyerFamily", price, amount, workspace, scope, operator, 'opening', 'none', at,
      at + "windowMs" * interval '1 ms', "windowMs", unsettled, at FROM granted
    RETURNING trade_id, listing_id, tried_at
  )
  SELECT trade_id AS "tradeId", listing_id AS "listingId", ${ms('tried_at')} AS "triedAt", "left", type, sold.seller,
    sold.scope FROM begun JOIN sold USING (listing_id)`;

interface Tried {
  readonly triedAt: number;
}

/** What was begun is gone on with; resolves with the moment, in ms since the epoch. */
export async function tryAgain(tx: SqlClient, tradeId: string): Promise<number> {
  const [row] = await tx.$queryRawUnsafe<Tried[]>(
    `UPDATE market.trades SET tried_at = clock_timestamp() WHERE trade_id = $1 RETURNING ${ms('tried_at')} AS "triedAt"`,
    tradeId,
  );
  if (row === undefined) throw new Error('a locked trade is gone');
  return row.triedAt;
}

export interface Sold {
  readonly left: number;
  readonly type: string;
  readonly seller: string;
  readonly scope: string | null;
}

/** One more is sold; null = nothing is left, or there is no such listing. */
export async function takeSupply(tx: SqlClient, listingId: string): Promise<Sold | null> {
  const [row = null] = await tx.$queryRawUnsafe<Sold[]>(
    `UPDATE market.listings SET taken = taken + 1 WHERE listing_id = $1 AND taken + 1 <= supply
     RETURNING supply - taken AS left, type, seller, scope`,
    listingId,
  );
  return row;
}

/** One less is sold, for each time that a listing is named. */
export async function restoreSupply(tx: SqlClient, listingIds: readonly string[]): Promise<void> {
  if (listingIds.length === 0) return;
  await tx.$executeRawUnsafe(
    `WITH locked AS MATERIALIZED (
       SELECT listing_id FROM market.listings WHERE listing_id = ANY($1::text[]) ORDER BY listing_id FOR UPDATE
     )
     UPDATE market.listings l SET taken = taken - back.count
     FROM locked, (SELECT id, count(*)::int AS count FROM unnest($1::text[]) AS id GROUP BY id) back
     WHERE l.listing_id = locked.listing_id AND l.listing_id = back.id`,
    listingIds,
  );
}

/** Trades of the listing whose skill was not delivered in time, though nobody has looked yet. */
export async function readUndelivered(tx: SqlClient, listingId: string): Promise<string[]> {
  const rows = await tx.$queryRawUnsafe<{ trade_id: string }[]>(
    `SELECT trade_id FROM market.trades WHERE listing_id = $1 AND state = 'pending_delivery' AND due_at <= clock_timestamp()
     LIMIT 10`,
    listingId,
  );
  return rows.map((row) => row.trade_id);
}

/** What of a trade changes after it began. */
export interface TradeWrite
  extends Pick<
    TradeRow,
    'tradeId' | 'state' | 'settlement' | 'dueAt' | 'deliveredAt' | 'closedAt' | 'closedBy' | 'reported' | 'version'
  > {
  /** JSON text of what is delivered with this change. */
  readonly payload: string | null;
  readonly payloadHash: string | null;
  /** The version that it was read with. */
  readonly was: number;
}

/** The statement that decides: its winners alone move money. Throws when a trade is not what was locked. */
export async function writeTrades(tx: SqlClient, writes: readonly TradeWrite[]): Promise<void> {
  if (writes.length === 0) return;
  const written = await tx.$executeRawUnsafe(
    `UPDATE market.trades t SET state = r.state, settlement = r.settlement, due_at = to_timestamp(r."dueAt" / 1000.0),
       delivered_at = to_timestamp(r."deliveredAt" / 1000.0), closed_at = to_timestamp(r."closedAt" / 1000.0),
       closed_by = r."closedBy", payload = coalesce(r.payload, t.payload), payload_hash = r."payloadHash",
       reported = r.reported, version = r.version
     FROM json_to_recordset($1::json) AS r("tradeId" text, state text, settlement text, "dueAt" float8,
       "deliveredAt" float8, "closedAt" float8, "closedBy" text, payload text, "payloadHash" text, reported boolean,
       version int, was int)
     WHERE t.trade_id = r."tradeId" AND t.trade_id = ANY($2::text[]) AND t.version = r.was`,
    JSON.stringify(writes.map(writtenOf)),
    writes.map(({ tradeId }) => tradeId),
  );
  if (written !== writes.length) throw new Error('a locked trade changed');
}

function writtenOf(write: TradeWrite): TradeWrite {
  const { tradeId, state, settlement, dueAt, deliveredAt, closedAt, closedBy, payload, payloadHash } = write;
  const { reported, version, was } = write;
  return {
    tradeId,
    state,
    settlement,
    dueAt,
    deliveredAt,
    closedAt,
    closedBy,
    payload,
    payloadHash,
    reported,
    version,
    was,
  };
}

/** What was delivered, as JSON text. */
export async function readPayload(client: SqlClient, tradeId: string): Promise<string | null> {
  const [row] = await client.$queryRawUnsafe<{ payload: string | null }[]>(
    'SELECT payload FROM market.trades WHERE trade_id = $1',
    tradeId,
  );
  return row?.payload ?? null;
}

export async function countOpen(client: SqlClient, listingId: string): Promise<number> {
  const [row] = await client.$queryRawUnsafe<{ count: number }[]>(
    `SELECT count(*)::int AS count FROM market.trades
     WHERE listing_id = $1 AND state IN ('pending', 'pending_delivery', 'delivered') AND due_at > now()`,
    listingId,
  );
  return row?.count ?? 0;
}

/** Trades of each family of buyers that are not over, those that begin included; families without any are left out. */
export async function countOpenOfFamilies(tx: SqlClient, families: readonly string[]): Promise<Map<string, number>> {
  const rows = await tx.$queryRawUnsafe<{ family: string; count: number }[]>(
    `SELECT buyer_family AS family, count(*)::int AS count FROM market.trades
     WHERE buyer_family = ANY($1::text[]) AND state IN ('opening', 'pending', 'pending_delivery', 'delivered') GROUP BY 1`,
    families,
  );
  return new Map(rows.map(({ family, count }) => [family, count]));
}
