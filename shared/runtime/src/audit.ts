/**
 * What an auditor asks about later. An entry is written in the transaction of the change itself; from there it is
 * handed over to the audit's chains, never lost and never twice.
 */
import { auditableData, auditableText, type AuditSubject, type PostedAuditEntry } from '@svc/contract/audit.ts';
import { identityOf, type Subject } from '@svc/contract/subject.ts';
import type { Caller } from '@svc/contract/tool.ts';
import type { Ids } from './clock.ts';
import type { SqlClient } from './database.ts';

export type { AuditSubject } from '@svc/contract/audit.ts';

/**
 * An entry before it is written. `event` is `<area>:<past tense>`, such as `lease:forced`; `workspace` tells whose chain
 * it belongs to, null = the node's; `data` holds names and numbers, never contents or secrets.
 */
export type AuditEntry = Readonly<Omit<PostedAuditEntry, 'id' | 'at'>>;

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
  const rows = entries.map(({ event, workspace, subject, data }) => ({
    id: ids.next('aud'),
    event: auditableText(event),
    workspace,
    subject,
    data: auditableData(data),
  }));
  await transaction.$executeRawUnsafe(
    `INSERT INTO "${schema}".audit_outbox (id, event, workspace, subject, data, at)
     SELECT e.id, e.event, e.workspace, e.subject, e.data, clock_timestamp()
     FROM json_to_recordset($1::json) AS e(id text, event text, workspace text, subject json, data json)`,
    JSON.stringify(rows),
  );
}
