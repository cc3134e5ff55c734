/** Locks on what may have no row yet. */
import type { SqlClient } from './database.ts';

/** Whoever locks one of the names waits until the transaction ends that holds it. */
type LockNames = (tx: SqlClient, names: readonly string[]) => Promise<void>;

/** Names are those of one service, and are taken in one order, so that nobody waits in a circle. */
export function nameLock(service: string): LockNames {
  return async (tx, names) => {
    await tx.$queryRawUnsafe(
      `SELECT count(pg_advisory_xact_lock(key)) FROM (SELECT DISTINCT hashtextextended($2 || ':' || name, 0) AS key
         FROM unnest($1::text[]) name ORDER BY key) keys`,
      names,
      service,
    );
  };
}
