/** What the ledger shows. A read writes nothing and closes nothing: what is past its time it leaves out. */
import type { Database, SqlClient } from '@svc/runtime/database.ts';
import { NOW } from '@svc/runtime/sql-time.ts';
import { withPgTransaction } from '@svc/runtime/transaction.ts';
import { type Account, type Budget, budgetOf, credits } from '../domain/account.ts';
import type { HoldState } from '../domain/hold.ts';
import { type Member, type MemberBudget, memberBudgetOf, newMember } from '../domain/member.ts';
import { ACCOUNT_COLUMNS, accountOf } from './load.ts';

interface ShownHold {
  readonly held: true;
  readonly condition: Record<string, unknown> | null;
  readonly amount: number;
  readonly expiresAt: number;
}

interface HoldCounts {
  readonly holds: number;
  readonly approvals: number;
}

export interface ServiceHold {
  readonly state: HoldState;
  readonly amount: number;
  readonly expiresAt: number;
  readonly entryId?: string;
}

interface LiveHold {
  readonly holdId: string;
  readonly amount: number;
  readonly heldAt: number;
}

/** Holds that reserve from the account or name it, and those that the principal has placed; null = none. */
interface HoldView {
  readonly account: string | null;
  readonly owner: string | null;
}

const MAX_SHOWN_HOLDS = 1000;
const LIVE = "state = 'held' AND expires_at > clock_timestamp()";
/** Reservations past their time count no more, whether or not they were closed. */
const DUE_SUM = `(SELECT coalesce(sum(h.amount), 0)::bigint FROM escrow.holds h
  WHERE h.account = a.account_id AND h.state = 'held' AND h.expires_at <= ${NOW})`;

type AccountRow = Parameters<typeof accountOf>[0];

export class LedgerReads {
  readonly #client: SqlClient;
  readonly #pool: Database['pool'];

  constructor(client: SqlClient, pool: Database['pool']) {
    this.#client = client;
    this.#pool = pool;
  }

  /** Several reads of one moment. */
  atOnce<Shown>(work: (reads: LedgerReads) => Promise<Shown>): Promise<Shown> {
    const reading = (tx: SqlClient): Promise<Shown> => work(new LedgerReads(tx, this.#pool));
    return withPgTransaction(this.#pool, reading, { isolation: 'RepeatableRead' });
  }

  async account(accountId: string): Promise<Account | null> {
    const [account = null] = await this.accounts([accountId]);
    return account;
  }

  async accounts(accountIds: readonly string[]): Promise<Account[]> {
    const rows = await this.#client.$queryRawUnsafe<(AccountRow & { due: bigint })[]>(
      `SELECT ${ACCOUNT_COLUMNS}, ${DUE_SUM} AS due FROM escrow.accounts a WHERE account_id = ANY($1::text[])
       ORDER BY account_id`,
      accountIds,
    );
    return rows.map(withoutDue);
  }

  /** Pools after the given one, by name; `workspaces` null = all. */
  async pools(workspaces: readonly string[] | null, after: string | null, limit: number): Promise<Account[]> {
    const rows = await this.#client.$queryRawUnsafe<(AccountRow & { due: bigint })[]>(
      `SELECT ${ACCOUNT_COLUMNS}, ${DUE_SUM} AS due FROM escrow.accounts a
       WHERE kind = 'pool' AND ($1::text[] IS NULL OR account_id = ANY($1::text[])) AND account_id > $2
       ORDER BY account_id LIMIT $3`,
      workspaces?.map((workspace) => `ws:${workspace}`) ?? null,
      after ?? '',
      limit,
    );
    return rows.map(withoutDue);
  }

  async sinkBudget(accountId: string): Promise<Budget | null> {
    const [row] = await this.#client.$queryRawUnsafe<{ earned: bigint | null }[]>(
      'SELECT sum(earned)::bigint AS earned FROM escrow.sinks WHERE account_id = $1',
      accountId,
    );
    if (row === undefined || row.earned === null) return null;
    return { ...budgetOf({ limit: 0n, spent: 0n, earned: row.earned, pending: 0n }), available: 0 };
  }

  async member(workspaceId: string, agentId: string): Promise<Member> {
    const [member] = await this.#members(workspaceId, agentId);
    return member ?? newMember(workspaceId, agentId);
  }

  /** `agentId` null = all members. */
  async members(
    pool: Account,
    workspaceId: string,
    agentId: string | null,
  ): Promise<(MemberBudget & { agentId: string })[]> {
    const members = await this.#members(workspaceId, agentId);
    return members.map((member) => ({ agentId: member.agentId, ...memberBudgetOf(member, pool) }));
  }

