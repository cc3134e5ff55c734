/** The rows of insights. */
import type { SqlClient } from '@svc/runtime/database.ts';
import { epochMs, timestampOf } from '@svc/runtime/sql-time.ts';

export interface Insight {
  readonly id: string;
  readonly insight: string;
  readonly source: string | null;
  readonly tags: readonly string[];
  readonly by: string;
  /** Milliseconds since the epoch. */
  readonly sharedAt: number;
}

const KEPT = 10_000;

/** The oldest go, beyond so many. */
export async function insertInsight(tx: SqlClient, workspace: string, insight: Insight): Promise<void> {
  const { id, insight: text, source, tags, by, sharedAt } = insight;
  await tx.$executeRawUnsafe(
    `INSERT INTO brain.brain_insights (workspace, id, insight, source, tags, by, at)
     VALUES ($1, $2, $3, $4, $5::text[], $6, ${timestampOf('$7')})`,
    workspace,
    id,
    text,
    source,
    tags,
    by,
    sharedAt,
  );
  await tx.$executeRawUnsafe(
    `DELETE FROM brain.brain_insights WHERE workspace = $1 AND id <= (
       SELECT id FROM brain.brain_insights WHERE workspace = $1 ORDER BY id DESC OFFSET ${KEPT} LIMIT 1)`,
    workspace,
  );
}

/** Newest first. */
export function readInsights(client: SqlClient, workspace: string, limit: number): Promise<Insight[]> {
  return client.$queryRawUnsafe<Insight[]>(
    `SELECT id, insight, source, tags, by, ${epochMs('at')} AS "sharedAt" FROM brain.brain_insights
     WHERE workspace = $1 ORDER BY id DESC LIMIT $2::int`,
    workspace,
    limit,
  );
}
