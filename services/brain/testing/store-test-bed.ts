/** An embedded database with the brain's tables, and what its stores need around it. */
import type { Database, SqlClient } from '@svc/runtime/database.ts';
import { poolClient, withPgTransaction } from '@svc/runtime/transaction.ts';
import { migratedDatabase } from '@svc/testing/database.ts';

export interface StoreTestBed extends AsyncDisposable {
  readonly pool: Database['pool'];
  readonly client: SqlClient;
  readonly transact: <Value>(work: (transaction: SqlClient) => Promise<Value>) => Promise<Value>;
}

export async function openTestBed(): Promise<StoreTestBed> {
  const database = await migratedDatabase();
  return {
    pool: database.pool,
    client: poolClient(database.pool),
    transact: (work) => withPgTransaction(database.pool, work),
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  };
}
