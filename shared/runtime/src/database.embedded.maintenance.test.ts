import { embeddedDatabase } from '@svc/testing/database.ts';
import { expect, onTestFinished, test, vi } from 'vitest';

const A_MINUTE_MS = 60_000;

test('within a minute the planner knows of tables that have grown, and is told of no others', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  await using database = await embeddedDatabase();
  const { pool } = database;
  await pool.query('CREATE SCHEMA "of a Service"');
  await pool.query('CREATE TABLE "of a Service"."Grown" AS SELECT 1 AS same FROM generate_series(1, 1000)');
  await pool.query('CREATE TABLE still AS SELECT 1 AS same FROM generate_series(1, 10)');
  const known = async () =>
    (await pool.query<{ name: string }>(`SELECT tablename AS name FROM pg_stats WHERE attname = 'same'`)).rows;
  expect(await known()).toEqual([]);
  // What a session counts is known to others, and to the one that asks, a second later.
  const aMinuteLater = () => {
    vi.advanceTimersByTime(A_MINUTE_MS);
    return known();
  };
  await expect.poll(aMinuteLater, { interval: 1500, timeout: 12_000 }).toEqual([{ name: 'Grown' }]);
});
