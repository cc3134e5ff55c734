/** How much callers log: counted per family in a minute and per workspace in a day, so that nobody fills a chain. */
import type { Config } from '@svc/runtime/config.ts';
import type { SqlClient } from '@svc/runtime/database.ts';

interface AuditUse {
  /** Under which the caller counts; null = an operator, who is not counted. */
  readonly family: string | null;
  readonly workspace: string;
  readonly isAdmin: boolean;
}

interface Over {
  readonly message: string;
  readonly details: { readonly limit: number; readonly retryAfterMs: number };
}

/** Of a day's entries of a workspace as many are its admins' alone: others cannot use up all of them. */
const KEPT_FOR_ADMINS = 0.1;

/** Counts one entry; what is over when it is one too many. */
export async function useAudit(
  tx: SqlClient,
  { SVC_AUDIT_PER_MINUTE: perMinute, SVC_AUDIT_PER_DAY: perDay }: Config,
  { family, workspace, isAdmin }: AuditUse,
): Promise<Over | null> {
  if (family === null) return null;
  const minute = await countOne(tx, `family:${family}`, 'minute');
  if (minute.used > perMinute) return over(`${perMinute} entries a minute`, perMinute, minute);
  const mine = isAdmin ? perDay : Math.ceil(perDay * (1 - KEPT_FOR_ADMINS));
  const day = await countOne(tx, `workspace:${workspace}`, 'day');
  return day.used > mine ? over(`${mine} entries a day in this workspace`, mine, day) : null;
}

function over(what: string, limit: number, { endsInMs }: Use): Over {
  return { message: `You may log ${what}.`, details: { limit, retryAfterMs: Math.ceil(endsInMs) } };
}

interface Use {
  readonly used: number;
  readonly endsInMs: number;
}

/** One that began later than the next window does is of a clock that was set back since. */
const GOES_ON = `u.since BETWEEN excluded.since AND excluded.since + ('1 ' || $2)::interval`;

/**
 * Used in the window that goes on, this one included. The row stays locked, so none of several at once goes uncounted; who
 * came before the window began but waited for the row until then counts in it, and does not begin the old one anew.
 */
async function countOne(tx: SqlClient, scope: string, window: 'minute' | 'day'): Promise<Use> {
  const [row] = await tx.$queryRawUnsafe<Use[]>(
    `INSERT INTO habitat.audit_use AS u (scope, since, used) VALUES ($1, date_trunc($2, clock_timestamp(), 'UTC'), 1)
     ON CONFLICT (scope) DO UPDATE SET since = CASE WHEN ${GOES_ON} THEN u.since ELSE excluded.since END,
       used = CASE WHEN ${GOES_ON} THEN u.used + 1 ELSE 1 END
     RETURNING used,
       (extract(epoch FROM since + ('1 ' || $2)::interval - clock_timestamp()) * 1000)::float8 AS "endsInMs"`,
    scope,
    window,
  );
  if (row === undefined) throw new Error('a count of the audit is missing');
  return row;
}

/** Counts of windows that are long over. */
export async function sweepAuditUse(client: SqlClient): Promise<void> {
  await client.$executeRawUnsafe(`DELETE FROM habitat.audit_use WHERE since < clock_timestamp() - interval '2 days'`);
}
