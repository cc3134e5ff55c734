/** The audit's chains as rows. An entry is added under the lock of its chain's head, and never touched again. */
import type { SqlClient } from '@svc/runtime/database.ts';
import {
  actorOfEntry,
  type ChainedEntry,
  type ChainEnd,
  chainOf,
  endAfter,
  FIRST_PREV_HASH,
  type NewAuditEntry,
  nextEntry,
  NODE_CHAIN,
} from '../domain/audit-chain.ts';
import type { AuditRow, KnownHead } from '../domain/audit-verdict.ts';
import type { Seal } from '../audit/seal.ts';
import { epochMs } from '@svc/runtime/sql-time.ts';

/** A new entry; without `at` it happens when its chain is its own. */
export type Appended = Omit<NewAuditEntry, 'at'> & { readonly at?: number };

interface HeadRow {
  readonly chain: string;
  readonly seq: bigint;
  readonly hash: string;
  readonly mac: string;
  readonly checkpointSeq: bigint;
}

interface LockedHead extends HeadRow {
  /** Clock of the database while the lock is held, ms since the epoch. */
  readonly now: number;
}

/**
 * Appends what is not there yet, in order, and answers what it appended. Entries of one chain wait for each other; who
 * appends to several locks them in one order.
 */
export async function appendEntries(tx: SqlClient, seal: Seal, entries: readonly Appended[]): Promise<ChainedEntry[]> {
  const chains = [...new Set(entries.map(({ workspace }) => chainOf(workspace)))].sort();
  const heads = await lockHeads(tx, seal, chains);
  const known = await knownIds(tx, entries);
  const appended: ChainedEntry[] = [];
  const moved: (ChainEnd & { readonly mac: string })[] = [];
  for (const head of heads) {
    let end = endOf(head);
    for (const entry of entries) {
      if (chainOf(entry.workspace) !== head.chain || known.has(entry.id)) continue;
      known.add(entry.id);
      const next = nextEntry(end, { at: Math.floor(head.now), ...entry });
      appended.push(next);
      end = endAfter(head.chain, next);
    }
    // An end that is not what was signed stays unsigned for ever: a new signature would vouch for it.
    const mac = seal.isSignatureOf(head.mac, endOf(head)) ? seal.sign(end) : head.mac;
    if (end.seq !== Number(head.seq)) moved.push({ ...end, mac });
  }
  if (appended.length > 0) await insert(tx, appended, moved);
  return appended;
}

async function lockHeads(tx: SqlClient, seal: Seal, chains: readonly string[]): Promise<LockedHead[]> {
  const first = chains.map((chain) => ({ chain, mac: seal.sign({ chain, seq: 0, hash: FIRST_PREV_HASH }) }));
  await tx.$executeRawUnsafe(
    `INSERT INTO habitat.audit_heads (chain, seq, hash, mac)
     SELECT f.chain, 0, $2, f.mac FROM json_to_recordset($1::json) AS f(chain text, mac text)
     WHERE NOT EXISTS (SELECT 1 FROM habitat.audit_heads h WHERE h.chain = f.chain)
     ORDER BY f.chain ON CONFLICT DO NOTHING`,
    JSON.stringify(first),
    FIRST_PREV_HASH,
  );
  await tx.$queryRawUnsafe(
    'SELECT 1 FROM habitat.audit_heads WHERE chain = ANY($1::text[]) ORDER BY chain FOR UPDATE',
    chains,
  );
  // Its clock is read after the locks are held, so that times in a chain do not run backwards.
  return tx.$queryRawUnsafe<LockedHead[]>(
    `SELECT ${HEAD_COLUMNS}, ${epochMs('clock_timestamp()')} AS now
     FROM habitat.audit_heads WHERE chain = ANY($1::text[]) ORDER BY chain`,
    chains,
  );
}

const HEAD_COLUMNS = 'chain, seq, hash, mac, checkpoint_seq AS "checkpointSeq"';

async function knownIds(tx: SqlClient, entries: readonly Appended[]): Promise<Set<string>> {
  const rows = await tx.$queryRawUnsafe<{ id: string }[]>(
    'SELECT id FROM habitat.audit_entries WHERE id = ANY($1::text[])',
    entries.map(({ id }) => id),
  );
  return new Set(rows.map(({ id }) => id));
}

