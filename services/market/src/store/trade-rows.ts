/** Rows of trades, and the statements that read and change them. */
import type { SqlClient } from '@svc/runtime/database.ts';
import type { View } from '../access.ts';
import type { SoldTrade } from '../domain/reputation.ts';
import type { ClosedState, Closing, Decider, Settlement, Trade, TradeState } from '../domain/trade.ts';
import { VISIBLE, visibleTo } from './offer-rows.ts';

export interface TradeRow extends Trade {
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

const COLUMNS = `trade_id AS "tradeId", kind, listing_id AS "listingId", bid_id AS "bidId", seller, buyer, price, amount,
  workspace, scope, operator, state, settlement, ${ms('created_at')} AS "createdAt", ${ms('due_at')} AS "dueAt",
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

/** The clock is read after the lock is there: nobody who waited is judged by the time at which it came. */
export async function lockTrade(tx: SqlClient, tradeId: string): Promise<TradeRow | null> {
  await tx.$queryRawUnsafe('SELECT 1 AS locked FROM market.trades WHERE trade_id = $1 FOR UPDATE', tradeId);
  return readTrade(tx, tradeId);
}

/** The trade that a keyed call began. */
export function readBegun(client: SqlClient, openKey: string): Promise<TradeRow | null> {
  return readOne(client, 'WHERE open_key = $1', openKey);
}

export function lockBegun(tx: SqlClient, openKey: string): Promise<TradeRow | null> {
  return readOne(tx, 'WHERE open_key = $1 FOR UPDATE', openKey);
}

export interface NewTrade extends Pick<Trade, 'tradeId' | 'kind' | 'buyer' | 'windowMs' | 'unsettled'> {
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
  const { windowMs, unsettled, openKey, argsHash } = trade;
  const [row] = await tx.$queryRawUnsafe<Tried[]>(
    `INSERT INTO market.trades (trade_id, kind, listing_id, bid_id, seller, buyer, price, amount, workspace, scope, operator,
       state, settlement, created_at, due_at, window_ms, unsettled, open_key, args_hash, tried_at)
     SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 'opening', 'none', at, at + $12 * interval '1 ms', $12, $13, $14,
       $15, at FROM (SELECT clock_timestamp() AS at) moment
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
  );
  return row?.triedAt ?? null;
}

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

export async function restoreSupply(tx: SqlClient, listingId: string | null): Promise<void> {
  if (listingId === null) return;
  await tx.$executeRawUnsafe('UPDATE market.listings SET taken = taken - 1 WHERE listing_id = $1', listingId);
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

/** From one state to the next; false when somebody else was faster. */
export async function moveTrade(tx: SqlClient, tradeId: string, from: TradeState, to: TradeState): Promise<boolean> {
  const moved = await tx.$executeRawUnsafe(
    'UPDATE market.trades SET state = $3, version = version + 1 WHERE trade_id = $1 AND state = $2',
    tradeId,
    from,
    to,
  );
  return moved === 1;
}

export interface Delivery {
  readonly text: string;
  readonly hash: string;
  readonly settleBy: number;
}

export async function deliverTrade(tx: SqlClient, tradeId: string, delivery: Delivery): Promise<boolean> {
  const { text, hash, settleBy } = delivery;
  const moved = await tx.$executeRawUnsafe(
    `UPDATE market.trades SET state = 'delivered', payload = $2, payload_hash = $3, delivered_at = clock_timestamp(),
       due_at = to_timestamp($4 / 1000.0), version = version + 1 WHERE trade_id = $1 AND state = 'pending_delivery'`,
    tradeId,
    text,
    hash,
    settleBy,
  );
  return moved === 1;
}

/** The statement that decides: its winner alone moves money. */
export async function closeTrade(tx: SqlClient, { tradeId, state }: Trade, closing: Closing): Promise<boolean> {
  const closed = await tx.$executeRawUnsafe(
    `UPDATE market.trades SET state = $3, settlement = 'pending', closed_at = clock_timestamp(), closed_by = $4,
       version = version + 1 WHERE trade_id = $1 AND state = $2`,
    tradeId,
    state,
    closing.state,
    closing.by,
  );
  return closed === 1;
}

/** Money has followed, or never will. */
export async function settleTrade(tx: SqlClient, tradeId: string, settlement: Unfinished): Promise<boolean> {
  const settled = await tx.$executeRawUnsafe(
    `UPDATE market.trades SET settlement = $2, version = version + 1 WHERE trade_id = $1 AND settlement = 'pending'`,
    tradeId,
    settlement,
  );
  return settled === 1;
}

type Unfinished = Extract<Settlement, 'done' | 'failed'>;

/** What was delivered, as JSON text. */
export async function readPayload(client: SqlClient, tradeId: string): Promise<string | null> {
  const [row] = await client.$queryRawUnsafe<{ payload: string | null }[]>(
    'SELECT payload FROM market.trades WHERE trade_id = $1',
    tradeId,
  );
  return row?.payload ?? null;
}

/** Closed trades of a seller that say something of it. */
export function readSold(client: SqlClient, view: View, seller: string): Promise<SoldTrade[]> {
  return client.$queryRawUnsafe<SoldTrade[]>(
    `SELECT buyer, amount, CASE state WHEN 'refuted' THEN 'refuted' ELSE 'confirmed' END AS outcome FROM market.trades
     WHERE ${VISIBLE(1)} AND seller = $3 AND state IN ('completed', 'confirmed', 'refuted')`,
    ...visibleTo(view),
    seller,
  );
}

export async function countOpen(client: SqlClient, listingId: string): Promise<number> {
  const [row] = await client.$queryRawUnsafe<{ count: number }[]>(
    `SELECT count(*)::int AS count FROM market.trades
     WHERE listing_id = $1 AND state IN ('pending', 'pending_delivery', 'delivered')`,
    listingId,
  );
  return row?.count ?? 0;
}
