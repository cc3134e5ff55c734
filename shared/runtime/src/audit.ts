/**
 * What an auditor asks about later. An entry is written in the transaction of the change itself; from there it is
 * handed over to the audit's chains, never lost and never twice.
 */
import { auditableData, auditableText, type AuditSubject, type PostedAuditEntry } from '@svc/contract/audit.ts';
import { identityOf, type Subject } from '@svc/contract/subject.ts';
import type { Caller } from '@svc/contract/tool.ts';
import { batchesOf, insertionOf } from './batches.ts';
import type { Ids } from './clock.ts';
import type { SqlClient } from './database.ts';
import type { Statement } from './transaction.ts';

export type { AuditSubject } from '@svc/contract/audit.ts';

/**
 * An entry before it is written. `event` is `<area>:<past tense>`, such as `lease:forced`; `workspace` tells whose chain
 * it belongs to, null = the node's; `data` holds names and numbers, never contents or secrets.
 */
export type AuditEntry = Readonly<Omit<PostedAuditEntry, 'id' | 'at'>>;

/** As it waits to be handed over; the time is that of its row. */
export type WrittenAuditEntry = Readonly<Omit<PostedAuditEntry, 'at'>>;

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

const AUDIT_COLUMNS = ['id text', 'count int', 'bytes int', 'entries json'];

/** `schema` is the service's own; its migrations create the table `audit_batches`. */
export async function writeAudit(
  transaction: SqlClient,
  schema: string,
  ids: Ids,
  entries: readonly AuditEntry[],
): Promise<void> {
  const statement = auditStatement(schema, ids, entries);
  if (statement !== null) await transaction.$executeRawUnsafe(statement.sql, ...statement.values);
}

/** What `writeAudit` writes; null = nothing. */
export function auditStatement(schema: string, ids: Ids, entries: readonly AuditEntry[]): Statement | null {
  const written = entries.map(
    ({ event, workspace, subject, data }): WrittenAuditEntry => ({
      id: ids.next('aud'),
      event: auditableText(event),
      workspace,
      subject,
      data: auditableData(data),
    }),
  );
  const rows = batchesOf(written).map(({ items, bytes, json }) => [items[0]?.id, items.length, bytes, json]);
  return insertionOf(`"${schema}".audit_batches`, AUDIT_COLUMNS, rows);
}
