/** More jobs than are looked at together, or run at once, all due before another one. */
import { migratedDatabase } from '@svc/testing/database.ts';
import { expect, test } from 'vitest';
import { openCronBed } from '../../testing/cron-bed.ts';

const MANY = 60;
const ended = async () => ({ ok: true, result: null, kept: null, bytes: 4 }) as const;

test('jobs whose tick cannot be begun, however many, keep no other one from being run', async () => {
  const database = await migratedDatabase();
  const bed = await openCronBed(database, 'bed', ended);
  for (let n = 0; n < MANY; n += 1) await bed.schedule(`broken-${n}`);
  await database.pool.query(
    `UPDATE universe.cron_jobs SET interval_ms = 86400000, next_at = now() - interval '1 hour',
       anchor_at = date_trunc('milliseconds', now() - interval '25 hours')`,
  );
  await database.pool.query(
    `INSERT INTO universe.cron_runs (run_id, job_key, seq, anchor_at, tick, at, status, seen_at)
     SELECT 'run_' || job_id, job_key, 1, anchor_at, 1, now(), 'ok', now() FROM universe.cron_jobs`,
  );
  await bed.schedule('sound');
  await bed.start();
  await expect.poll(async () => (await bed.history('sound')).map(({ status }) => status)).toContain('ok');
  await bed.close();
  await database.close();
});

test('jobs of one family whose runs do not end, however many, keep no other one from being run', async () => {
  const database = await migratedDatabase();
  const ending = Promise.withResolvers<void>();
  let ofFamily = 0;
  const bed = await openCronBed(database, 'bed', async ({ as }) => {
    if (as.kind === 'identity') {
      ofFamily += 1;
      await ending.promise;
    }
    return ended();
  });
  for (const workspace of ['one', 'two']) {
    for (let n = 0; n < MANY; n += 1) await bed.schedule(`slow-${n}`);
    await database.pool.query(
      `UPDATE universe.cron_jobs SET family = 'f', identity = 'f', agent_id = 'f', workspace = $1,
         next_at = now() - interval '1 second' WHERE family IS NULL`,
      [workspace],
    );
  }
  await bed.schedule('sound');
  await bed.start();
  await expect.poll(async () => (await bed.history('sound')).map(({ status }) => status)).toContain('ok');
  expect(ofFamily).toBe(25);
  ending.resolve();
  await bed.close();
  await database.close();
});
