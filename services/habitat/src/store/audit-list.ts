/** Entries of the audit as somebody may see them. */
import type { SqlClient } from '@svc/runtime/database.ts';
import { chainOf } from '../domain/audit-chain.ts';
import type { AuditKind } from '../domain/audit-chain.ts';
import type { AuditRow } from '../domain/audit-verdict.ts';
import { type AuditSqlRow, auditRow, ENTRY_COLUMNS } from './audit-rows.ts';

/** Null = any. */
export interface AuditView {
  readonly workspace: string | null;
  readonly actor: string | null;
  readonly event: string | null;
  readonly kind: AuditKind | null;
}

export interface AuditPage {
  readonly limit: number;
  /** Id of the entry that the page before ended with. */
  readonly after: string | null;
}

/**
 * Newest first, one more than the limit when there are more. Null when the view holds no such entry as the page is to come after.
 */
export async function listEntries(
  client: SqlClient,
  { workspace, actor, event, kind }: AuditView,
  { limit, after }: AuditPage,
): Promise<AuditRow[] | null> {
  const values: unknown[] = [];
  const value = (given: unknown): string => `$${values.push(given)}`;
  const where = [
    ...(workspace === null ? [] : [`chain = ${value(chainOf(workspace))}`]),
    ...(actor === null ? [] : [`actor = ${value(actor)}`]),
    ...(event === null ? [] : [`event = ${value(event)}`]),
    ...(kind === null ? [] : [`kind = ${value(kind)}`]),
  ];
  const seen = ['true', ...where].join(' AND ');
  if (after !== null) {
    const last = `SELECT at, chain, seq FROM habitat.audit_entries WHERE ${seen} AND id = ${value(after)}`;
    if ((await client.$queryRawUnsafe<unknown[]>(last, ...values)).length === 0) return null;
    where.push(`(at, chain, seq) < (${last})`);
  }
  const rows = await client.$queryRawUnsafe<AuditSqlRow[]>(
    `SELECT ${ENTRY_COLUMNS} FROM habitat.audit_entries WHERE ${['true', ...where].join(' AND ')}
     ORDER BY audit_entries.at DESC, chain DESC, seq DESC LIMIT ${value(limit + 1)}`,
    ...values,
  );
  return rows.map(auditRow);
}