  async #members(workspaceId: string, agentId: string | null): Promise<Member[]> {
    const rows = await this.#client.$queryRawUnsafe<MemberRow[]>(
      `SELECT m.agent_id, m."limit", m.spent, m.draws, m.version, m.pending - (
         SELECT coalesce(sum(h.amount), 0)::bigint FROM escrow.holds h WHERE h.account = 'ws:' || m.workspace_id
           AND h.member = m.agent_id AND h.state = 'held' AND h.expires_at <= ${NOW}) AS pending
       FROM escrow.members m WHERE m.workspace_id = $1 AND ($2::text IS NULL OR m.agent_id = $2) ORDER BY m.agent_id`,
      workspaceId,
      agentId,
    );
    return rows.map(({ agent_id: id, ...row }) => ({ ...row, workspaceId, agentId: id, drawsSince: null }));
  }

  /**
   * By their ids. Where several principals have placed one under the same id, it is that of the viewer or else the oldest;
   * the others stand beside it under `<id>#<principal>`, which is nobody's id.
   */
  async holdsOf({ account, owner }: HoldView, viewer: string): Promise<Record<string, ShownHold>> {
    const rows = await this.#client.$queryRawUnsafe<HoldRow[]>(
      `SELECT hold_id, owner, condition, amount, floor(extract(epoch FROM expires_at) * 1000)::float8 AS expires_at
       FROM escrow.holds WHERE (account = $1 OR owner = $2) AND ${LIVE}
       ORDER BY owner = $3 DESC, seq LIMIT ${MAX_SHOWN_HOLDS}`,
      account,
      owner,
      viewer,
    );
    const shown: Record<string, ShownHold> = {};
    for (const { hold_id: holdId, owner: placer, condition, amount, expires_at: expiresAt } of rows) {
      const name = Object.hasOwn(shown, holdId) ? `${holdId}#${placer}` : holdId;
      shown[name] = { held: true, condition, amount: credits(amount), expiresAt };
    }
    return shown;
  }

  /** `view` null = everybody's. */
  async holdCounts(view: HoldView | null): Promise<HoldCounts> {
    const [row] = await this.#client.$queryRawUnsafe<HoldCounts[]>(
      `SELECT count(*)::int AS holds, (count(*) FILTER (WHERE condition->>'type' = 'approval'))::int AS approvals
       FROM escrow.holds WHERE ($1 OR account = $2 OR owner = $3) AND ${LIVE}`,
      view === null,
      view?.account ?? null,
      view?.owner ?? null,
    );
    return row ?? { holds: 0, approvals: 0 };
  }

  async countBudgets(): Promise<number> {
    const [row] = await this.#client.$queryRawUnsafe<{ budgets: number }[]>(
      "SELECT count(*)::int AS budgets FROM escrow.accounts WHERE kind = 'budget'",
    );
    return row?.budgets ?? 0;
  }

  /** By their ids, those of the owner. */
  async serviceHolds(holdIds: readonly string[], owner: string): Promise<Record<string, ServiceHold>> {
    const rows = await this.#client.$queryRawUnsafe<ServiceHoldRow[]>(
      `SELECT hold_id, CASE WHEN state = 'held' AND expires_at <= clock_timestamp() THEN 'expired' ELSE state END AS state, amount,
         floor(extract(epoch FROM expires_at) * 1000)::float8 AS expires_at, entry_id
       FROM escrow.holds WHERE claim = ANY($1::text[]) AND owner_kind = 'service' AND owner = $2`,
      holdIds,
      owner,
    );
    return Object.fromEntries(rows.map((row) => [row.hold_id, serviceHoldOf(row)]));
  }

  /** Those of a service with ids after the given one, in the order of their bytes. */
  async liveHolds(owner: string, after: string, limit: number): Promise<LiveHold[]> {
    const rows = await this.#client.$queryRawUnsafe<{ hold_id: string; amount: bigint; held_at: number }[]>(
      `SELECT hold_id, amount, floor(extract(epoch FROM held_at) * 1000)::float8 AS held_at FROM escrow.holds
       WHERE owner = $1 AND owner_kind = 'service' AND ${LIVE} AND hold_id COLLATE "C" > $2
       ORDER BY hold_id COLLATE "C" LIMIT $3`,
      owner,
      after,
      limit,
    );
    return rows.map((row) => ({ holdId: row.hold_id, amount: credits(row.amount), heldAt: row.held_at }));
  }
}

interface MemberRow {
  readonly agent_id: string;
  readonly limit: bigint | null;
  readonly spent: bigint;
  readonly pending: bigint;
  readonly draws: number;
  readonly version: bigint;
}

interface HoldRow {
  readonly hold_id: string;
  readonly owner: string;
  readonly condition: Record<string, unknown> | null;
  readonly amount: bigint;
  readonly expires_at: number;
}

interface ServiceHoldRow {
  readonly hold_id: string;
  readonly state: HoldState;
  readonly amount: bigint;
  readonly expires_at: number;
  readonly entry_id: string | null;
}

function serviceHoldOf({ state, amount, expires_at: expiresAt, entry_id: entryId }: ServiceHoldRow): ServiceHold {
  return { state, amount: credits(amount), expiresAt, ...(entryId === null ? {} : { entryId }) };
}

function withoutDue({ due, ...row }: AccountRow & { readonly due: bigint }): Account {
  const account = accountOf(row);
  return { ...account, pending: account.pending - due };
}
