/** The rows of resolutions. */
import type { SqlClient } from '@svc/runtime/database.ts';
import type { Resolution } from './domain/resolution.ts';

export interface NewResolution extends Omit<Resolution, 'at'> {
  /** For those of it alone; null = for whoever may read the brain. */
  readonly workspace: string | null;
}

/** Answers when it was noted, in ms since the epoch; null = it is there under that id, also when another process noted it meanwhile. */
export async function insertResolution(tx: SqlClient, brainId: string, noted: NewResolution): Promise<number | null> {
  const { id, file, change, changedBy, by, branch, workspace } = noted;
  const [row] = await tx.$queryRawUnsafe<{ at: number }[]>(
    `INSERT INTO brain.brain_resolutions (brain_id, id, file, change, changed_by, by, branch, workspace, at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, clock_timestamp()) ON CONFLICT DO NOTHING
     RETURNING (extract(epoch from at) * 1000)::double precision AS at`,
    brainId,
    id,
    file,
    change,
    changedBy,
    by,
    branch,
    workspace,
  );
  return row === undefined ? null : Math.round(row.at);
}

export interface ResolutionWish {
  /** Spellings of one file; null = of every file. */
  readonly files: readonly string[] | null;
  readonly branch: string | null;
  /** Of which workspaces those are shown that are for one alone; null = of all. */
  readonly workspaces: readonly string[] | null;
}

/** What they are about alone: the whole rows are long, and not all of them are shown. Newest first. */
export function readSubjects(
  client: SqlClient,
  brainId: string,
  { files, branch, workspaces }: ResolutionWish,
  { after, limit }: { readonly after: string | null; readonly limit: number },
): Promise<Pick<Resolution, 'id' | 'file'>[]> {
  return client.$queryRawUnsafe(
    `SELECT id, file FROM brain.brain_resolutions
     WHERE brain_id = $1 AND ($2::text[] IS NULL OR file = ANY($2::text[])) AND ($3::text IS NULL OR branch = $3)
       AND ($6::text[] IS NULL OR workspace IS NULL OR workspace = ANY($6::text[]))
       AND ($4::text IS NULL OR id < $4) ORDER BY id DESC LIMIT $5::int`,
    brainId,
    files,
    branch,
    after,
    limit,
    workspaces,
  );
}

/** Newest first. */
export async function readResolutions(
  client: SqlClient,
  brainId: string,
  ids: readonly string[],
): Promise<Resolution[]> {
  const rows = await client.$queryRawUnsafe<Resolution[]>(
    `SELECT id, file, change, changed_by AS "changedBy", by, branch,
       (extract(epoch from at) * 1000)::double precision AS at
     FROM brain.brain_resolutions WHERE brain_id = $1 AND id = ANY($2::text[]) ORDER BY id DESC`,
    brainId,
    ids,
  );
  return rows.map((row) => ({ ...row, at: Math.round(row.at) }));
}
