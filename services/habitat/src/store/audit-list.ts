/** Entries of the audit as somebody may see them. */
import type { SqlClient } from '@svc/runtime/database.ts';
import { chainOf } from '../domain/audit-chain.ts';
import type { AuditRow } from '../domain/audit-verdict.ts';
import { type AuditSqlRow, auditRow, ENTRY_COLUMNS } from './audit-rows.ts';

/** Null = any. */
export interface AuditView {
  readonly workspace: string | null;
  readonly actor: string | null;
  readonly event: string | null;
}

/** `at` in ms since the epoch. */
export type AuditPosition = Pick<AuditRow, 'at' | 'chain' | 'seq'>;

/** Newest first, one more than the limit when there are more; `after` the entry that the page before ended with. */
export async function listEntries(
  client: SqlClient,
  { workspace, actor, event }: AuditView,
  { limit, after }: { readonly limit: number; readonly after: AuditPosition | null },
): Promise<AuditRow[]> {
  const values: unknown[] = [];
  const value = (given: unknown): string => `$${values.push(given)}`;
  const where = [
    ...(workspace === null ? [] : [`chain = ${value(chainOf(workspace))}`]),
    ...(actor === null ? [] : [`actor = ${value(actor)}`]),
    ...(event === null ? [] : [`event = ${value(event)}`]),
    ...(after === null
      ? []
      : [
          `(at, chain, seq) < (to_timestamp(${value(after.at)}::float8 / 1000), ${value(after.chain)}::text, ${value(after.seq)}::int8)`,
        ]),
  ];
  const rows = await client.$queryRawUnsafe<AuditSqlRow[]>(
    `SELECT ${ENTRY_COLUMNS} FROM habitat.audit_entries WHERE ${['true', ...where].join(' AND ')}
     ORDER BY at DESC, chain DESC, seq DESC LIMIT ${value(limit + 1)}`,
    ...values,
  );
  return rows.map(auditRow);
}
