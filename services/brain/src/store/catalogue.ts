/** The catalogue: what each branch's working tree held when the service last looked, and who wrote it. */
import type { SqlClient } from '@svc/runtime/database.ts';
import type { PrismaClient } from '../generated/prisma/client.ts';
import type { FileEntry } from '../files/file-table.ts';

export type CatalogueChange = { readonly entry: FileEntry; readonly by: string } | { readonly removed: string };

interface CatalogueRow {
  readonly path: string;
  readonly hash: string;
  readonly blob: string;
  readonly bytes: number;
  readonly stat: string;
  readonly at_ms: number;
}

/** Rows that one statement carries. */
const CHUNK = 2000;

export async function readCatalogue(client: SqlClient, brain: string, branch: string): Promise<Map<string, FileEntry>> {
  const rows = await client.$queryRawUnsafe<CatalogueRow[]>(
    `SELECT path, hash, blob, bytes, stat, (extract(epoch from at) * 1000)::double precision AS at_ms
     FROM brain.brain_files WHERE brain = $1 AND branch = $2`,
    brain,
    branch,
  );
  return new Map(rows.map((row) => [row.path, entryOf(row)]));
}

export async function writeCatalogue(
  transaction: SqlClient,
  brain: string,
  branch: string,
  changes: readonly CatalogueChange[],
): Promise<void> {
  const present: Record<string, unknown>[] = [];
  const removed: string[] = [];
  for (const change of changes) {
    if ('removed' in change) removed.push(change.removed);
    else present.push(rowOf(change.entry, change.by));
  }
  for (let start = 0; start < present.length; start += CHUNK) {
    await transaction.$executeRawUnsafe(
      `INSERT INTO brain.brain_files (brain, branch, path, hash, blob, bytes, stat, by, at)
       SELECT $1, $2, r.path, r.hash, r.blob, r.bytes, r.stat, r.by, to_timestamp(r.at_ms / 1000)
       FROM json_to_recordset($3::json) AS r(path text, hash text, blob text, bytes int, stat text, by text, at_ms double precision)
       ON CONFLICT (brain, branch, path) DO UPDATE SET hash = excluded.hash, blob = excluded.blob, bytes = excluded.bytes,
         stat = excluded.stat, by = excluded.by, at = excluded.at`,
      brain,
      branch,
      JSON.stringify(present.slice(start, start + CHUNK)),
    );
  }
  if (removed.length === 0) return;
  await transaction.$executeRawUnsafe(
    `DELETE FROM brain.brain_files WHERE brain = $1 AND branch = $2
       AND path IN (SELECT json_array_elements_text($3::json))`,
    brain,
    branch,
    JSON.stringify(removed),
  );
}

export interface CatalogueSize {
  readonly files: number;
  /** Milliseconds since the epoch; null without files. */
  readonly modifiedAt: number | null;
}

export async function readCatalogueSizes(
  models: PrismaClient,
  brains: readonly string[],
): Promise<Map<string, CatalogueSize>> {
  const rows = await models.brainFile.groupBy({
    by: ['brain'],
    where: { branch: 'main', brain: { in: [...brains] } },
    _count: { path: true },
    _max: { at: true },
  });
  return new Map(
    rows.map(({ brain, _count, _max }) => [brain, { files: _count.path, modifiedAt: _max.at?.getTime() ?? null }]),
  );
}

/** Files below the scopes (or at them) are counted one by one, all others at once. */
export interface Counted {
  readonly scopes: readonly string[];
  isCounted(path: string): boolean;
}

/** Of the main branch. */
export async function readCatalogueSize(
  client: SqlClient,
  brain: string,
  { scopes, isCounted }: Counted,
): Promise<CatalogueSize> {
  const rows = await client.$queryRawUnsafe<{ path: string | null; files: number; at_ms: number | null }[]>(
    `WITH scoped AS (
       SELECT f.path, f.at, EXISTS (
         SELECT 1 FROM json_array_elements_text($2::json) AS s(scope) WHERE f.path = s.scope OR starts_with(f.path, s.scope || '/')
       ) AS inside
       FROM brain.brain_files f WHERE f.brain = $1 AND f.branch = 'main'
     )
     SELECT CASE WHEN inside THEN path END AS path, count(*)::int AS files,
       (extract(epoch from max(at)) * 1000)::double precision AS at_ms
     FROM scoped GROUP BY 1`,
    brain,
    JSON.stringify(scopes),
  );
  const counted = rows.filter(({ path }) => path === null || isCounted(path));
  const modifiedAt = counted.reduce<number | null>(
    (last, { at_ms: at }) => (at === null ? last : Math.max(last ?? 0, at)),
    null,
  );
  return { files: counted.reduce((sum, { files }) => sum + files, 0), modifiedAt };
}

function rowOf(entry: FileEntry, by: string): Record<string, unknown> {
  const { path, hash, blob, bytes, stat, modifiedAt, isText } = entry;
  return { path, hash, blob, bytes, stat: `${isText ? 'text' : 'binary'}:${stat}`, by, at_ms: modifiedAt };
}

function entryOf({ path, hash, blob, bytes, stat, at_ms: modifiedAt }: CatalogueRow): FileEntry {
  const separator = stat.indexOf(':');
  return {
    path,
    hash,
    blob,
    bytes,
    modifiedAt,
    isText: stat.slice(0, separator) === 'text',
    stat: stat.slice(separator + 1),
  };
}
