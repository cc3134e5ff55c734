/** The database of a target, past the doors: what is really stored. Embedded, its process must have ended. */
import { join } from 'node:path';
import type { Database } from '@svc/runtime/database.ts';
import { openEmbeddedDatabase } from '@svc/runtime/database.embedded.ts';
import { openPostgresDatabase, WAIT_FOR_CONNECTION_MS } from '@svc/runtime/database.postgres.ts';
import type { TargetPlace } from '../targets/target.ts';

const log = { warn() {}, fatal() {} };

export async function withDatabase<Result>(
  { servers, dataDir }: TargetPlace,
  work: (pool: Database['pool']) => Promise<Result>,
): Promise<Result> {
  const database =
    servers === null
      ? await openEmbeddedDatabase({ directory: join(dataDir, 'database'), log })
      : await openPostgresDatabase({
          url: servers.database,
          log,
          poolSize: 2,
          // A server that was just started again, where much else starts too, takes its time: as long as the pool waits.
          connectMs: WAIT_FOR_CONNECTION_MS,
        });
  try {
    return await work(database.pool);
  } finally {
    await database.close();
  }
}

/** Every row of every table of the services, as JSON lines `schema.table {row}`. */
export function storedRows(place: TargetPlace): Promise<string[]> {
  return withDatabase(place, async (pool) => {
    const tables = await pool.query<{ name: string }>(
      `SELECT format('%I.%I', table_schema, table_name) AS name FROM information_schema.tables
       WHERE table_schema NOT IN ('pg_catalog', 'information_schema') AND table_type = 'BASE TABLE'`,
    );
    const lines: string[] = [];
    for (const { name } of tables.rows) {
      const { rows } = await pool.query<{ row: string }>(`SELECT row_to_json(t)::text AS row FROM ${name} t`);
      lines.push(...rows.map(({ row }) => `${name} ${row}`));
    }
    return lines;
  });
}