async function insert(
  tx: SqlClient,
  entries: readonly ChainedEntry[],
  ends: readonly (ChainEnd & { readonly mac: string })[],
): Promise<void> {
  const rows = entries.map((entry) => ({
    ...entry,
    chain: chainOf(entry.workspace),
    actor: actorOfEntry(entry.subject),
  }));
  await tx.$executeRawUnsafe(
    `INSERT INTO habitat.audit_entries
       (chain, seq, id, at, event, kind, subject, workspace, data, prev_hash, hash, actor)
     SELECT e.chain, e.seq, e.id, to_timestamp(e.at / 1000.0), e.event, e.kind, e.subject, e.workspace, e.data,
       e."prevHash", e.hash, e.actor
     FROM json_to_recordset($1::json) AS e(chain text, seq int8, id text, at float8, event text, kind text, subject json,
       workspace text, data json, "prevHash" text, hash text, actor text)`,
    JSON.stringify(rows),
  );
  await tx.$executeRawUnsafe(
    `UPDATE habitat.audit_heads h SET seq = e.seq, hash = e.hash, mac = e.mac
     FROM json_to_recordset($1::json) AS e(chain text, seq int8, hash text, mac text) WHERE h.chain = e.chain`,
    JSON.stringify(ends),
  );
}

function endOf({ chain, seq, hash }: HeadRow): ChainEnd {
  return { chain, seq: Number(seq), hash };
}

/** Ends of chains that a checkpoint is due for; a signature that does not fit gets none. `chains` null = all of them. */
export async function readUnsaved(
  client: SqlClient,
  seal: Seal,
  chains: readonly string[] | null,
): Promise<ChainEnd[]> {
  const rows = await client.$queryRawUnsafe<HeadRow[]>(
    `SELECT ${HEAD_COLUMNS} FROM habitat.audit_heads
     WHERE checkpoint_seq <> seq AND ($1::text[] IS NULL OR chain = ANY($1::text[])) ORDER BY chain`,
    chains,
  );
  return rows.filter((row) => seal.isSignatureOf(row.mac, endOf(row))).map(endOf);
}

export async function noteSaved(client: SqlClient, ends: readonly ChainEnd[]): Promise<void> {
  await client.$executeRawUnsafe(
    `UPDATE habitat.audit_heads h SET checkpoint_seq = e.seq, checkpoint_at = clock_timestamp()
     FROM json_to_recordset($1::json) AS e(chain text, seq int8) WHERE h.chain = e.chain AND h.checkpoint_seq < e.seq`,
    JSON.stringify(ends),
  );
}

/** Every chain that has a head or entries; `only` = that one. */
export async function readChains(client: SqlClient, only: string | null): Promise<string[]> {
  const rows = await client.$queryRawUnsafe<{ chain: string }[]>(
    `SELECT chain FROM habitat.audit_heads WHERE $1::text IS NULL OR chain = $1
     UNION SELECT chain FROM habitat.audit_entries WHERE $1::text IS NULL OR chain = $1 ORDER BY chain`,
    only,
  );
  return rows.map(({ chain }) => chain);
}

export async function readHead(client: SqlClient, seal: Seal, chain: string): Promise<KnownHead | null> {
  const [row] = await client.$queryRawUnsafe<HeadRow[]>(
    `SELECT ${HEAD_COLUMNS} FROM habitat.audit_heads WHERE chain = $1`,
    chain,
  );
  if (row === undefined) return null;
  const end = endOf(row);
  return { ...end, vouched: seal.isSignatureOf(row.mac, end), checkpointSeq: Number(row.checkpointSeq) };
}

const NEWEST_HEADS = 100;

/**
 * Where no chain has begun, signs the beginning of the node's: of processes that start at once with different keys the first
 * one to come here is right.
 */
export async function claimChains(client: SqlClient, seal: Seal): Promise<void> {
  await client.$executeRawUnsafe(
    `INSERT INTO habitat.audit_heads (chain, seq, hash, mac)
     SELECT $1, 0, $2, $3 WHERE NOT EXISTS (SELECT 1 FROM habitat.audit_heads) ON CONFLICT DO NOTHING`,
    NODE_CHAIN,
    FIRST_PREV_HASH,
    seal.sign({ chain: NODE_CHAIN, seq: 0, hash: FIRST_PREV_HASH }),
  );
}

