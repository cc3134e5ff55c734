/** What a server of PostgreSQL does by itself: its embedded engine has neither checkpointer nor autovacuum. */
import { statfsSync } from 'node:fs';
import type { Pool } from 'pg';
import type { DatabaseLog } from './database.postgres.ts';

const CHECKPOINT_EVERY_MS = 60_000;
const VACUUM_EVERY_MS = 600_000;
/** As autovacuum. */
const ANALYZE_EVERY_MS = 60_000;
/** Plans of statements that are kept were made for tables as they were then: small ones grow. */
const PLAN_ANEW_EVERY_MS = 10_000;
/** What a checkpoint may write: all that is in memory, and a new segment of the log. */
const MAINTENANCE_BYTES = 48 * 1024 * 1024;

/** Tables of which the planner knows less than autovacuum would leave it with: it takes them for small. */
const GROWN = `SELECT relid::regclass::text AS name FROM pg_stat_user_tables
  WHERE n_mod_since_analyze > 50 + n_live_tup / 10`;

/** All of it runs through a connection, in line with everything else. */
export function startMaintenance(pool: Pool, directory: string, log: DatabaseLog): { stop(): Promise<void> } {
  let current = Promise.resolve();
  const every = (periodMs: number, what: string, work: () => Promise<unknown>) =>
    setInterval(() => {
      if (!hasRoom(directory)) return;
      current = current.then(work).then(
        () => undefined,
        (error: unknown) => log.warn({ err: error, what }, 'embedded database maintenance failed'),
      );
    }, periodMs).unref();
  const statement = (periodMs: number, sql: string) => every(periodMs, sql, () => pool.query(sql));
  const timers = [
    statement(CHECKPOINT_EVERY_MS, 'CHECKPOINT'),
    statement(VACUUM_EVERY_MS, 'VACUUM (ANALYZE)'),
    statement(PLAN_ANEW_EVERY_MS, 'DISCARD PLANS'),
    every(ANALYZE_EVERY_MS, 'ANALYZE', () => analyzeGrown(pool)),
  ];
  return {
    async stop() {
      for (const timer of timers) clearInterval(timer);
      await current;
    },
  };
}

/** A checkpoint that finds the disk full breaks the engine; what is not checkpointed is in its log. */
function hasRoom(directory: string): boolean {
  const { bavail, bsize } = statfsSync(directory);
  return bavail * bsize > MAINTENANCE_BYTES;
}

/** One after the other, so that others come in between. */
async function analyzeGrown(pool: Pool): Promise<void> {
  const { rows } = await pool.query<{ name: string }>(GROWN);
  for (const { name } of rows) await pool.query(`ANALYZE ${name}`);
}
