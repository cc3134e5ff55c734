/** Statements on the inboxes of agents. */
import type { SqlClient } from '@svc/runtime/database.ts';
import type { WorkStatus } from './domain/work.ts';

export interface Unreported {
  readonly workId: string;
  readonly taskId: string;
  readonly number: number;
  readonly status: WorkStatus;
  readonly error: unknown;
}

export function readUnreported(client: SqlClient, limit: number): Promise<Unreported[]> {
  return client.$queryRawUnsafe<Unreported[]>(
    `SELECT work_id AS "workId", key AS "taskId", reports AS number, status, error FROM universe.work
     WHERE reports > reported ORDER BY work_id LIMIT $1`,
    limit,
  );
}

/** Up to the report that was made; what became of the task since is told again. */
export async function markReported(client: SqlClient, { workId, number }: Unreported): Promise<void> {
  await client.$executeRawUnsafe(
    'UPDATE universe.work SET reported = greatest(reported, $2) WHERE work_id = $1',
    workId,
    number,
  );
}

/** What becomes of these items of inboxes from here on has to be told. */
export async function wantReports(tx: SqlClient, workIds: readonly string[]): Promise<void> {
  await tx.$executeRawUnsafe('UPDATE universe.work SET reports = reports + 1 WHERE work_id = ANY($1::text[])', workIds);
}

const AT_ONCE = 500;
const EMPTY_FOR = `interval '1 day'`;

/** Removes queues that nobody made and that are empty, inboxes too; what is put there meanwhile keeps them. Returns how many. */
export function sweepEmpty(client: SqlClient): Promise<number> {
  return client.$executeRawUnsafe(
    `DELETE FROM universe.streams s USING (
       SELECT e.stream_id, e.last_seq FROM universe.streams e
       WHERE (e.implicit OR e.workspace = '') AND e.created_at < clock_timestamp() - ${EMPTY_FOR}
         AND NOT EXISTS (SELECT 1 FROM universe.work w WHERE w.stream_id = e.stream_id) LIMIT ${AT_ONCE}) empty
     WHERE s.stream_id = empty.stream_id AND s.last_seq = empty.last_seq`,
  );
}
