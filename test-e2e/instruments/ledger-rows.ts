/** The tables of the ledger, past the doors. */
import type { Database } from '@svc/runtime/database.ts';
import type { OwnTarget } from '../targets/target.ts';
import { withDatabase } from './stored-rows.ts';

type Pool = Database['pool'];

const TABLES = ['accounts', 'members', 'holds', 'entries', 'postings'] as const;

/** Embedded, the process is stopped meanwhile and started again. */
export async function withLedger<Result>(target: OwnTarget, work: (pool: Pool) => Promise<Result>): Promise<Result> {
  const { place } = target;
  if (place.kind !== 'embedded') return withDatabase(place, work);
  const [only] = target.escrows;
  await only?.stop();
  try {
    return await withDatabase(place, work);
  } finally {
    await only?.start();
  }
}

/** How many rows each table has. */
export function countRows(target: OwnTarget): Promise<Record<string, number>> {
  return withLedger(target, async (pool) => {
    const counts: Record<string, number> = {};
    for (const table of TABLES) {
      const { rows } = await pool.query<{ count: number }>(`SELECT count(*)::int AS count FROM escrow.${table}`);
      counts[table] = rows[0]?.count ?? 0;
    }
    return counts;
  });
}

/** In micro-credits: what all accounts and sinks together earned beyond what they spent, and the least that is available. */
export async function readTotals(pool: Pool): Promise<{ readonly sum: number; readonly least: number }> {
  const { rows } = await pool.query<{ sum: string; least: string }>(
    `SELECT sum(a.earned - a.spent) + (SELECT coalesce(sum(earned), 0) FROM escrow.sinks) AS sum,
       min(a."limit" + a.earned - a.spent - a.pending) AS least
     FROM escrow.accounts a`,
  );
  return { sum: Number(rows[0]?.sum), least: Number(rows[0]?.least) };
}
