/** Where chains of the audit were cut for their age, as rows. */
import type { SqlClient } from '@svc/runtime/database.ts';
import { type ChainEnd, signedCut } from '../domain/audit-chain.ts';
import type { KnownCut } from '../domain/audit-verdict.ts';
import type { Seal } from '../audit/seal.ts';

interface CutRow {
  readonly chain: string;
  readonly seq: bigint;
  readonly hash: string;
  readonly mac: string;
}

const CUT_COLUMNS = 'chain, seq, hash, mac';

function endOf({ chain, seq, hash }: CutRow): ChainEnd {
  return { chain, seq: Number(seq), hash };
}

/** Null when every entry that the chain ever had is there. */
export async function readCut(client: SqlClient, seal: Seal, chain: string): Promise<KnownCut | null> {
  const [row] = await client.$queryRawUnsafe<CutRow[]>(
    `SELECT ${CUT_COLUMNS} FROM habitat.audit_cuts WHERE chain = $1`,
    chain,
  );
  if (row === undefined) return null;
  const end = endOf(row);
  return { ...end, vouched: seal.isSignatureOf(row.mac, signedCut(end)) };
}

/** In a transaction: removes the entries of a chain up to that one. The trigger lets go what lies before a cut alone. */
export async function cutChain(tx: SqlClient, seal: Seal, cut: ChainEnd): Promise<void> {
  await tx.$executeRawUnsafe(
    `INSERT INTO habitat.audit_cuts (chain, seq, hash, mac, at) VALUES ($1, $2, $3, $4, clock_timestamp())
     ON CONFLICT (chain) DO UPDATE SET seq = EXCLUDED.seq, hash = EXCLUDED.hash, mac = EXCLUDED.mac, at = EXCLUDED.at
     WHERE audit_cuts.seq < EXCLUDED.seq`,
    cut.chain,
    cut.seq,
    cut.hash,
    seal.sign(signedCut(cut)),
  );
  await tx.$executeRawUnsafe('DELETE FROM habitat.audit_entries WHERE chain = $1 AND seq <= $2', cut.chain, cut.seq);
}

interface OverdueChain {
  readonly chain: string;
  /** The last entry that is to go. */
  readonly lastOld: number;
}

/** A chain is read whole to be cut, so that is not done every day: within this time, or this share of the entries. */
const SLACK_DAYS = 7;
const SLACK_SHARE = 10;
/** Whatever their number, younger entries stay: nobody can push out of the audit what it has just told. */
const LEAST_DAYS = 7;

const before = (days: string) => `clock_timestamp() - make_interval(days => ${days})`;
/** The last entry of the beginning of a chain of which all entries are older. */
const lastBefore = (days: string) => `coalesce(
  (SELECT min(e.seq) - 1 FROM habitat.audit_entries e WHERE e.chain = due.chain AND e.at >= ${before(days)}), due.seq)`;

/** Chains that have older or more entries than are kept of each, with how far they are to be cut. 0 = however old, or many. */
export async function readOverdue(
  client: SqlClient,
  kept: { readonly days: number; readonly entries: number },
): Promise<OverdueChain[]> {
  const rows = await client.$queryRawUnsafe<{ chain: string; lastOld: bigint | null }[]>(
    `WITH due AS (
       SELECT h.chain, h.seq FROM habitat.audit_heads h CROSS JOIN LATERAL
         (SELECT e.seq, e.at FROM habitat.audit_entries e WHERE e.chain = h.chain ORDER BY e.seq LIMIT 1) first
       WHERE ($1::int > 0 AND first.at < ${before(`$1::int + ${SLACK_DAYS}`)})
         OR ($2::int8 > 0 AND h.seq - first.seq >= $2::int8 + $2::int8 / ${SLACK_SHARE}
             AND first.at < ${before(`${LEAST_DAYS}`)})
     )
     SELECT chain, greatest(
       CASE WHEN $1::int > 0 THEN ${lastBefore('$1::int')} END,
       CASE WHEN $2::int8 > 0 THEN least(due.seq - $2::int8, ${lastBefore(`${LEAST_DAYS}`)}) END) AS "lastOld"
     FROM due ORDER BY chain`,
    kept.days,
    kept.entries,
  );
  return rows.map(({ chain, lastOld }) => ({ chain, lastOld: Number(lastOld) }));
}

/** Cuts that only the other key vouches for are signed with the one that stays. */
export async function signCutsAnew(client: SqlClient, seal: Seal): Promise<void> {
  const rows = await client.$queryRawUnsafe<CutRow[]>(`SELECT ${CUT_COLUMNS} FROM habitat.audit_cuts ORDER BY chain`);
  const changes = rows
    .filter((row) => seal.isBorrowed(row.mac, signedCut(endOf(row))))
    .map((row) => ({ chain: row.chain, was: row.mac, mac: seal.sign(signedCut(endOf(row))) }));
  if (changes.length === 0) return;
  await client.$executeRawUnsafe(
    `UPDATE habitat.audit_cuts u SET mac = c.mac
     FROM json_to_recordset($1::json) AS c(chain text, was text, mac text) WHERE u.chain = c.chain AND u.mac = c.was`,
    JSON.stringify(changes),
  );
}

/** Entries with their indexes, on disk. */
export async function auditBytes(client: SqlClient): Promise<number> {
  const [row] = await client.$queryRawUnsafe<{ bytes: bigint }[]>(
    `SELECT pg_total_relation_size('habitat.audit_entries') AS bytes`,
  );
  return Number(row?.bytes ?? 0);
}
