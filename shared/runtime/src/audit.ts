/**
 * What an auditor asks about later. An entry is written in the transaction of the change itself; from there it is
 * handed over to the audit's chains, never lost and never twice.
 */
import { identityOf, type Subject } from '@svc/contract/subject.ts';
import type { Caller } from '@svc/contract/tool.ts';
import type { Ids } from './clock.ts';
import type { SqlClient } from './database.ts';

export interface AuditSubject {
  readonly userId?: string;
  readonly agentId?: string;
  readonly verified: boolean;
  /** An operator acted, whatever identity was declared. */
  readonly operator?: true;
}

export interface AuditEntry {
  /** `<area>:<past tense>`, such as `lease:forced`. */
  readonly event: string;
  /** Whose chain it belongs to; null = the node's. */
  readonly workspace: string | null;
  readonly subject: AuditSubject;
  /** Names and numbers, never contents or secrets; at most 16 KiB as JSON. */
  readonly data: Readonly<Record<string, unknown>>;
}

/** As whom a call is audited. */
export function auditSubjectOf({ subject, operator }: Pick<Caller, 'subject' | 'operator'>): AuditSubject {
  return { ...auditedSubject(subject), ...(operator ? { operator: true } : {}) };
}

export function auditedSubject(subject: Subject): AuditSubject {
  const { userId, agentId, verified = false } = subject;
  return {
    ...(userId === undefined ? {} : { userId }),
    ...(agentId === undefined ? {} : { agentId }),
    verified: verified && identityOf(subject) !== null,
  };
}

/** `schema` is the service's own; its migrations create the table `audit_outbox`. */
export async function writeAudit(
  transaction: SqlClient,
  schema: string,
  ids: Ids,
  entries: readonly AuditEntry[],
): Promise<void> {
  if (entries.length === 0) return;
  const rows = entries.map((entry) => ({ id: ids.next('aud'), ...entry }));
  await transaction.$executeRawUnsafe(
    `INSERT INTO "${schema}".audit_outbox (id, event, workspace, subject, data, at)
     SELECT e.id, e.event, e.workspace, e.subject, e.data, clock_timestamp()
     FROM json_to_recordset($1::json) AS e(id text, event text, workspace text, subject json, data json)`,
    JSON.stringify(rows),
  );
}
