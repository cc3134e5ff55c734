/** What must hold of every account at every moment, asked of all rows in one statement, that is of one moment. */
import type { SqlClient } from '@svc/runtime/database.ts';

type InvariantName = 'amounts' | 'pending' | 'balances' | 'members' | 'deadlines' | 'chain' | 'chain-end' | 'sinks';

export interface Violation {
  readonly invariant: InvariantName;
  /** A sink has no row that could be frozen; null = a record of nobody. */
  readonly account: string | null;
}

/** How long after its deadline a hold may still wait to be tidied up. */
const DEADLINE_GRACE = "interval '60 seconds'";

/** `ofAsked`: condition on a column that names an account, for whoever asks about some alone; else nothing is left out. */
function violations(ofAsked: (column: string) => string): string {
  return `
  WITH entered AS (
    SELECT e.*, json_build_array(entry_id, account, no::text, floor(extract(epoch FROM at) * 1000)::bigint::text, kind,
      ref, by, memo, member, payee, amount::text, refund_of, prev_hash)::text AS content,
      lag(hash) OVER (PARTITION BY account ORDER BY no) AS before,
      row_number() OVER (PARTITION BY account ORDER BY no) AS place
    FROM escrow.entries e WHERE ${ofAsked('account')}
  ),
  asked AS (SELECT * FROM escrow.accounts WHERE ${ofAsked('account_id')}),
  moved AS (
    SELECT p.account,
      sum(CASE WHEN (e.kind = 'refund') = (p.amount > 0) THEN -p.amount ELSE 0 END) AS spent,
      sum(CASE WHEN (e.kind = 'refund') = (p.amount < 0) THEN p.amount ELSE 0 END) AS earned
    FROM escrow.postings p JOIN escrow.entries e USING (entry_id) WHERE ${ofAsked('p.account')} GROUP BY p.account
  ),
  reserved AS (
    SELECT account, sum(amount) AS pending FROM escrow.holds WHERE state = 'held' AND ${ofAsked('account')} GROUP BY account
  ),
  drawn AS (
    SELECT 'ws:' || workspace_id AS account, sum(spent) AS spent, sum(pending) AS pending FROM escrow.members
    WHERE ${ofAsked("'ws:' || workspace_id")} GROUP BY 1
  )
  SELECT 'amounts' AS invariant, account_id AS account FROM asked
    WHERE least("limit", spent, earned, pending, "limit" + earned - spent - pending) < 0
  UNION SELECT 'pending', a.account_id FROM asked a LEFT JOIN reserved r ON r.account = a.account_id
    WHERE a.pending <> coalesce(r.pending, 0)
  UNION SELECT 'balances', a.account_id FROM asked a LEFT JOIN moved m ON m.account = a.account_id
    WHERE a.spent <> coalesce(m.spent, 0) OR a.earned <> coalesce(m.earned, 0)
  UNION SELECT 'members', a.account_id FROM asked a LEFT JOIN drawn d ON d.account = a.account_id
    WHERE a.kind = 'pool' AND (a.spent <> coalesce(d.spent, 0) OR a.pending <> coalesce(d.pending, 0))
  UNION SELECT 'deadlines', h.account FROM escrow.holds h LEFT JOIN escrow.accounts a ON a.account_id = h.account
    WHERE h.state = 'held' AND h.expires_at < clock_timestamp() - ${DEADLINE_GRACE} AND a.frozen_at IS NULL
      AND ${ofAsked('h.account')}
  UNION SELECT 'chain', account FROM entered
    WHERE hash <> encode(sha256(convert_to(content, 'UTF8')), 'hex') OR prev_hash IS DISTINCT FROM before OR no <> place
  UNION SELECT 'chain-end', a.account_id FROM asked a
    LEFT JOIN LATERAL (SELECT no, hash FROM escrow.entries e WHERE e.account = a.account_id ORDER BY no DESC LIMIT 1) e ON true
    WHERE a.entry_count <> coalesce(e.no, 0) OR a.last_hash IS DISTINCT FROM e.hash
  UNION SELECT 'sinks', coalesce(s.account, m.account) FROM
    (SELECT account_id AS account, sum(earned) AS earned FROM escrow.sinks WHERE ${ofAsked('account_id')} GROUP BY 1) s
    FULL JOIN (SELECT * FROM moved WHERE account LIKE 'sink:%') m ON m.account = s.account
    WHERE coalesce(s.earned, 0) <> coalesce(m.earned, 0)
  ORDER BY 1, 2`;
}

const OF_ALL = violations(() => 'true');
const OF_SOME = violations((column) => `${column} = ANY($1::text[])`);

/** Empty = everything holds. `accounts` null = all, which reads the whole ledger; some cost what there is of them. */
export function readViolations(client: SqlClient, accounts: readonly string[] | null = null): Promise<Violation[]> {
  return accounts === null
    ? client.$queryRawUnsafe<Violation[]>(OF_ALL)
    : client.$queryRawUnsafe<Violation[]>(OF_SOME, accounts);
}
