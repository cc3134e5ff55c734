/** Rows of topics and of what was admitted there, and the statements that read and change them. */
import type { SqlClient } from '@svc/runtime/database.ts';
import type { Waiting } from '@svc/runtime/runs-through.ts';
import { epochMs, NOW, timestampOf } from '@svc/runtime/sql-time.ts';
import type { Decision, Header, Status } from '../domain/ledger.ts';
import type { SignedDecision, SignedEntry } from '../domain/merge.ts';
import type { Sums } from '../domain/tally.ts';

export interface TopicRow {
  readonly header: Header;
  readonly headerHash: string;
  readonly headerSig: string | null;
  /** A copy of another node's. */
  readonly replica: boolean;
  readonly status: Status;
  readonly entries: number;
  /** Of a copy that is sealed, how many its owner says that there are. */
  readonly told: number;
  readonly sums: Sums;
  readonly voided: readonly string[];
  readonly decision: SignedDecision | null;
  /** Of the decided ledger. */
  readonly hash: string | null;
  readonly disputed: boolean;
  readonly synced: { readonly from: string; readonly at: number } | null;
  /** Clock of the database when the row was read, ms since the epoch. */
  readonly now: number;
  readonly ordinal: string;
}

interface Stored extends Omit<TopicRow, 'header' | 'decision' | 'synced'> {
  readonly header: string;
  readonly decision: string | null;
  readonly decisionSig: string | null;
  readonly boundSig: string | null;
  readonly syncedFrom: string | null;
  readonly syncedAt: number | null;
}

const ms = (column: string): string => `round(${epochMs(column)})`;

/** The ordinal is text: bare behind ORDER BY it would be sorted as one. */
const COLUMNS = `header, header_hash AS "headerHash", header_sig AS "headerSig", replica, status, entries, told, sums, voided, decision,
  decision_sig AS "decisionSig", decision_bound_sig AS "boundSig", hash, disputed, synced_from AS "syncedFrom", ${ms('synced_at')} AS "syncedAt",
  ${ms('clock_timestamp()')} AS now, ordinal::text AS ordinal`;

function topicRow({ header, decision, decisionSig, boundSig, syncedFrom, syncedAt, ...row }: Stored): TopicRow {
  const bound = boundSig === null || row.hash === null ? {} : { bound: { ledger: row.hash, sig: boundSig } };
  return {
    ...row,
    header: JSON.parse(header) as Header,
    decision: decision === null ? null : { decision: JSON.parse(decision) as Decision, sig: decisionSig, ...bound },
    synced: syncedFrom === null || syncedAt === null ? null : { from: syncedFrom, at: syncedAt },
  };
}

async function readTopics(tx: SqlClient, rest: string, ...values: readonly unknown[]): Promise<TopicRow[]> {
  const rows = await tx.$queryRawUnsafe<Stored[]>(`SELECT ${COLUMNS} FROM agora.topics ${rest}`, ...values);
  return rows.map(topicRow);
}

export async function readTopic(tx: SqlClient, topic: string): Promise<TopicRow | null> {
  const [row = null] = await readTopics(tx, 'WHERE topic = $1', topic);
  return row;
}

/** Those that there are, in no order. */
export function readTopicsOf(tx: SqlClient, topics: readonly string[]): Promise<TopicRow[]> {
  return readTopics(tx, 'WHERE topic = ANY($1::text[])', topics);
}

/** The clock is read after the lock is there: nobody who waited is judged by the time at which it came. */
export async function lockTopic(tx: SqlClient, topic: string): Promise<TopicRow | null> {
  await tx.$queryRawUnsafe('SELECT 1 AS locked FROM agora.topics WHERE topic = $1 FOR UPDATE', topic);
  return readTopic(tx, topic);
}

export interface TopicFilter {
  readonly status: Status | null;
  readonly thread: string | null;
}

/** The newest first; `after` = the ordinal that the page before ended with. */
export function listTopics(
  client: SqlClient,
  { status, thread }: TopicFilter,
  { after, limit }: { readonly after: string | null; readonly limit: number },
): Promise<TopicRow[]> {
  return readTopics(
    client,
    `WHERE ($1::text IS NULL OR status = $1) AND ($2::text IS NULL OR thread = $2)
       AND ($3::bigint IS NULL OR ordinal < $3::bigint) ORDER BY topics.ordinal DESC LIMIT $4::int`,
    status,
    thread,
    after,
    limit,
  );
}

