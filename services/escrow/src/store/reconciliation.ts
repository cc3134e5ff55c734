/** The ledger held against its own entries: what contradicts them is frozen, never mended. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Platform } from '@svc/runtime/platform.ts';
import { writeAudit } from '@svc/runtime/audit.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import type { ServiceStore } from '@svc/runtime/store.ts';
import { withPgTransaction } from '@svc/runtime/transaction.ts';
import { isSink, workspaceOfAccount } from '../domain/account.ts';
import { catchUp, type Place, readOn, readViolations, type Violation } from './invariants.ts';
import { partyOf } from './ledger-events.ts';

type Base = Pick<ServiceStore, 'pool' | 'client' | 'schema' | 'outbox' | 'audit'>;
type Parts = Pick<Platform, 'ids' | 'log'>;

export interface Reconciliation {
  /**
   * Looks at all accounts, and of the entries at those that came since the last look; freezes what does not hold and answers
   * what it found. A reading of the whole ledger that was broken off, as by a start, it takes up.
   */
  run(signal?: AbortSignal): Promise<readonly Violation[]>;
  /** Reads from the first entry on, in slices that let others work, then looks as `run` does. Takes up what was broken off. */
  readWhole(signal?: AbortSignal): Promise<readonly Violation[]>;
  /** What a start waits for: all accounts, and the whole ledger where it is short; of a long one its next entries. */
  begin(): Promise<void>;
  isWhole(account: string): Promise<boolean>;
  /** Whether the ledger was read, nothing is frozen and nothing was found that cannot be frozen. */
  holds(): Promise<boolean>;
}

/** All accounts take their time. */
const TIMEOUT_MS = 600_000;
const SLICE = 1000;
const SLICES_OF_A_START = 20;
/** Of the time between two slices, how much is left to others. */
const REST = 4;

export function createReconciliation(base: Base, parts: Parts): Reconciliation {
  const reading = new LedgerReading(base, parts);
  const readWhole: Reconciliation['readWhole'] = async (signal) => {
    const found: Violation[] = [];
    for (;;) {
      const begunAt = performance.now();
      const slice = await reading.readSlice();
      if (slice === null) return [...found, ...((await reading.lookAtAll()) ?? [])];
      found.push(...slice);
      if (signal?.aborted) return found;
      await sleep(REST * (performance.now() - begunAt));
    }
  };
  return {
    async run(signal) {
      const found = await reading.lookAtAll();
      if (found !== null && !(await reading.isUnderWay())) return found;
      return [...(found ?? []), ...(await readWhole(signal))];
    },
    readWhole,
    async begin() {
      // What one that was broken off had read before it is read again.
      let ends = (await reading.isUnderWay()) ? 2 : 1;
      for (let slices = 0; ends > 0 && slices < SLICES_OF_A_START; slices += 1)
        if ((await reading.readSlice()) === null) ends -= 1;
      await reading.lookAtAll();
    },
    isWhole: async (account) => (await readViolations(base.client, [account])).length === 0,
    holds: () => reading.holds(),
  };
}

interface State {
  readonly complete: bigint;
  readonly reading: bigint | null;
  readonly after_account: string;
  readonly after_no: bigint;
}

class LedgerReading {
  readonly #base: Base;
  readonly #parts: Parts;
  #unfrozen: readonly Violation[] = [];

  constructor(base: Base, parts: Parts) {
    this.#base = base;
    this.#parts = parts;
  }

  /** What does not hold; null = the ledger was never read whole. */
  async lookAtAll(): Promise<readonly Violation[] | null> {
    const found = await this.#told((known) =>
      this.#inTurn(async (tx, { complete }) => (complete === 0n ? null : (await catchUp(tx, complete, known)).found)),
    );
    if (found !== null) this.#unfrozen = found.filter(({ account }) => !canFreeze(account));
    return found;
  }

  /** What does not hold of the next entries; null = there are no more, and the ledger was read whole. */
  readSlice(): Promise<readonly Violation[] | null> {
    return this.#told((known) =>
      this.#inTurn(async (tx, state) => {
        const generation = state.reading ?? state.complete + 1n;
        if (state.reading === null) await beginReading(tx, generation);
        const after = state.reading === null ? START : { account: state.after_account, no: state.after_no };
        const { entries, found } = await readOn(tx, { generation, after, limit: SLICE }, known);
        if (entries > 0) return found;
        await endReading(tx, generation);
        return null;
      }),
    );
  }

  /** Whether a reading of the whole ledger was begun and has not ended. */
  isUnderWay(): Promise<boolean> {
    return this.#inTurn(async (_tx, { reading }) => reading !== null);
  }

  async holds(): Promise<boolean> {
    if (this.#unfrozen.length > 0) return false;
    const rows = await this.#base.client.$queryRawUnsafe<unknown[]>(
      `SELECT 1 AS trouble FROM escrow.accounts WHERE frozen_at IS NOT NULL
       UNION ALL SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM escrow.verification WHERE complete > 0) LIMIT 1`,
    );
    return rows.length === 0;
  }

  /** What is found is frozen before the checkpoints stand for it: a process that ends in between finds it again. */
  async #told(look: (known: readonly string[]) => Promise<readonly Violation[] | null>) {
    const found = await look([]);
    if (found === null || found.length === 0) return found;
    const names = [...new Set(found.map(({ account }) => account))];
    for (const account of names) if (canFreeze(account)) await freeze(this.#base, this.#parts, account);
    for (const violation of found) this.#parts.log.error({ violation }, 'the ledger contradicts its entries');
    await look(names.map((account) => account ?? ''));
    return found;
  }

  /** Processes read one after the other, each from where the one before it came. */
  #inTurn<Result>(work: (tx: SqlClient, state: State) => Promise<Result>): Promise<Result> {
    const reading = async (tx: SqlClient): Promise<Result> => {
      await tx.$executeRawUnsafe('SET LOCAL statement_timeout = 0');
      const [state] = await tx.$queryRawUnsafe<State[]>(
        `INSERT INTO escrow.verification AS v DEFAULT VALUES ON CONFLICT (one) DO UPDATE SET one = true
         RETURNING complete, reading, after_account, after_no`,
      );
      if (state === undefined) throw new Error('a row that is inserted or updated was not answered');
      return work(tx, state);
    };
    return withPgTransaction(this.#base.pool, reading, { timeoutMs: TIMEOUT_MS });
  }
}

const START: Place = { account: '', no: 0n };

async function beginReading(tx: SqlClient, generation: bigint): Promise<void> {
  const sql = 'UPDATE escrow.verification SET reading = $1, after_account = $2, after_no = $3';
  await tx.$executeRawUnsafe(sql, generation, START.account, START.no);
}

async function endReading(tx: SqlClient, generation: bigint): Promise<void> {
  await tx.$executeRawUnsafe('UPDATE escrow.verification SET complete = $1, reading = NULL', generation);
  await tx.$executeRawUnsafe('DELETE FROM escrow.checkpoints WHERE generation < $1', generation);
}

function canFreeze(account: string | null): account is string {
  return account !== null && !isSink(account);
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
