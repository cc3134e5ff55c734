/** Rows of a brain on their way to a backup and back: a line of JSON for each, `[table, row]`. */
import { closeSync, openSync, readSync } from 'node:fs';
import { open } from 'node:fs/promises';
import type { Database, SqlClient } from '@svc/runtime/database.ts';
import type { Snapshot } from '@svc/runtime/snapshot.ts';
import type { Ids } from '@svc/runtime/clock.ts';
import { NOTES } from '../store/home-store.ts';
import { DamagedArchive } from './archive.ts';

type Row = Record<string, unknown>;

/** Whose rows they are stands in this column. */
const TABLES: ReadonlyMap<string, 'brain_id' | 'brain' | 'scope'> = new Map([
  ...[...NOTES, 'brain_file_homes'].map((table) => [table, 'brain_id'] as const),
  ['brain_conflicts', 'brain'],
  ['brain_sync', 'brain'],
  ['brain_usage', 'scope'],
]);

/** A brain as rows know it. */
interface RowOwner {
  readonly id: string;
  readonly name: string;
}

const ROWS_AT_ONCE = 200;

/** All rows as they are now, to be exported. */
export function rowsOfNow(database: Pick<Database, 'snapshot'>, { id, name }: RowOwner): Promise<Snapshot> {
  const queries = [...TABLES].map(([table, column]) => ({
    sql: `SELECT to_jsonb(t)::text AS row FROM brain.${table} t WHERE t.${column} = $1`,
    values: [column === 'brain' ? name : id],
  }));
  return database.snapshot(queries);
}

/** Answers how many there are. */
export async function exportRows(rows: Snapshot, path: string): Promise<number> {
  await using file = await open(path, 'w');
  let count = 0;
  for (const [index, table] of [...TABLES.keys()].entries())
    for await (const batch of rows.batches<{ row: string }>(index)) {
      await file.writeFile(batch.map(({ row }) => `["${table}",${row}]\n`).join(''));
      count += batch.length;
    }
  return count;
}

/** Whatever is not such a line is damage. Throws DamagedArchive. */
export function countRows(path: string): number {
  let count = 0;
  for (const line of linesOf(path)) {
    rowIn(line);
    count += 1;
  }
  return count;
}

/** Into the rows of a brain that has none. What was going on in the backup's time has ended. */
export async function importRows(transaction: SqlClient, owner: RowOwner, path: string, ids: Ids): Promise<void> {
  let batch: Row[] = [];
  let current: string | null = null;
  const flush = async (): Promise<void> => {
    if (current !== null && batch.length > 0) await insert(transaction, current, batch, ids);
    batch = [];
  };
  for (const line of linesOf(path)) {
    const [table, row] = rowIn(line);
    if (table !== current || batch.length === ROWS_AT_ONCE) await flush();
    current = table;
    batch.push(ownedBy(table, row, owner));
  }
  await flush();
}

function ownedBy(table: string, row: Row, { id, name }: RowOwner): Row {
  const column = TABLES.get(table) ?? '';
  const owned = { ...row, [column]: column === 'brain' ? name : id };
  // Backups of before tell of attention without saying whose it was.
  if (table === 'brain_attention') return { workspace: '', ...owned };
  if (table !== 'evolution_sessions' || row['ended_at'] !== null) return owned;
  return { ...owned, active_key: null, ended_at: row['started_at'] };
}

async function insert(transaction: SqlClient, table: string, rows: readonly Row[], ids: Ids): Promise<void> {
  const renamed = table === 'brain_conflicts' ? await withFreeIds(transaction, rows, ids) : rows;
  await transaction.$executeRawUnsafe(
    `INSERT INTO brain.${table} SELECT r.* FROM jsonb_populate_recordset(null::brain.${table}, $1::jsonb) r`,
    JSON.stringify(renamed),
  );
}

/** Of a conflict that another brain has meanwhile, which once was this one. */
async function withFreeIds(transaction: SqlClient, rows: readonly Row[], ids: Ids): Promise<Row[]> {
  const taken = await transaction.$queryRawUnsafe<{ id: string }[]>(
    'SELECT id FROM brain.brain_conflicts WHERE id IN (SELECT jsonb_array_elements_text($1::jsonb))',
    JSON.stringify(rows.map((row) => row['id'])),
  );
  const isTaken = new Set<unknown>(taken.map(({ id }) => id));
  return rows.map((row) => (isTaken.has(row['id']) ? { ...row, id: ids.next('cfl') } : row));
}

function rowIn(line: string): [table: string, row: Row] {
  try {
    const [table, row] = JSON.parse(line) as [unknown, unknown];
    if (typeof table === 'string' && TABLES.has(table) && typeof row === 'object' && row !== null)
      return [table, row as Row];
  } catch {
    // told below
  }
  throw new DamagedArchive('one of its rows is none');
}

const CHUNK_BYTES = 256 * 1024;

/** Read without waiting: embedded, everybody else waits for the transaction that takes them. */
function* linesOf(path: string): Generator<string> {
  const file = openSync(path, 'r');
  try {
    const chunk = Buffer.alloc(CHUNK_BYTES);
    let rest: Buffer = Buffer.alloc(0);
    for (;;) {
      const bytes = readSync(file, chunk, 0, CHUNK_BYTES, null);
      if (bytes === 0) break;
      const data = Buffer.concat([rest, chunk.subarray(0, bytes)]);
      let start = 0;
      for (let end = data.indexOf(10); end !== -1; end = data.indexOf(10, start)) {
        yield data.toString('utf8', start, end);
        start = end + 1;
      }
      rest = Buffer.from(data.subarray(start));
    }
    if (rest.length > 0) throw new DamagedArchive('its last row is cut off');
  } finally {
    closeSync(file);
  }
}
