/**
 * The PostgreSQL of a run, which the suites of all its workers share, and on it a database with the tables of all services,
 * which is copied instead of made. For suites that break no server, and make no roles, which belong to all its databases.
 */
import { openPostgresDatabase } from '@svc/runtime/database.postgres.ts';
import { migrateServices } from '../service-tables.ts';
import { copyOf, databaseAt, dropCopies, startPostgres, SWIFT } from './postgres.ts';
import type { TestServer } from './processes.ts';

/** How a run tells its workers: URLs of a database that nobody uses, and of the one with the tables. */
const SERVER = 'SVC_TEST_RUN_SERVER';
const TABLES = 'SVC_TEST_RUN_TABLES';
const silent = { warn() {}, fatal() {} };

/** Until `stop`. Null where no PostgreSQL can be had. */
export async function startRunPostgres(): Promise<{ stop(): Promise<void> } | null> {
  const server = await startPostgres(SWIFT);
  if (server === null) return null;
  const tables = await databaseAt(server.url);
  const { pool, close } = await openPostgresDatabase({ url: tables.url, log: silent, poolSize: 1 });
  await migrateServices(pool);
  await close();
  process.env[SERVER] = server.url;
  process.env[TABLES] = tables.url;
  return {
    async stop() {
      await dropCopies(tables, server.url);
      await tables.stop();
      await server.stop();
    },
  };
}

/** A database of its own with the tables of all services. Null, after a loud line of the run, without a server. */
export async function lendTables(): Promise<TestServer | null> {
  const { [SERVER]: server, [TABLES]: url } = process.env;
  return server === undefined || url === undefined ? null : copyOf({ url }, server);
}

/** An empty database of its own, also outside of a run. Null, after one loud line, when no PostgreSQL can be had. */
export async function lendPostgres(): Promise<TestServer | null> {
  const url = process.env[SERVER];
  return url === undefined ? startPostgres() : databaseAt(url);
}
