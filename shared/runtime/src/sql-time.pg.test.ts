import { onPostgres } from '@svc/testing/servers/on-postgres.ts';
import { expect, test } from 'vitest';
import { NOW_AS_KEPT } from './sql-time.ts';

await onPostgres((open) => {
  test('a moment that was kept has come at once, although keeping it may have rounded it up', async () => {
    const database = await open();
    const { rows } = await database.pool.query(
      `SELECT bool_and(at <= ${NOW_AS_KEPT}) AS "asKept", bool_and(at <= clock_timestamp()) AS "asItIs"
       FROM (SELECT clock_timestamp()::timestamptz(3) AS at FROM generate_series(1, 20000) OFFSET 0) moments`,
    );
    await database.close();
    expect(rows).toEqual([{ asKept: true, asItIs: false }]);
  });
});
