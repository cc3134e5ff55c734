/** The ledger held against its own entries: what contradicts them is frozen, never mended. */
import type { Platform } from '@svc/runtime/platform.ts';
import { writeAudit } from '@svc/runtime/audit.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import type { ServiceStore } from '@svc/runtime/store.ts';
import { withPgTransaction } from '@svc/runtime/transaction.ts';
import { isSink, workspaceOfAccount } from '../domain/account.ts';
import { readViolations, type Violation } from './invariants.ts';
import { partyOf } from './ledger-events.ts';

type Base = Pick<ServiceStore, 'pool' | 'client' | 'schema' | 'outbox' | 'audit'>;

export interface Reconciliation {
  /** Looks at everything and freezes what does not hold; answers what it found. */
  run(): Promise<readonly Violation[]>;
  isWhole(account: string): Promise<boolean>;
  /** Whether nothing is frozen and nothing was found that cannot be frozen. */
  holds(): Promise<boolean>;
}

/** A long ledger takes its time to read. */
const TIMEOUT_MS = 600_000;

export function createReconciliation(base: Base, platform: Pick<Platform, 'ids' | 'log'>): Reconciliation {
  let unfrozen: readonly Violation[] = [];
  return {
    async run() {
      const found = await withPgTransaction(base.pool, readEverything, { timeoutMs: TIMEOUT_MS });
      const accounts = new Set(found.flatMap(({ account }) => (account === null || isSink(account) ? [] : [account])));
      for (const account of accounts) await freeze(base, platform, account);
      unfrozen = found.filter(({ account }) => account === null || isSink(account));
      for (const violation of found) platform.log.error({ violation }, 'the ledger contradicts its entries');
      return found;
    },
    async isWhole(account) {
      return (await readViolations(base.client, [account])).length === 0;
    },
    async holds() {
      if (unfrozen.length > 0) return false;
      const rows = await base.client.$queryRawUnsafe<unknown[]>(
        'SELECT 1 AS frozen FROM escrow.accounts WHERE frozen_at IS NOT NULL LIMIT 1',
      );
      return rows.length === 0;
    },
  };
}

async function readEverything(tx: SqlClient): Promise<Violation[]> {
  await tx.$executeRawUnsafe('SET LOCAL statement_timeout = 0');
  return readViolations(tx);
}

/** Looks again under the account's lock, so that the reason is one of now. */
async function freeze(
  { pool, schema, outbox, audit }: Base,
  { ids }: Pick<Platform, 'ids'>,
  account: string,
): Promise<void> {
  const isFrozenNow = await withPgTransaction(pool, async (tx) => {
    await tx.$queryRawUnsafe('SELECT 1 AS locked FROM escrow.accounts WHERE account_id = $1 FOR UPDATE', account);
    const reasons = (await readViolations(tx, [account])).map(({ invariant }) => invariant);
    if (reasons.length === 0) return false;
    const reason = reasons.join(', ');
    const frozen = await tx.$executeRawUnsafe(
      `UPDATE escrow.accounts SET frozen_at = clock_timestamp(), frozen_for = $2, version = version + 1
       WHERE account_id = $1 AND frozen_at IS NULL`,
      account,
      reason,
    );
    if (frozen === 0) return false;
    const workspace = workspaceOfAccount(account);
    const payload = { account, reason, parties: [partyOf(account)] };
    await outbox.write(tx, [{ name: 'escrow:frozen', payload, ...(workspace === null ? {} : { workspace }) }]);
    const subject = { verified: false };
    await writeAudit(tx, schema, ids, [{ event: 'escrow:frozen', workspace, subject, data: { account, reason } }]);
    return true;
  });
  if (!isFrozenNow) return;
  outbox.kick();
  audit.kick();
}
