/** Locks on what may have no row yet. */
import type { SqlClient } from '@svc/runtime/database.ts';

/** Whoever locks one of these names waits until the transaction ends. Names are taken in one order, so nobody waits in a circle. */
export async function lockNames(tx: SqlClient, names: readonly string[]): Promise<void> {
  await tx.$queryRawUnsafe(
    `SELECT count(pg_advisory_xact_lock(key)) FROM (SELECT DISTINCT hashtextextended('habitat:' || name, 0) AS key
       FROM unnest($1::text[]) name ORDER BY key) keys`,
    names,
  );
}
