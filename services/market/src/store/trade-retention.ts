/** What of a closed trade is kept for a time only. The trade stays: reputation is counted from it. */
import type { SqlClient } from '@svc/runtime/database.ts';
import { IDEMPOTENCY_KEPT_SINCE } from '@svc/runtime/idempotency.ts';

const AT_ONCE = 1000;

/** Its key has no outcome any more, so that the same key stands for something new. */
const KEYS = `UPDATE market.trades SET open_key = NULL, args_hash = NULL WHERE trade_id IN (
  SELECT trade_id FROM market.trades WHERE open_key IS NOT NULL AND closed_at < ${IDEMPOTENCY_KEPT_SINCE} LIMIT ${AT_ONCE})`;

/** What was delivered; its hash stays. */
const PAYLOADS = `UPDATE market.trades SET payload = NULL WHERE trade_id IN (
  SELECT trade_id FROM market.trades
  WHERE payload IS NOT NULL AND closed_at < clock_timestamp() - make_interval(days => $1::int) LIMIT ${AT_ONCE})`;

/** Takes from closed trades what their time is over for. */
export async function sweepTrades(client: SqlClient, payloadDays: number): Promise<void> {
  for (const [statement, ...values] of [[KEYS], [PAYLOADS, payloadDays]] as const) {
    for (let gone = AT_ONCE; gone === AT_ONCE; ) gone = await client.$executeRawUnsafe(statement, ...values);
  }
}
