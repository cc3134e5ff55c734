/** Holds past their time are over already for whoever looks; here they are closed, and their events told. */
import type { SqlClient } from '@svc/runtime/database.ts';
import type { OwnerKind } from '../domain/hold.ts';
import type { LedgerStore } from './ledger-store.ts';

/** Accounts that one transaction locks. */
const AT_ONCE = 50;
const PATIENCE_MS = 20_000;

interface DueRow {
  readonly hold_id: string;
  readonly owner_kind: OwnerKind;
  readonly owner: string;
  readonly account: string | null;
}

const READ_DUE = `
  SELECT h.hold_id, h.owner_kind, h.owner, h.account FROM escrow.holds h LEFT JOIN escrow.accounts a ON a.account_id = h.account
  WHERE h.state = 'held' AND h.expires_at <= clock_timestamp() AND a.frozen_at IS NULL
  ORDER BY h.expires_at LIMIT ${AT_ONCE}`;

/** Many may sweep at once: each hold is closed by one of them. `now` in ms since the epoch. */
export async function sweepHolds(client: SqlClient, ledger: LedgerStore, now: () => number): Promise<void> {
  for (;;) {
    const due = await client.$queryRawUnsafe<DueRow[]>(READ_DUE);
    if (due.length === 0) return;
    const call = { deadlineAt: now() + PATIENCE_MS, idempotency: null, subject: { verified: false } };
    const accounts = [...new Set(due.flatMap(({ account }) => (account === null ? [] : [account])))].sort();
    const holds = due.map(({ hold_id: holdId, owner_kind: ownerKind, owner }) => ({ holdId, ownerKind, owner }));
    await ledger.expire(call, { accounts, holds });
    if (due.length < AT_ONCE) return;
  }
}
