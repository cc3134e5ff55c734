/** Deleting what is kept no longer, however much that is. */
import type { SqlClient } from './database.ts';

/** A statement ends well within its time, and nobody waits long for a row that goes. */
export const SWEPT_AT_ONCE = 10_000;

interface Swept {
  /** With its schema, as SQL. */
  readonly table: string;
  /** Of a row that goes, with `$1` and so on for the values. */
  readonly condition: string;
  readonly values?: readonly unknown[];
}

/** Returns how many went. The condition is asked twice: whoever changes a row meanwhile keeps it. */
export async function sweepRows(client: SqlClient, { table, condition, values = [] }: Swept): Promise<number> {
  const sql = `DELETE FROM ${table} WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM ${table} WHERE ${condition} LIMIT ${SWEPT_AT_ONCE})) AND (${condition})`;
  for (let swept = 0; ; ) {
    const gone = await client.$executeRawUnsafe(sql, ...values);
    swept += gone;
    if (gone < SWEPT_AT_ONCE) return swept;
  }
}
