/** What an auditor asks about later: written in the transaction of the change itself, only ever added to. */
import type { SqlClient } from './database.ts';
import type { Ids } from './clock.ts';

export interface AuditEntry {
  /** `<area>:<past tense>`, such as `lease:forced`. */
  readonly action: string;
  readonly actor: string;
  /** What it was done to; names, never contents or secrets. */
  readonly target: string;
  readonly details: Record<string, unknown>;
}

/** `schema` is the service's own; its migrations create the table. */
export async function writeAudit(
  transaction: SqlClient,
  schema: string,
  ids: Ids,
  { action, actor, target, details }: AuditEntry,
): Promise<void> {
  await transaction.$executeRawUnsafe(
    `INSERT INTO "${schema}".audit (id, action, actor, target, details, at)
     VALUES ($1, $2, $3, $4, $5::json, clock_timestamp())`,
    ids.next('aud'),
    action,
    actor,
    target,
    JSON.stringify(details),
  );
}
