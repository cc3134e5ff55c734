/** An embedded database with the brain's tables, and what its stores need around it. */
import { join } from 'node:path';
import type { Database, SqlClient } from '@svc/runtime/database.ts';
import { migrate } from '@svc/runtime/migrations.ts';
import { poolClient, withPgTransaction } from '@svc/runtime/transaction.ts';
import { embeddedDatabase } from '@svc/testing/database.ts';

const MIGRATIONS = join(import.meta.dirname, '..', '..', 'prisma', 'migrations');

export interface StoreTestBed extends AsyncDisposable {
  readonly pool: Database['pool'];
  readonly client: SqlClient;
  readonly transact: <Value>(work: (transaction: SqlClient) => Promise<Value>) => Promise<Value>;
}

export async function openTestBed(): Promise<StoreTestBed> {
  const database = await embeddedDatabase();
  await migrate({ pool: database.pool, schema: 'brain', directory: MIGRATIONS, log: { info() {} } });
  return {
    pool: database.pool,
    client: poolClient(database.pool),
    transact: (work) => withPgTransaction(database.pool, work),
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  };
}
