import { migratedDatabase } from '@svc/testing/database.ts';
import { expect, test } from 'vitest';
import type { SqlClient } from './database.ts';
import { createIdempotency } from './idempotency.ts';
import { SWEPT_AT_ONCE } from './row-sweep.ts';
import { poolClient } from './transaction.ts';

const OLD = 2 * SWEPT_AT_ONCE + 1;

test('what is kept no longer goes in steps, the rest stays', async () => {
  await using database = await migratedDatabase();
  const client = poolClient(database.pool);
  await database.pool.query(
    `INSERT INTO habitat.idempotency (principal, tool, key, args_hash, at)
     SELECT 'x', 'x', n, 'x', CASE WHEN n = 0 THEN now() ELSE now() - interval '2 days' END FROM generate_series(0, ${OLD}) n`,
  );
  const steps: number[] = [];
  const watched: SqlClient = {
    ...client,
    async $executeRawUnsafe(sql, ...values) {
      const gone = await client.$executeRawUnsafe(sql, ...values);
      steps.push(gone);
      return gone;
    },
  };
  expect(await createIdempotency('habitat').sweep(watched)).toBe(OLD);
  expect(steps).toEqual([SWEPT_AT_ONCE, SWEPT_AT_ONCE, 1]);
  const { rows } = await database.pool.query('SELECT key FROM habitat.idempotency');
  expect(rows).toEqual([{ key: '0' }]);
});
