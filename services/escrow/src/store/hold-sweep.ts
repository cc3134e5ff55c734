/** Holds past their time are over already for whoever looks; here they are closed, and their events told. */
import { CallError } from '@svc/contract/codes.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import { isDatabaseAway } from '@svc/runtime/database-errors.ts';
import { NOW } from '@svc/runtime/sql-time.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import type { OwnerKind } from '../domain/hold.ts';
import type { LedgerStore } from './ledger-store.ts';

/** Accounts that one transaction locks. */
const AT_ONCE = 50;
const PATIENCE_MS = 20_000;

interface DueRow {
  readonly seq: string;
  /** When its time was over, as the database writes it. */
  readonly at: string;
  readonly hold_id: string;
  readonly owner_kind: OwnerKind;
  readonly owner: string;
  readonly account: string | null;
}

/** Pages by `$1` and `$2`, the time and the number of the last row before: what stays hides none behind it. */
const READ_DUE = `
  SELECT h.seq::text AS seq, h.expires_at::text AS at, h.hold_id, h.owner_kind, h.owner, h.account
  FROM escrow.holds h LEFT JOIN escrow.accounts a ON a.account_id = h.account
  WHERE h.state = 'held' AND h.expires_at <= ${NOW} AND a.frozen_at IS NULL
    AND (h.expires_at, h.seq) > ($1::timestamptz, $2::bigint)
  ORDER BY h.expires_at, h.seq LIMIT ${AT_ONCE}`;

interface Parts {
  readonly clock: Pick<Platform['clock'], 'now'>;
  readonly log: Pick<Platform['log'], 'error'>;
}

/**
 * Many may sweep at once: each hold is closed by one of them. One that cannot be closed is told and stays, and keeps none of the
 * others open. Throws when the database is away.
 */
export async function sweepHolds(client: SqlClient, ledger: LedgerStore, parts: Parts): Promise<void> {
  let [at, after] = ['-infinity', '0'];
  for (let more = true; more; ) {
    const due = await client.$queryRawUnsafe<DueRow[]>(READ_DUE, at, after);
    await expireAll(ledger, parts, due);
    const last = due.at(-1);
    [at, after] = [last?.at ?? at, last?.seq ?? after];
    more = due.length === AT_ONCE;
  }
}

async function expireAll(ledger: LedgerStore, parts: Parts, due: readonly DueRow[]): Promise<void> {
  const [first] = due;
  if (first === undefined) return;
  const call = { deadlineAt: parts.clock.now() + PATIENCE_MS, idempotency: null, subject: { verified: false } };
  const accounts = [...new Set(due.flatMap(({ account }) => (account === null ? [] : [account])))].sort();
  const holds = due.map(({ hold_id: holdId, owner_kind: ownerKind, owner }) => ({ holdId, ownerKind, owner }));
  try {
    await ledger.expire(call, { accounts, holds });
  } catch (error) {
    if (error instanceof CallError || isDatabaseAway(error)) throw error;
    // A bug is that of one of them, so each goes alone.
    if (due.length > 1) for (const one of due) await expireAll(ledger, parts, [one]);
    else parts.log.error({ err: error, holdId: first.hold_id, account: first.account }, 'a hold cannot be closed');
  }
}
