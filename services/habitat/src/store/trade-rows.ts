/** Reported trades as rows, and who has had a say by them. */
import type { SqlClient } from '@svc/runtime/database.ts';
import { GIVEN_OUTSIDE, SYSTEM } from './trust-rows.ts';

/** One text for what the trades of a family say about a seller, in one direction. */
export function tradeVoice(seller: string, family: string, direction: number): string {
  return JSON.stringify([seller, family, direction]);
}

/** Which voices have counted within a day, and who of the buyers has standing of its own. */
export async function readTradeVoices(
  tx: SqlClient,
  { sellers, buyers, families }: Readonly<Record<'sellers' | 'buyers' | 'families', readonly string[]>>,
): Promise<{ readonly heard: Set<string>; readonly haveStanding: ReadonlySet<string> }> {
  const [counted, standing] = await Promise.all([
    tx.$queryRawUnsafe<{ seller: string; family: string; direction: number }[]>(
      `SELECT DISTINCT entity_id AS seller, family, sign(delta)::int AS direction FROM habitat.trust_records
       WHERE entity_id = ANY($1::text[]) AND family = ANY($2::text[]) AND "by" = '${SYSTEM}' AND counted
         AND at > clock_timestamp() - interval '24 hours'`,
      sellers,
      families,
    ),
    tx.$queryRawUnsafe<{ id: string }[]>(
      `SELECT DISTINCT user_id AS id FROM habitat.roles WHERE user_id = ANY($1::text[]) AND ${GIVEN_OUTSIDE}`,
      buyers,
    ),
  ]);
  return {
    heard: new Set(counted.map(({ seller, family, direction }) => tradeVoice(seller, family, direction))),
    haveStanding: new Set(standing.map(({ id }) => id)),
  };
}

interface ReportedTrade {
  readonly tradeId: string;
  readonly seller: string;
  readonly outcome: string;
}

/** Ids of those that were not reported before. */
export async function insertTrades(tx: SqlClient, trades: readonly ReportedTrade[]): Promise<Set<string>> {
  if (trades.length === 0) return new Set();
  const rows = await tx.$queryRawUnsafe<{ trade_id: string }[]>(
    `INSERT INTO habitat.trust_trades (trade_id, seller, outcome, at)
     SELECT trade_id, seller, outcome, clock_timestamp() FROM unnest($1::text[], $2::text[], $3::text[])
       AS r(trade_id, seller, outcome) ORDER BY trade_id ON CONFLICT (trade_id) DO NOTHING RETURNING trade_id`,
    trades.map(({ tradeId }) => tradeId),
    trades.map(({ seller }) => seller),
    trades.map(({ outcome }) => outcome),
  );
  return new Set(rows.map((row) => row.trade_id));
}
