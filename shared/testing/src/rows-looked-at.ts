/** How many rows the database looks at for an answer: what takes more of them the more there are shows at a few thousand. */
import type { SqlClient } from '@svc/runtime/database.ts';
import { poolClient } from '@svc/runtime/transaction.ts';
import { afterAll } from 'vitest';
import { migratedDatabase } from './database.ts';

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Index Recheck'?: number;
  readonly Plans?: readonly PlanNode[];
}

/** Rows that its scans of tables and indexes found, fitting or not. */
function lookedAt(node: PlanNode): number {
  const below = (node.Plans ?? []).reduce((sum, plan) => sum + lookedAt(plan), 0);
  if (!/^(Seq|Index|Index Only|Bitmap Heap) Scan$/.test(node['Node Type'])) return below;
  const removed = (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0);
  return below + (node['Actual Rows'] + removed) * node['Actual Loops'];
}

/** A database of the file's own with these rows, of which its planner knows. */
export async function filledDatabase(fill: readonly string[]): Promise<SqlClient> {
  const database = await migratedDatabase();
  afterAll(() => database.close());
  for (const statement of [...fill, 'ANALYZE']) await database.pool.query(statement);
  return poolClient(database.pool);
}

/** Of the reads that `work` sends to the client it is given, each of which is run twice. */
export async function rowsLookedAt(client: SqlClient, work: (client: SqlClient) => Promise<unknown>): Promise<number> {
  let rows = 0;
  const counting: SqlClient = {
    ...client,
    async $queryRawUnsafe<Rows>(sql: string, ...values: unknown[]): Promise<Rows> {
      const [plan] = await client.$queryRawUnsafe<{ 'QUERY PLAN': [{ Plan: PlanNode }] }[]>(
        `EXPLAIN (ANALYZE, FORMAT JSON) ${sql}`,
        ...values,
      );
      if (plan === undefined) throw new Error('a statement without a plan');
      rows += lookedAt(plan['QUERY PLAN'][0].Plan);
      return client.$queryRawUnsafe<Rows>(sql, ...values);
    },
  };
  await work(counting);
  return rows;
}
