/** The bed of the tests of one file, on a database of their own. */
import type { SqlClient } from '@svc/runtime/database.ts';
import { poolClient } from '@svc/runtime/transaction.ts';
import { migratedDatabase, type TestDatabase } from '@svc/testing/database.ts';
import { afterAll, beforeAll } from 'vitest';
import { type AgoraBed, openAgoraBed } from './agora-bed.ts';

interface AgoraTests {
  readonly database: TestDatabase;
  readonly client: SqlClient;
  /** Once the tests run. */
  readonly bed: AgoraBed;
}

/** Called on top of a file: what it begins ends with the file. */
export async function agoraTests(): Promise<AgoraTests> {
  const database = await migratedDatabase();
  let bed: AgoraBed | null = null;
  beforeAll(async () => {
    bed = await openAgoraBed(database);
  });
  afterAll(async () => {
    await bed?.stop();
    await database.close();
  });
  return {
    database,
    client: poolClient(database.pool),
    get bed() {
      if (bed === null) throw new Error('no test has begun');
      return bed;
    },
  };
}
