/** The catalogue: what each branch's working tree held when the service last looked, and who wrote it. */
import type { SqlClient } from '@svc/runtime/database.ts';
import type { Statement } from '@svc/runtime/transaction.ts';
import type { EntryKind, EntryMode, FileEntry } from '../files/file-entry.ts';

export type CatalogueChange = { readonly entry: FileEntry; readonly by: string } | { readonly removed: string };

interface CatalogueRow {
  readonly path: string;
  readonly hash: string;
  readonly blob: string;
  readonly bytes: number;
  readonly stat: string;
  readonly at_ms: number;
  readonly kind: EntryKind;
  readonly on_disk: string | null;
  readonly problem: string | null;
}

/** Rows that one statement carries. */
const CHUNK = 2000;

const WRITE = `
  INSERT INTO brain.brain_files (brain, branch, path, hash, blob, bytes, stat, by, at, kind, on_disk, problem)
   SELECT $1, $2, r.path, r.hash, r.blob, r.bytes, r.stat, r.by, to_timestamp(r.at_ms / 1000), r.kind, r.on_disk, r.problem
   FROM json_to_recordset($3::json) AS r(path text, hash text, blob text, bytes bigint, stat text, by text,
     at_ms double precision, kind text, on_disk text, problem text)
   ON CONFLICT (brain, branch, path) DO UPDATE SET hash = excluded.hash, blob = excluded.blob, bytes = excluded.bytes,
     stat = excluded.stat, by = excluded.by, at = excluded.at, kind = excluded.kind, on_disk = excluded.on_disk,
     problem = excluded.problem`;

const REMOVE = `
  DELETE FROM brain.brain_files WHERE brain = $1 AND branch = $2
   AND path IN (SELECT json_array_elements_text($3::json))`;

export async function readCatalogue(client: SqlClient, brain: string, branch: string): Promise<Map<string, FileEntry>> {
  const rows = await client.$queryRawUnsafe<CatalogueRow[]>(
    `SELECT path, hash, blob, bytes::double precision, stat, (extract(epoch from at) * 1000)::double precision AS at_ms,
       kind, on_disk, problem FROM brain.brain_files WHERE brain = $1 AND branch = $2`,
    brain,
    branch,
  );
  return new Map(rows.map((row) => [row.path, entryOf(row)]));
}

/** Of several changes of one path the last one counts. */
export function catalogueStatements(brain: string, branch: string, changes: readonly CatalogueChange[]): Statement[] {
  const last = new Map(changes.map((change) => ['removed' in change ? change.removed : change.entry.path, change]));
  const present: Record<string, unknown>[] = [];
  const removed: string[] = [];
  for (const change of last.values()) {
    if ('removed' in change) removed.push(change.removed);
    else present.push(rowOf(change.entry, change.by));
  }
  const statements: Statement[] = [];
  for (let start = 0; start < present.length; start += CHUNK) {
    statements.push({ sql: WRITE, values: [brain, branch, JSON.stringify(present.slice(start, start + CHUNK))] });
  }
  if (removed.length > 0) statements.push({ sql: REMOVE, values: [brain, branch, JSON.stringify(removed)] });
  return statements;
}

export interface CatalogueSize {
  readonly files: number;
  /** Milliseconds since the epoch; null without files. */
  readonly modifiedAt: number | null;
}

/** Of the main branches; a brain without files is missing. */
export async function readCatalogueSizes(
  client: SqlClient,
  brains: readonly string[],
): Promise<Map<string, CatalogueSize>> {
  const rows = await client.$queryRawUnsafe<{ brain: string; files: number; at_ms: number }[]>(
    `SELECT brain, count(*)::int AS files, (extract(epoch from max(at)) * 1000)::double precision AS at_ms
     FROM brain.brain_files WHERE branch = 'main' AND brain = ANY ($1::text[]) GROUP BY brain`,
    brains,
  );
  return new Map(rows.map(({ brain, files, at_ms: modifiedAt }) => [brain, { files, modifiedAt }]));
}

/** Files below the scopes (or at them) are counted one by one, all others at once. */
export interface Counted {
  readonly scopes: readonly string[];
  /** Workspaces of whose files none counts, but for those that are among the `bounded` ones. */
  readonly shutHomes: readonly string[];
  readonly bounded: readonly string[];
  isCounted(path: string): boolean;
}

/** Of the main branch. */
export async function readCatalogueSize(
  client: SqlClient,
  brain: string,
  { scopes, shutHomes, bounded, isCounted }: Counted,
): Promise<CatalogueSize> {
  const rows = await client.$queryRawUnsafe<{ path: string | null; files: number; at_ms: number | null }[]>(
    `WITH scoped AS (
       SELECT f.path, f.at, EXISTS (
         SELECT 1 FROM json_array_elements_text($2::json) AS s(scope) WHERE f.path = s.scope OR starts_with(f.path, s.scope || '/')
       ) AS inside
       FROM brain.brain_files f WHERE f.brain = $1 AND f.branch = 'main' AND ($3::json::text = '[]' OR NOT EXISTS (
         SELECT 1 FROM brain.brain_homes b JOIN brain.brain_file_homes h ON h.brain_id = b.id
         WHERE b.brain = $1 AND h.path = f.path AND h.workspace IN (SELECT json_array_elements_text($3::json))
           AND f.path NOT IN (SELECT json_array_elements_text($4::json))))
     )
     SELECT CASE WHEN inside THEN path END AS path, count(*)::int AS files,
       (extract(epoch from max(at)) * 1000)::double precision AS at_ms
     FROM scoped GROUP BY 1`,
    brain,
    JSON.stringify(scopes),
    JSON.stringify(shutHomes),
    JSON.stringify(bounded),
  );
  const counted = rows.filter(({ path }) => path === null || isCounted(path));
  const modifiedAt = counted.reduce<number | null>(
    (last, { at_ms: at }) => (at === null ? last : Math.max(last ?? 0, at)),
    null,
  );
  return { files: counted.reduce((sum, { files }) => sum + files, 0), modifiedAt };
}

function rowOf({ modifiedAt, mode, stat, onDisk, ...entry }: FileEntry, by: string): Record<string, unknown> {
  const spelling = onDisk === entry.path ? {} : { on_disk: onDisk };
  return { ...entry, ...spelling, stat: `${mode}:${stat}`, by, at_ms: modifiedAt };
}

function entryOf({ at_ms: modifiedAt, on_disk: onDisk, stat, ...row }: CatalogueRow): FileEntry {
  const [mode, stamp] = splitStat(stat);
  return { ...row, onDisk: onDisk ?? row.path, modifiedAt, mode, stat: stamp };
}

/** Rows of an earlier version begin with what kind of file it is; their stamp does not count. */
function splitStat(stat: string): [EntryMode, string] {
  const mode = stat.slice(0, stat.indexOf(':'));
  if (mode === '100644' || mode === '100755' || mode === '120000') return [mode, stat.slice(mode.length + 1)];
  return ['100644', ''];
}
