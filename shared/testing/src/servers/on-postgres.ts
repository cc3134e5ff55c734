/** Suites of a database, run on PostgreSQL. */
import { afterAll, test } from 'vitest';
import type { Database } from '@svc/runtime/database.ts';
import { openPostgresDatabase } from '@svc/runtime/database.postgres.ts';
import { lendPostgres } from './run-postgres.ts';

const POOL_SIZE = 20;
const silent = { warn() {}, fatal() {} };

/**
 * Declares a suite with a database that is gone after its tests; skipped with a loud line where none can be had.
 * Each `open` answers a pool of its own, which whoever opened it closes.
 */
export async function onPostgres(declare: (open: () => Promise<Database>) => void): Promise<void> {
  const server = await lendPostgres();
  if (server === null) {
    test.skip('no PostgreSQL here');
    return;
  }
  afterAll(() => server.stop());
  declare(async () => openPostgresDatabase({ url: server.url, log: silent, poolSize: POOL_SIZE }));
}
