/** Suites of a database, run on a PostgreSQL of their own. */
import { afterAll, test } from 'vitest';
import type { Database } from '@svc/runtime/database.ts';
import { openPostgresDatabase } from '@svc/runtime/database.postgres.ts';
import { startPostgres } from './postgres.ts';

export interface PostgresOfSuite {
  /** Another pool of `poolSize` connections; whoever opens it closes it. */
  open(): Promise<Database>;
  readonly url: string;
}

const silent = { warn() {}, fatal() {} };

/** Declares the suite with a server that ends after its tests; skipped with a loud line where none can be had. */
export async function onPostgres(declare: (server: PostgresOfSuite) => void, poolSize = 20): Promise<void> {
  const server = await startPostgres();
  if (server === null) {
    test.skip('no PostgreSQL here');
    return;
  }
  afterAll(() => server.stop());
  const { url } = server;
  declare({ url, open: async () => openPostgresDatabase({ url, log: silent, poolSize }) });
}