/** Own ones under these names whose time is over, the longest first. */
export function overdueTopics(
  client: SqlClient,
  owners: readonly string[],
  after: Waiting | null,
  limit: number,
): Promise<Waiting[]> {
  return client.$queryRawUnsafe<Waiting[]>(
    `SELECT topic AS id, deadline::text AS at FROM agora.topics
     WHERE status = 'open' AND NOT replica AND deadline <= ${NOW} AND owner = ANY($1::text[])
       AND (deadline, topic) > ($2::timestamptz, $3) ORDER BY deadline, topic LIMIT $4::int`,
    owners,
    after?.at ?? '-infinity',
    after?.id ?? '',
    limit,
  );
}

export async function databaseNow(tx: SqlClient): Promise<number> {
  const [row] = await tx.$queryRawUnsafe<{ now: number }[]>(`SELECT ${ms('clock_timestamp()')} AS now`);
  if (row === undefined) throw new Error('a clock said nothing');
  return row.now;
}

/** One at a time for each family. */
export async function countOpen(tx: SqlClient, family: string): Promise<number> {
  await tx.$queryRawUnsafe(`SELECT pg_advisory_xact_lock(hashtextextended('agora.topics ' || $1, 0))::text`, family);
  const [row] = await tx.$queryRawUnsafe<{ open: number }[]>(
    `SELECT count(*)::int AS open FROM agora.topics WHERE family = $1 AND status = 'open' AND NOT replica`,
    family,
  );
  return row?.open ?? 0;
}

interface NewTopic {
  readonly header: Header;
  /** As it is hashed and signed. */
  readonly headerText: string;
  readonly headerHash: string;
  readonly headerSig: string | null;
  readonly family: string;
  readonly sums: Sums;
  /** Null = this node's own. */
  readonly syncedFrom: string | null;
  /** Under which node it is counted; null = under the family. */
  readonly broughtBy: string | null;
}

/** False = there is one of that name. */
export async function insertTopic(tx: SqlClient, topic: NewTopic): Promise<boolean> {
  const { header, headerText, headerHash, headerSig, family, sums, syncedFrom, broughtBy } = topic;
  const inserted = await tx.$executeRawUnsafe(
    `INSERT INTO agora.topics (topic, owner, replica, author, family, header, header_hash, header_sig, sealed, deadline,
       created_at, scope_owner, hidden, thread, status, sums, voided, synced_from, synced_at, brought_by)
     VALUES ($1, $2, $14::text IS NOT NULL, $3, $4, $5, $6, $7, $8, ${timestampOf('$9')}, ${timestampOf('$10')}, $11, $12, $13,
       'open', $15::json, '{}', $14, CASE WHEN $14 IS NULL THEN NULL ELSE clock_timestamp() END, $16)
     ON CONFLICT DO NOTHING`,
    header.topic,
    header.owner,
    header.author,
    family,
    headerText,
    headerHash,
    headerSig,
    header.sealed,
    header.deadline,
    header.createdAt,
    header.scope?.owner ?? null,
    header.scope?.visibility === 'scope',
    header.thread,
    syncedFrom,
    JSON.stringify(sums),
    broughtBy,
  );
  return inserted === 1;
}

/** What changes of a topic; the row is locked. */
type TopicChange = Partial<Pick<TopicRow, 'status' | 'entries' | 'told' | 'sums' | 'voided' | 'hash' | 'disputed'>> & {
  readonly decision?: { readonly text: string; readonly sig: string | null; readonly boundSig?: string | undefined };
  /** Heard of from this node, now. */
  readonly syncedFrom?: string;
};

export async function updateTopic(tx: SqlClient, topic: string, change: TopicChange): Promise<void> {
  const { sums, decision } = change;
  const orNull = <Value>(value: Value | undefined): Value | null => value ?? null;
  const updated = await tx.$executeRawUnsafe(
    `UPDATE agora.topics SET status = coalesce($2, status), entries = coalesce($3::int, entries),
       sums = coalesce($4::json, sums), voided = coalesce($5::text[], voided), hash = coalesce($6, hash),
       disputed = coalesce($7::boolean, disputed), decision = coalesce($8, decision),
       decision_sig = coalesce($9, decision_sig), synced_from = coalesce($10, synced_from),
       synced_at = CASE WHEN $10::text IS NULL THEN synced_at ELSE clock_timestamp() END, told = greatest(told, $11::int),
       decision_bound_sig = coalesce($12, decision_bound_sig)
     WHERE topic = $1`,
    topic,
    orNull(change.status),
    orNull(change.entries),
    sums === undefined ? null : JSON.stringify(sums),
    orNull(change.voided),
    orNull(change.hash),
    orNull(change.disputed),
    orNull(decision?.text),
    orNull(decision?.sig),
    orNull(change.syncedFrom),
    orNull(change.told),
    orNull(decision?.boundSig),
  );
  if (updated !== 1) throw new Error('a locked topic changed');
}

