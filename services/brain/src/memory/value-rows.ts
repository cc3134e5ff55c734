/** Rows of values under keys. Many are read and written in one statement, which locks them in the order of their keys. */
import type { SqlClient } from '@svc/runtime/database.ts';
import { epochMs, NOW_AS_KEPT, timestampOf } from '@svc/runtime/sql-time.ts';
import type { Statement } from '@svc/runtime/transaction.ts';
import type { Kept } from './domain/state.ts';

interface KeptValue extends Kept {
  /** JSON. */
  readonly value: string;
}

interface MemoryUse {
  readonly keys: number;
  /** Of the values. */
  readonly bytes: number;
  /** Keys that end by themselves. */
  readonly expiring: number;
}

/** One value as it is written. */
export interface WrittenValue {
  /** As it is stored. */
  readonly key: string;
  /** JSON. */
  readonly value: string;
  readonly kept: Kept;
  readonly by: string;
}

const EXPIRES_MS = `${epochMs('expires_at')} AS "expiresAt"`;
export const IS_LIVE = '(expires_at IS NULL OR expires_at > clock_timestamp())';

interface Row {
  readonly version: bigint;
  readonly expiresAt: number | null;
}

function keptOf({ version, expiresAt }: Row): Kept {
  return { version: Number(version), expiresAt: expiresAt === null ? null : Math.round(expiresAt) };
}

/** Null when there is none, or it is past its time. */
export async function readValue(client: SqlClient, key: string): Promise<KeptValue | null> {
  const sql = `SELECT version, ${EXPIRES_MS}, value FROM brain.brain_memory WHERE key = $1 AND ${IS_LIVE}`;
  const [row] = await client.$queryRawUnsafe<(Row & { value: string })[]>(sql, key);
  return row === undefined ? null : { ...keptOf(row), value: row.value };
}

/** Milliseconds since the epoch. */
export async function readNow(client: SqlClient): Promise<number> {
  const [row] = await client.$queryRawUnsafe<{ now: number }[]>(`SELECT ${epochMs(NOW_AS_KEPT)} AS now`);
  if (row === undefined) throw new Error('the database tells no time');
  return row.now;
}

/** Those that are there, by key. */
export async function lockValues(tx: SqlClient, keys: readonly string[]): Promise<Map<string, Kept>> {
  const sql = `SELECT key, version, ${EXPIRES_MS} FROM brain.brain_memory WHERE key = ANY($1::text[]) ORDER BY key FOR UPDATE`;
  const rows = await tx.$queryRawUnsafe<(Row & { key: string })[]>(sql, keys);
  return new Map(rows.map((row) => [row.key, keptOf(row)]));
}

const WRITTEN = `unnest($1::text[], $2::text[], $3::bigint[], $4::double precision[], $5::text[])
  AS written(key, value, version, expires, by)`;

function columnsOf(values: readonly WrittenValue[]): unknown[] {
  return [
    values.map(({ key }) => key),
    values.map(({ value }) => value),
    values.map(({ kept }) => kept.version),
    values.map(({ kept }) => kept.expiresAt),
    values.map(({ by }) => by),
  ];
}

/** The keys of those that were not there. */
export async function insertValues(
  tx: SqlClient,
  workspace: string,
  values: readonly WrittenValue[],
): Promise<Set<string>> {
  const rows = await tx.$queryRawUnsafe<{ key: string }[]>(
    `INSERT INTO brain.brain_memory (key, workspace, value, version, expires_at, by, at)
     SELECT key, $6, value, version, ${timestampOf('expires')}, by, clock_timestamp() FROM ${WRITTEN} ORDER BY key
     ON CONFLICT DO NOTHING RETURNING key`,
    ...columnsOf(values),
    workspace,
  );
  return new Set(rows.map(({ key }) => key));
}

export function updateOf(values: readonly WrittenValue[]): Statement {
  const sql = `UPDATE brain.brain_memory AS kept SET value = written.value, version = written.version,
      expires_at = ${timestampOf('written.expires')}, by = written.by, at = clock_timestamp()
    FROM ${WRITTEN} WHERE kept.key = written.key`;
  return { sql, values: columnsOf(values) };
}

export async function deleteValues(tx: SqlClient, keys: readonly string[]): Promise<void> {
  await tx.$executeRawUnsafe('DELETE FROM brain.brain_memory WHERE key = ANY($1::text[])', keys);
}

/** No workspace is called so: it may bear any word that is a name, `null` as well. */
export function workspaceColumn(workspace: string | null): string {
  return workspace ?? '';
}

export async function readUse(client: SqlClient, workspace: string | null): Promise<MemoryUse> {
  const [row] = await client.$queryRawUnsafe<MemoryUse[]>(
    `SELECT count(*)::int AS keys, coalesce(sum(octet_length(value)), 0)::double precision AS bytes,
       count(expires_at)::int AS expiring
     FROM brain.brain_memory WHERE workspace = $1 AND ${IS_LIVE}`,
    workspaceColumn(workspace),
  );
  return row ?? { keys: 0, bytes: 0, expiring: 0 };
}
