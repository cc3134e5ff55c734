/** Rows of trades, and the statements that read and change them. */
import type { SqlClient } from '@svc/runtime/database.ts';
import type { Statement } from '@svc/runtime/transaction.ts';
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

export const ms = (column: string): string => `floor(extract(epoch FROM ${column}) * 1000)::float8`;

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

/** By their ids, as they are. */
export async function readTrades(client: SqlClient, tradeIds: readonly string[]): Promise<Map<string, TradeRow>> {
  const rows = await client.$queryRawUnsafe<TradeRow[]>(
    `SELECT ${COLUMNS} FROM market.trades WHERE trade_id = ANY($1::text[])`,
    tradeIds,
  );
  return new Map(rows.map((row) => [row.tradeId, row]));
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

/**
 * The statement that decides: its winners alone move money. It goes out with COMMIT, so it fails by itself, as a division by
 * zero, when a trade is not what was locked.
 */
export function writingOf(writes: readonly TradeWrite[]): Statement {
  return {
    sql: WRITE,
    values: [JSON.stringify(writes.map(writtenOf)), writes.map(({ tradeId }) => tradeId), writes.length],
  };
}

const WRITE = `
  WITH written AS (
    UPDATE market.trades t SET state = r.state, settlement = r.settlement, due_at = to_timestamp(r."dueAt" / 1000.0),
      delivered_at = to_timestamp(r."deliveredAt" / 1000.0), closed_at = to_timestamp(r."closedAt" / 1000.0),
      closed_by = r."closedBy", payload = coalesce(r.payload, t.payload), payload_hash = r."payloadHash",
      reported = r.reported, version = r.version
    FROM json_to_recordset($1::json) AS r("tradeId" text, state text, settlement text, "dueAt" float8,
      "deliveredAt" float8, "closedAt" float8, "closedBy" text, payload text, "payloadHash" text, reported boolean,
      version int, was int)
    WHERE t.trade_id = r."tradeId" AND t.trade_id = ANY($2::text[]) AND t.version = r.was RETURNING 1
  )
  SELECT 1 / (count(*) = $3::int)::int AS all_written FROM written`;

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