/**
 * Signs the ends anew that only the other key vouches for, and answers them; one that moved meanwhile is left to the next
 * time.
 */
export async function signAnew(client: SqlClient, seal: Seal): Promise<ChainEnd[]> {
  const rows = await client.$queryRawUnsafe<HeadRow[]>(
    `SELECT ${HEAD_COLUMNS} FROM habitat.audit_heads ORDER BY chain`,
  );
  const borrowed = rows.filter((row) => seal.isBorrowed(row.mac, endOf(row)));
  if (borrowed.length === 0) return [];
  const changes = borrowed.map(({ chain, mac, ...row }) => ({
    chain,
    was: mac,
    mac: seal.sign(endOf({ chain, mac, ...row })),
  }));
  await client.$executeRawUnsafe(
    `UPDATE habitat.audit_heads h SET mac = c.mac
     FROM json_to_recordset($1::json) AS c(chain text, was text, mac text) WHERE h.chain = c.chain AND h.mac = c.was`,
    JSON.stringify(changes),
  );
  return borrowed.map(endOf).filter(({ seq }) => seq > 0);
}

/** Of the chains that were saved last, whichever key signed them. */
export async function readNewestHeads(client: SqlClient, seal: Seal): Promise<{ readonly vouched: boolean }[]> {
  const rows = await client.$queryRawUnsafe<HeadRow[]>(
    `SELECT ${HEAD_COLUMNS} FROM habitat.audit_heads
     ORDER BY checkpoint_at DESC NULLS LAST LIMIT ${NEWEST_HEADS}`,
  );
  return rows.map((row) => ({ vouched: seal.isSignatureOf(row.mac, endOf(row)) }));
}

const PAGE = 1000;

export type AuditSqlRow = Omit<AuditRow, 'seq'> & { readonly seq: bigint };

export const ENTRY_COLUMNS = `chain, seq, id, ${epochMs('at')} AS at, event, kind, subject,
  workspace, data, prev_hash AS "prevHash", hash, actor`;

export function auditRow(row: AuditSqlRow): AuditRow {
  return { ...row, seq: Number(row.seq) };
}

/** The entries of a chain behind `after` (null = from the first one on) and up to `to`, in their order. */
export async function* readEntries(
  client: SqlClient,
  chain: string,
  { after: first, to }: { readonly after: number | null; readonly to: number },
): AsyncGenerator<AuditRow> {
  let after: bigint | number | null = first;
  for (;;) {
    const rows: AuditSqlRow[] = await client.$queryRawUnsafe<AuditSqlRow[]>(
      `SELECT ${ENTRY_COLUMNS} FROM habitat.audit_entries
       WHERE chain = $1 AND ($2::int8 IS NULL OR seq > $2) AND seq <= $3 ORDER BY seq LIMIT ${PAGE}`,
      chain,
      after,
      to,
    );
    for (const row of rows) yield auditRow(row);
    if (rows.length < PAGE) return;
    after = rows.at(-1)?.seq ?? after;
  }
}

/** Null when there is no such entry. */
export async function readHashAt(client: SqlClient, chain: string, seq: number): Promise<string | null> {
  const [row] = await client.$queryRawUnsafe<{ hash: string }[]>(
    'SELECT hash FROM habitat.audit_entries WHERE chain = $1 AND seq = $2',
    chain,
    seq,
  );
  return row?.hash ?? null;
}

/** The first entry of a chain that lies beyond its end, as both are at one moment; null = none. */
export async function readStray(client: SqlClient, chain: string): Promise<number | null> {
  const [row] = await client.$queryRawUnsafe<{ seq: bigint | null }[]>(
    `SELECT min(seq) AS seq FROM habitat.audit_entries WHERE chain = $1
       AND seq > coalesce((SELECT seq FROM habitat.audit_heads WHERE chain = $1), 0)`,
    chain,
  );
  return row?.seq == null ? null : Number(row.seq);
}
