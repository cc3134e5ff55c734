/** The conflicts of a brain: files of which a merge could not keep both sides. */
import type { SqlClient } from '@svc/runtime/database.ts';

export interface StoredConflict {
  readonly id: string;
  readonly branch: string;
  readonly file: string;
  readonly kind: string;
  /** Blob ids; null where the side does not have the file. */
  readonly base: string | null;
  readonly ours: string | null;
  readonly theirs: string | null;
  readonly rescue: string | null;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly resolvedAt: number | null;
}

interface ConflictQuery {
  readonly brain: string;
  /** Null = of every branch. */
  readonly branch: string | null;
  /** Null = of every file. */
  readonly file: string | null;
  readonly resolved: boolean;
  readonly after: string | null;
  readonly limit: number;
}

const COLUMNS = `id, branch, file, kind, base, ours, theirs, rescue,
  (extract(epoch from at) * 1000)::double precision AS at,
  (extract(epoch from resolved_at) * 1000)::double precision AS "resolvedAt"`;

/** In order of their ids, which is that of their times. */
export function readConflicts(
  client: SqlClient,
  { brain, branch, file, resolved, after, limit }: ConflictQuery,
): Promise<StoredConflict[]> {
  return client.$queryRawUnsafe<StoredConflict[]>(
    `SELECT ${COLUMNS} FROM brain.brain_conflicts
     WHERE brain = $1 AND ($2::text IS NULL OR branch = $2) AND ($3::text IS NULL OR file = $3) AND (resolved_at IS NOT NULL) = $4
       AND ($5::text IS NULL OR id > $5)
     ORDER BY id LIMIT $6`,
    brain,
    branch,
    file,
    resolved,
    after,
    limit,
  );
}

export async function readConflict(client: SqlClient, brain: string, id: string): Promise<StoredConflict | null> {
  const sql = `SELECT ${COLUMNS} FROM brain.brain_conflicts WHERE brain = $1 AND id = $2`;
  return (await client.$queryRawUnsafe<StoredConflict[]>(sql, brain, id))[0] ?? null;
}

/** Deletes conflicts that were settled long ago; returns how many. */
export function sweepConflicts(client: SqlClient, keptDays: number): Promise<number> {
  return client.$executeRawUnsafe(
    'DELETE FROM brain.brain_conflicts WHERE resolved_at < now() - make_interval(days => $1::int)',
    keptDays,
  );
}