interface StoredEntry {
  readonly seq: number;
  readonly voter: string;
  readonly node: string;
  readonly outcome: string;
  readonly votedAt: number;
  readonly weight: number;
  readonly admittedAt: number;
  readonly hash: string;
  readonly sig: string | null;
  readonly entrySig: string | null;
}

/** An admission as it is kept, with the hash of its ballot. */
export interface EntryRow extends SignedEntry {
  readonly ballotHash: string;
}

const ENTRY = `seq, voter, node, outcome, voted_at::float8 AS "votedAt", weight, admitted_at::float8 AS "admittedAt",
  hash, sig, entry_sig AS "entrySig"`;

/** By `seq`, of those after `after`. */
export async function readEntries(
  tx: SqlClient,
  { header, headerHash }: Pick<TopicRow, 'header' | 'headerHash'>,
  after = 0,
  limit: number | null = null,
): Promise<EntryRow[]> {
  const rows = await tx.$queryRawUnsafe<StoredEntry[]>(
    `SELECT ${ENTRY} FROM agora.ballot_entries WHERE topic = $1 AND seq > $2::int ORDER BY seq LIMIT $3::int`,
    header.topic,
    after,
    limit,
  );
  return rows.map((row) => entryRow({ header, headerHash }, row));
}

/** Null = the voter said nothing there. */
export async function readEntryOf(
  tx: SqlClient,
  topic: Pick<TopicRow, 'header' | 'headerHash'>,
  voter: string,
): Promise<EntryRow | null> {
  const [row] = await tx.$queryRawUnsafe<StoredEntry[]>(
    `SELECT ${ENTRY} FROM agora.ballot_entries WHERE topic = $1 AND voter = $2`,
    topic.header.topic,
    voter,
  );
  return row === undefined ? null : entryRow(topic, row);
}

function entryRow({ header, headerHash }: Pick<TopicRow, 'header' | 'headerHash'>, row: StoredEntry): EntryRow {
  const { seq, voter, node, outcome, votedAt, weight, admittedAt, hash, sig, entrySig } = row;
  const ballot = { header: headerHash, topic: header.topic, voter, node, outcome, votedAt };
  return { entry: { seq, ballot, ballotSig: sig, weight, admittedAt }, sig: entrySig, ballotHash: hash };
}

/** An entry as it is kept: with the hash of its ballot and what the owner of the ledger signed. */
export interface NewEntry extends SignedEntry {
  readonly hash: string;
}

/**
 * Of one topic. By number what they count as: `void` when the voter is known to have signed two outcomes. One is missing
 * when there is one of that number or that voter.
 */
export async function insertEntries(
  tx: SqlClient,
  topic: string,
  entries: readonly NewEntry[],
): Promise<ReadonlyMap<number, 'counted' | 'void'>> {
  if (entries.length === 0) return new Map();
  const rows = entries.map(({ entry: { ballot, ...entry }, sig, hash }) => ({ ...ballot, ...entry, sig, hash }));
  const inserted = await tx.$queryRawUnsafe<{ seq: number; isVoid: boolean }[]>(
    `INSERT INTO agora.ballot_entries AS e
       (topic, seq, voter, node, outcome, voted_at, weight, admitted_at, hash, sig, entry_sig)
     SELECT $1, * FROM unnest(
       $2::int[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::int[], $8::bigint[], $9::text[], $10::text[],
       $11::text[]
     ) ON CONFLICT DO NOTHING
     RETURNING seq, EXISTS (
       SELECT 1 FROM agora.equivocations q WHERE q.topic = e.topic AND q.voter = e.voter AND q.node = e.node
     ) AS "isVoid"`,
    topic,
    rows.map(({ seq }) => seq),
    rows.map(({ voter }) => voter),
    rows.map(({ node }) => node),
    rows.map(({ outcome }) => outcome),
    rows.map(({ votedAt }) => votedAt),
    rows.map(({ weight }) => weight),
    rows.map(({ admittedAt }) => admittedAt),
    rows.map(({ hash }) => hash),
    rows.map(({ ballotSig }) => ballotSig),
    rows.map(({ sig }) => sig),
  );
  return new Map(inserted.map(({ seq, isVoid }) => [seq, isVoid ? 'void' : 'counted']));
}

/** Those that are not counted in the row of the topic. */
export async function deleteEntriesAfter(tx: SqlClient, topic: string, seq: number): Promise<void> {
  await tx.$executeRawUnsafe('DELETE FROM agora.ballot_entries WHERE topic = $1 AND seq > $2::int', topic, seq);
}
