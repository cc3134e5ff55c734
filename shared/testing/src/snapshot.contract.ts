/** What a snapshot promises, on every database. */
import { randomBytes } from 'node:crypto';
import type { Database } from '@svc/runtime/database.ts';
import { withPgTransaction } from '@svc/runtime/transaction.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const ROWS = 1000;

export function describeSnapshots(name: string, open: () => Promise<Database>): void {
  describe(`snapshots: ${name}`, () => {
    const table = `s_${randomBytes(4).toString('hex')}`;
    let database: Database;
    const query = { sql: `SELECT n FROM ${table} WHERE n > $1`, values: [0] };
    const change = (sql: string) => withPgTransaction(database.pool, (tx) => tx.$executeRawUnsafe(sql));

    beforeAll(async () => {
      database = await open();
      await change(`CREATE TABLE ${table} AS SELECT n::int FROM generate_series(0, ${ROWS}) n`);
    });
    afterAll(() => database.close());

    test('shows one moment in all its queries, while others write and are not kept waiting', async () => {
      await using moment = await database.snapshot([query, query, { ...query, values: [ROWS] }]);
      await change(`INSERT INTO ${table} VALUES (${ROWS + 1})`);
      const first: number[] = [];
      for await (const batch of moment.batches<{ n: number }>(0)) {
        first.push(...batch.map(({ n }) => n));
        // Within the reader's loop: were it to hold a lock, this would never come back.
        await change(`DELETE FROM ${table} WHERE n = ${first.length}`);
      }
      const again: number[] = [];
      for await (const batch of moment.batches<{ n: number }>(1)) again.push(...batch.map(({ n }) => n));
      const all = Array.from({ length: ROWS }, (_, index) => index + 1);
      expect(first.sort((a, b) => a - b)).toEqual(all);
      expect(again.sort((a, b) => a - b)).toEqual(all);
      for await (const _ of moment.batches(2)) throw new Error('a row that came later');
      await expect(database.pool.query(`SELECT n FROM ${table} WHERE n = ${ROWS + 1}`)).resolves.toMatchObject({
        rowCount: 1,
      });
    });

    test('ended half read, and one that cannot be taken, leave nothing behind', async () => {
      {
        await using moment = await database.snapshot([query]);
        for await (const _ of moment.batches(0)) break;
      }
      await expect(database.snapshot([query, { sql: 'SELECT absent FROM nowhere', values: [] }])).rejects.toThrow(
        'nowhere',
      );
      const left = await database.pool.query(`SELECT name FROM pg_cursors WHERE name LIKE 'moment%'`);
      expect(left.rows).toEqual([]);
      const open = await database.pool.query(`SELECT 1 FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'`);
      expect(open.rows).toEqual([]);
      await change(`INSERT INTO ${table} VALUES (-1)`);
    });
  });
}
