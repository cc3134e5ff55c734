/** A start on a database that nobody else uses: whatever was in hand before it is lost, however much that was. */
import { migratedDatabase } from '@svc/testing/database.ts';
import { expect, test } from 'vitest';
import { openCronBed } from '../../testing/cron-bed.ts';

const MANY = 250;
const ended = async () => ({ ok: true, result: null, kept: null, bytes: 4 }) as const;

test('all that ran before a start is lost, also where the clock was set back since', async () => {
  const database = await migratedDatabase();
  const before = await openCronBed(database, 'before', ended);
  await before.schedule('pay');
  await database.pool.query(
    `INSERT INTO universe.cron_runs (run_id, job_key, seq, anchor_at, tick, at, status, seen_at)
     SELECT 'run_' || n, job_key, n, anchor_at, -n, now(), 'running',
       now() + (n % 2) * interval '1 hour' FROM universe.cron_jobs, generate_series(1, $1::int) n`,
    [MANY],
  );
  await before.close();
  const after = await openCronBed(database, 'after', ended);
  const { rows } = await database.pool.query('SELECT DISTINCT status FROM universe.cron_runs');
  expect(rows).toEqual([{ status: 'lost' }]);
  await after.close();
  await database.close();
});
