/**
 * What must hold of every account at every moment, asked in statements that are of one moment. Entries never change, so what
 * was read of them once is kept as checkpoints, and a look at all accounts reads what came since.
 */
import type { SqlClient } from '@svc/runtime/database.ts';

type InvariantName = 'amounts' | 'pending' | 'balances' | 'members' | 'deadlines' | 'chain' | 'chain-end' | 'sinks';

export interface Violation {
  readonly invariant: InvariantName;
  /** A sink has no row that could be frozen; null = a record of nobody. */
  readonly account: string | null;
}

/** How long after its deadline a hold may still wait to be tidied up. */
const DEADLINE_GRACE = "interval '60 seconds'";

const PAID = "CASE WHEN payee IS NULL THEN 0 WHEN kind = 'refund' THEN -amount ELSE amount END";

/** Of the entries `fresh`, after those that the checkpoints `base` stand for. */
const ENTERED = `
  entered AS (
    SELECT e.*, json_build_array(entry_id, account, e.no::text, floor(extract(epoch FROM at) * 1000)::bigint::text, kind,
      ref, by, memo, member, payee, amount::text, refund_of, prev_hash)::text AS content,
      coalesce(lag(e.hash) OVER chain, b.hash) AS before, row_number() OVER chain + coalesce(b.no, 0) AS place
    FROM fresh e LEFT JOIN base b USING (account) WINDOW chain AS (PARTITION BY account ORDER BY e.no)
  )`;

const MOVED = `
  moved AS (
    SELECT account, sum(spent) AS spent, sum(earned) AS earned FROM (
      SELECT account, spent, earned FROM base
      UNION ALL SELECT account, ${PAID}, 0 FROM fresh
      UNION ALL SELECT payee, 0, ${PAID} FROM fresh WHERE payee IS NOT NULL) m GROUP BY account
  )`;

const CHAIN = `SELECT 'chain' AS invariant, account FROM entered
    WHERE hash <> encode(sha256(convert_to(content, 'UTF8')), 'hex') OR prev_hash IS DISTINCT FROM before OR no <> place`;

/** `ofAsked`: condition on a column that names an account, for whoever asks about some alone. */
function balances(ofAsked: (column: string) => string): string {
  return `
  asked AS (SELECT * FROM escrow.accounts WHERE ${ofAsked('account_id')}),
  reserved AS (
    SELECT account, sum(amount) AS pending FROM escrow.holds WHERE state = 'held' AND ${ofAsked('account')} GROUP BY account
  ),
  drawn AS (
    SELECT 'ws:' || workspace_id AS account, sum(spent) AS spent, sum(pending) AS pending FROM escrow.members
    WHERE ${ofAsked("'ws:' || workspace_id")} GROUP BY 1
  ),
  found AS MATERIALIZED (
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
    UNION ${CHAIN}
    UNION SELECT 'chain-end', a.account_id FROM asked a
      LEFT JOIN LATERAL (SELECT no, hash FROM escrow.entries e WHERE e.account = a.account_id ORDER BY no DESC LIMIT 1) e ON true
      WHERE a.entry_count <> coalesce(e.no, 0) OR a.last_hash IS DISTINCT FROM e.hash
    UNION SELECT 'sinks', coalesce(s.account, m.account) FROM
      (SELECT account_id AS account, sum(earned) AS earned FROM escrow.sinks WHERE ${ofAsked('account_id')} GROUP BY 1) s
      FULL JOIN (SELECT * FROM moved WHERE account LIKE 'sink:%') m ON m.account = s.account
      WHERE coalesce(s.earned, 0) <> coalesce(m.earned, 0)
  )`;
}

const OF_SOME = `
  WITH base AS (SELECT account, no, hash FROM escrow.checkpoints WHERE false),
  fresh AS (SELECT * FROM escrow.entries WHERE account = ANY($1::text[])),
  ${ENTERED},
  moved AS (
    SELECT account, sum(spent) AS spent, sum(earned) AS earned FROM (
      SELECT account, ${PAID} AS spent, 0 AS earned FROM fresh
      UNION ALL SELECT payee, 0, ${PAID} FROM escrow.entries WHERE payee = ANY($1::text[])) m GROUP BY account
  ),
  ${balances((column) => `${column} = ANY($1::text[])`)}
  SELECT * FROM found ORDER BY 1, 2`;

