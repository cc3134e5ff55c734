/** What syncs left to be told: when they ran, and the conflicts that are still open. */
import type { SqlClient } from '@svc/runtime/database.ts';

export interface NewConflict {
  readonly id: string;
  readonly file: string;
  readonly kind: string;
  readonly base: string | null;
  readonly ours: string | null;
  readonly theirs: string | null;
}

export async function noteSync(
  transaction: SqlClient,
  brain: string,
  branch: string,
  remote: string,
  status: string,
): Promise<void> {
  await transaction.$executeRawUnsafe(
    `INSERT INTO brain.brain_sync (brain, branch, remote, last_at, last_status) VALUES ($1, $2, $3, now(), $4)
     ON CONFLICT (brain, branch, remote) DO UPDATE SET last_at = now(), last_status = excluded.last_status`,
    brain,
    branch,
    remote,
    status,
  );
}

/** A conflict that is known already, of the same integration, is not written twice. */
export async function writeConflicts(
  transaction: SqlClient,
  brain: string,
  branch: string,
  rescue: string | null,
  conflicts: readonly NewConflict[],
): Promise<void> {
  if (conflicts.length === 0) return;
  await transaction.$executeRawUnsafe(
    `INSERT INTO brain.brain_conflicts (id, brain, branch, file, kind, base, ours, theirs, rescue, at)
     SELECT c.id, $1, $2, c.file, c.kind, c.base, c.ours, c.theirs, $3, now()
     FROM json_to_recordset($4::json) AS c(id text, file text, kind text, base text, ours text, theirs text)
     WHERE NOT EXISTS (SELECT 1 FROM brain.brain_conflicts known WHERE known.brain = $1 AND known.branch = $2
       AND known.file = c.file AND known.kind = c.kind AND known.rescue = $3)`,
    brain,
    branch,
    rescue,
    JSON.stringify(conflicts),
  );
}

/** Of a branch. */
export function readOpenConflicts(
  client: SqlClient,
  brain: string,
  branch: string,
): Promise<Pick<NewConflict, 'file' | 'kind'>[]> {
  return client.$queryRawUnsafe(
    `SELECT DISTINCT file, kind FROM brain.brain_conflicts
     WHERE brain = $1 AND branch = $2 AND resolved_at IS NULL`,
    brain,
    branch,
  );
}

/** A later write to a file settles its conflicts. */
export async function resolveConflicts(
  transaction: SqlClient,
  brain: string,
  branch: string,
  files: readonly string[],
): Promise<void> {
  await transaction.$executeRawUnsafe(
    `UPDATE brain.brain_conflicts SET resolved_at = now() WHERE brain = $1 AND branch = $2 AND resolved_at IS NULL
       AND file IN (SELECT json_array_elements_text($3::json))`,
    brain,
    branch,
    JSON.stringify(files),
  );
}

/** How the last sync of a branch with a remote ended; `lastAt` in ms since the epoch. */
interface LastSync {
  readonly branch: string;
  readonly remote: string;
  readonly lastAt: number;
  readonly lastStatus: string;
}

export function readSyncs(client: SqlClient, brain: string): Promise<LastSync[]> {
  return client.$queryRawUnsafe<LastSync[]>(
    `SELECT branch, remote, (extract(epoch from last_at) * 1000)::double precision AS "lastAt",
       last_status AS "lastStatus" FROM brain.brain_sync WHERE brain = $1`,
    brain,
  );
}
