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

/** Of the files of the main branch that are counted. */
export async function readCatalogueSize(
  client: SqlClient,
  brain: string,
  isCounted: (path: string) => boolean,
): Promise<CatalogueSize> {
  const counted = [...(await readCatalogue(client, brain, 'main')).values()].filter(({ path }) => isCounted(path));
  const last = counted.reduce<number | null>((latest, { modifiedAt }) => Math.max(latest ?? 0, modifiedAt), null);
  return { files: counted.length, modifiedAt: last };
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