/** Each account is asked for what came since by its index: a plan for many accounts at once reads the whole ledger. */
const SINCE = `
  WITH base AS (SELECT * FROM escrow.checkpoints WHERE generation = $1),
  fresh AS MATERIALIZED (
    SELECT e.* FROM escrow.accounts a LEFT JOIN base b ON b.account = a.account_id
    CROSS JOIN LATERAL (
      SELECT * FROM escrow.entries e WHERE e.account = a.account_id AND e.no > coalesce(b.no, 0) OFFSET 0) e
    WHERE a.entry_count > coalesce(b.no, 0)
  ),
  ${ENTERED}, ${MOVED}, ${balances(() => 'true')}`;

const OF_ALL = `${SINCE} SELECT * FROM found ORDER BY 1, 2`;

/** What was read becomes a part of the checkpoints, unless something was found that is not known yet. */
const KEEP = `
  allowed AS (SELECT NOT EXISTS (SELECT 1 FROM found WHERE NOT coalesce(account, '') = ANY($2::text[])) AS now),
  kept AS (
    INSERT INTO escrow.checkpoints AS t (generation, account, no, hash, spent, earned)
    SELECT $1, m.account, coalesce(l.no, b.no, 0), coalesce(l.hash, b.hash), m.spent, m.earned
    FROM moved m LEFT JOIN base b USING (account)
      LEFT JOIN (SELECT DISTINCT ON (account) account, no, hash FROM fresh ORDER BY account, no DESC) l USING (account)
    WHERE (SELECT now FROM allowed)
      AND m.account IN (SELECT account FROM fresh UNION SELECT payee FROM fresh WHERE payee IS NOT NULL)
    ON CONFLICT (generation, account) DO UPDATE
      SET no = excluded.no, hash = excluded.hash, spent = excluded.spent, earned = excluded.earned
  )`;

const SHOWN = `(SELECT count(*)::int FROM fresh) AS entries, coalesce((SELECT json_agg(json_build_object(
    'invariant', invariant, 'account', account) ORDER BY invariant, account) FROM found), '[]') AS found`;

const CATCH_UP = `${SINCE}, ${KEEP} SELECT ${SHOWN}`;

const READ_ON = `
  WITH fresh AS MATERIALIZED (
    SELECT * FROM escrow.entries WHERE (account, no) > ($3::text, $4::bigint) ORDER BY account, no LIMIT $5
  ),
  base AS (
    SELECT * FROM escrow.checkpoints WHERE generation = $1
      AND account IN (SELECT account FROM fresh UNION SELECT payee FROM fresh)
  ),
  ${ENTERED}, ${MOVED}, found AS MATERIALIZED (SELECT DISTINCT * FROM (${CHAIN}) c), ${KEEP},
  went AS (
    UPDATE escrow.verification SET after_account = l.account, after_no = l.no
    FROM (SELECT account, no FROM fresh ORDER BY account DESC, no DESC LIMIT 1) l WHERE (SELECT now FROM allowed)
  )
  SELECT ${SHOWN}`;

/** `null` = all accounts, of which everything is read that `generation` of checkpoints does not stand for; 0 = the whole ledger. */
export function readViolations(
  client: SqlClient,
  accounts: readonly string[] | null = null,
  generation = 0n,
): Promise<Violation[]> {
  return accounts === null
    ? client.$queryRawUnsafe<Violation[]>(OF_ALL, generation)
    : client.$queryRawUnsafe<Violation[]>(OF_SOME, accounts);
}

export interface Reading {
  /** How many entries it read. */
  readonly entries: number;
  readonly found: readonly Violation[];
}

/** What is known, by account, holds nobody up: its checkpoints are written all the same. */
type Known = readonly string[];

/** All accounts, by what came since the checkpoints, which then stand for that too. */
export async function catchUp(tx: SqlClient, generation: bigint, known: Known): Promise<Reading> {
  return theRow(await tx.$queryRawUnsafe<Reading[]>(CATCH_UP, generation, known));
}

export interface Place {
  readonly account: string;
  readonly no: bigint;
}

/** The chains of the next entries, for the checkpoints of a generation that is not complete yet. */
export async function readOn(
  tx: SqlClient,
  { generation, after, limit }: { readonly generation: bigint; readonly after: Place; readonly limit: number },
  known: Known,
): Promise<Reading> {
  return theRow(await tx.$queryRawUnsafe<Reading[]>(READ_ON, generation, known, after.account, after.no, limit));
}

function theRow([row]: readonly Reading[]): Reading {
  if (row === undefined) throw new Error('a statement without a condition gave no row');
  return row;
}
