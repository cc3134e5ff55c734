/** What a seller's closed trades come to, by the families of those who bought. */
import type { SqlClient } from '@svc/runtime/database.ts';
import type { View } from '../access.ts';
import { type Partner, WHOLE, WITHOUT_MONEY } from '../domain/reputation.ts';
import { VISIBLE, visibleTo } from './offer-rows.ts';

/** Only trades that `view` may know of. */
export function readPartners(client: SqlClient, view: View, seller: string): Promise<Partner[]> {
  return client.$queryRawUnsafe<Partner[]>(PARTNERS, ...visibleTo(view), seller, WHOLE, WITHOUT_MONEY);
}

const CREDIT = 'CASE WHEN amount = 0 THEN $5::bigint ELSE least(amount, $4::bigint) END';
const creditOf = (outcome: string): string =>
  `least($4::bigint, coalesce(sum(${CREDIT}) FILTER (WHERE ${outcome}), 0))::bigint`;

const PARTNERS = `
  SELECT buyer_family AS family, ${creditOf("state <> 'refuted'")} AS good, ${creditOf("state = 'refuted'")} AS bad,
    (count(*) FILTER (WHERE state <> 'refuted'))::int AS settled, (count(*) FILTER (WHERE state = 'refuted'))::int AS refuted
  FROM market.trades
  WHERE ${VISIBLE(1)} AND seller = $3 AND state IN ('completed', 'confirmed', 'refuted') GROUP BY 1`;
