/** Rows of the ledger, read under the locks of the accounts that they belong to. */
import type { SqlClient } from '@svc/runtime/database.ts';
import { isSink, workspaceOfAccount } from '../domain/account.ts';
import type { Account, AccountKind } from '../domain/account.ts';
import { Book, memberKey, type PaidEntry, type UsedReference } from '../domain/book.ts';
import { type Hold, holdKey } from '../domain/hold.ts';
import type { Member } from '../domain/member.ts';
import { type Needs, Overtaken } from './move.ts';

type Wanted = { readonly [Field in Exclude<keyof Needs, 'owner'>]-?: readonly NonNullable<Needs[Field]>[number][] } & {
  readonly owners: readonly string[];
};

/** Locks what the decisions may change, in one order for everybody, and reads what they judge by. */
export async function openBook(tx: SqlClient, needs: readonly Needs[]): Promise<Book> {
  const asked = mergedNeeds(needs);
  const names = namesOf(asked, needs.length);
  const wanted = await followed(tx, asked, names);
  await lockOwners(tx, wanted.owners);
  const { accounts, lockedAt } = await lockAccounts(tx, wanted.accounts);
  if (lockedAt !== null && isJustAccounts(wanted) && accounts.every(({ pending }) => pending === 0n)) {
    const nothing = { members: [], holds: [], paid: [], references: [], holdCounts: new Map<string, number>() };
    return new Book({ ...nothing, now: lockedAt, accounts });
  }
  const rows = await readRows(tx, wanted, names);
  assertLocked(wanted, rows);
  return new Book({ ...rows, accounts, holdCounts: new Map(Object.entries(rows.holdCounts)) });
}

/** Beside accounts without a reservation no hold can be due that matters: a record may wait for whoever looks at it. */
function isJustAccounts({ members, holds, holdIds, paid, references, owners }: Wanted): boolean {
  return [members, holds, holdIds, paid, references, owners].every(({ length }) => length === 0);
}

function mergedNeeds(needs: readonly Needs[]): Wanted {
  const all = <Item>(of: (one: Needs) => readonly Item[] | undefined): Item[] => needs.flatMap((one) => of(one) ?? []);
  return {
    accounts: [...new Set(all((one) => one.accounts).filter((accountId) => !isSink(accountId)))],
    members: [...new Map(all((one) => one.members).map((member) => [memberKey(member), member])).values()],
    holds: [...new Map(all((one) => one.holds).map((hold) => [holdKey(hold), hold])).values()],
    holdIds: [...new Set(all((one) => one.holdIds))],
    paid: [...new Set(all((one) => one.paid))],
    references: all((one) => one.references),
    owners: [...new Set(all((one) => (one.owner === undefined ? [] : [one.owner])))],
  };
}

interface LedTo {
  readonly account: string | null;
  readonly member: string | null;
  readonly payee: string | null;
}

/**
 * Those of services by their ids, those of callers by owner and id, and the live ones under an id whoever placed them: of
 * these no more than tell apart one and several, also after each request of the transaction has closed one.
 */
const NAMED_HOLDS = `
  SELECT * FROM escrow.holds WHERE claim = ANY($1::text[])
  UNION SELECT own.* FROM unnest($2::text[], $3::text[]) AS wanted (owner, id), LATERAL (
    SELECT * FROM escrow.holds n WHERE n.hold_id = wanted.id AND n.owner = wanted.owner AND n.owner_kind = 'caller'
      AND n.state = 'held' ORDER BY n.seq LIMIT 1) own
  UNION SELECT one.* FROM unnest($4::text[]) AS wanted (id), LATERAL (
    SELECT * FROM escrow.holds n WHERE n.hold_id = wanted.id AND n.owner_kind = 'caller' AND n.state = 'held'
      AND n.expires_at > clock_timestamp() ORDER BY n.owner LIMIT $5::int) one`;

function namesOf({ holds, holdIds }: Wanted, requests: number) {
  const ofServices = holds.filter(({ ownerKind }) => ownerKind === 'service');
  const ofCallers = holds.filter(({ ownerKind }) => ownerKind === 'caller');
  return [
    ofServices.map(holdKey),
    ofCallers.map(({ owner }) => owner),
    ofCallers.map(({ holdId }) => holdId),
    holdIds,
    requests + 1,
  ] as const;
}

type HoldNames = ReturnType<typeof namesOf>;

const LED_TO = `
  SELECT account, member, NULL AS payee FROM (${NAMED_HOLDS}) named
  UNION ALL
  SELECT account, member, payee FROM escrow.entries WHERE entry_id = ANY($6::text[])`;

/** With the accounts and members that named holds and entries lead to; these never change. */
async function followed(tx: SqlClient, wanted: Wanted, names: HoldNames): Promise<Wanted> {
  if ([wanted.holds, wanted.holdIds, wanted.paid].every(({ length }) => length === 0)) return wanted;
  const rows = await tx.$queryRawUnsafe<LedTo[]>(LED_TO, ...names, wanted.paid);
  const accounts = rows.flatMap(({ account, payee }) => [account, payee]).filter((id) => id !== null);
  const members = rows.flatMap(({ account, member: agentId }) => {
    const workspaceId = account === null ? null : workspaceOfAccount(account);
    return workspaceId === null || agentId === null ? [] : [{ workspaceId, agentId }];
  });
  const { owners, ...rest } = wanted;
  return { ...mergedNeeds([rest, { accounts, members }]), owners };
}

/** A count of rows is no row: whoever counts the holds of a principal excludes others who do. */
async function lockOwners(tx: SqlClient, owners: readonly string[]): Promise<void> {
  if (owners.length === 0) return;
  await tx.$queryRawUnsafe(
    `SELECT pg_advisory_xact_lock(key) FROM
       (SELECT DISTINCT hashtextextended('holds of ' || owner, 0) AS key FROM unnest($1::text[]) AS owner ORDER BY key) k`,
    owners,
  );
}

interface AccountRow {
  readonly account_id: string;
  readonly kind: AccountKind;
  readonly limit: bigint;
  readonly spent: bigint;
  readonly earned: bigint;
  readonly pending: bigint;
  readonly entry_count: bigint;
  readonly last_hash: string | null;
  readonly frozen: boolean;
  readonly version: bigint;
}

type LockedRow = AccountRow & { readonly locked_at: number };

export const ACCOUNT_COLUMNS = `account_id, kind, "limit", spent, earned, pending, entry_count, last_hash,
  frozen_at IS NOT NULL AS frozen, version`;

/** Each row says when it was locked; the last one, when all were. Null = there was none. */
async function lockAccounts(
  tx: SqlClient,
  accountIds: readonly string[],
): Promise<{ accounts: Account[]; lockedAt: number | null }> {
  if (accountIds.length === 0) return { accounts: [], lockedAt: null };
  const rows = await tx.$queryRawUnsafe<LockedRow[]>(
    `WITH locked AS MATERIALIZED (
       SELECT ${ACCOUNT_COLUMNS} FROM escrow.accounts WHERE account_id = ANY($1::text[]) ORDER BY account_id FOR UPDATE
     ) SELECT *, floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS locked_at FROM locked`,
    accountIds,
  );
  const accounts = rows.map(({ locked_at: _at, ...row }) => accountOf(row));
  const lockedAt = rows.length === 0 ? null : Math.max(...rows.map(({ locked_at: at }) => at));
  return { accounts, lockedAt };
}

export function accountOf({ account_id, entry_count, last_hash, ...row }: AccountRow): Account {
  return { ...row, accountId: account_id, entryCount: entry_count, lastHash: last_hash };
}

const HOLD_FIELDS = `json_build_object('seq', h.seq::text, 'holdId', h.hold_id, 'account', h.account, 'member', h.member,
  'amount', h.amount::text, 'state', h.state, 'ownerKind', h.owner_kind, 'owner', h.owner, 'bodyHash', h.body_hash,
  'heldAt', floor(extract(epoch FROM h.held_at) * 1000), 'expiresAt', floor(extract(epoch FROM h.expires_at) * 1000),
  'closedAt', floor(extract(epoch FROM h.closed_at) * 1000), 'closedBy', h.closed_by,
  'captured', h.captured::text, 'payee', h.payee, 'entryId', h.entry_id)`;

/** The clock is read after the locks are there: who waited for one does not judge by an older time than who had it. */
const READ_ROWS = `
  WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now),
  h AS MATERIALIZED (
    ${NAMED_HOLDS}
    UNION SELECT * FROM escrow.holds
      WHERE account = ANY($6::text[]) AND state = 'held' AND expires_at <= (SELECT now FROM clock)
  )
  SELECT
    (SELECT floor(extract(epoch FROM now) * 1000)::float8 FROM clock) AS now,
    (SELECT json_agg(json_build_object('workspaceId', m.workspace_id, 'agentId', m.agent_id, 'limit', m."limit"::text,
        'spent', m.spent::text, 'pending', m.pending::text,
        'drawsSince', floor(extract(epoch FROM m.draws_since) * 1000), 'draws', m.draws, 'version', m.version::text))
      FROM escrow.members m
      WHERE (m.workspace_id, m.agent_id) IN (SELECT * FROM unnest($7::text[], $8::text[])
        UNION SELECT substr(h.account, 4), h.member FROM h WHERE h.account LIKE 'ws:%')) AS members,
    (SELECT json_agg(${HOLD_FIELDS}) FROM h) AS holds,
    (SELECT json_agg(json_build_object('entryId', e.entry_id, 'kind', e.kind, 'account', e.account, 'member', e.member,
        'payee', e.payee, 'amount', e.amount::text, 'refunded',
        (SELECT coalesce(sum(r.amount), 0) FROM escrow.entries r WHERE r.refund_of = e.entry_id)::text))
      FROM escrow.entries e WHERE e.entry_id = ANY($9::text[])) AS paid,
    (SELECT json_agg(json_build_object('kind', e.kind, 'ref', e.ref, 'bodyHash', e.body_hash, 'answer', e.answer))
      FROM escrow.entries e WHERE (e.kind, e.ref) IN (SELECT * FROM unnest($10::text[], $11::text[]))) AS "references",
    (SELECT json_object_agg(owner, live) FROM (
        SELECT owner, count(*) AS live FROM escrow.holds
        WHERE owner = ANY($12::text[]) AND owner_kind = 'caller' AND state = 'held'
          AND expires_at > (SELECT now FROM clock) GROUP BY owner) c) AS hold_counts`;

/** Numbers beyond what JSON carries exactly travel as text. */
type AsText<Row, Big extends keyof Row> = Omit<Row, Big> & {
  readonly [Field in Big]: string | Extract<Row[Field], null>;
};
type MemberText = AsText<Member, 'limit' | 'spent' | 'pending' | 'version'>;
type HoldText = AsText<Omit<Hold, 'condition'>, 'seq' | 'amount' | 'captured'>;
type PaidText = AsText<PaidEntry, 'amount' | 'refunded'>;

interface Rows {
  readonly now: number;
  readonly members: MemberText[] | null;
  readonly holds: HoldText[] | null;
  readonly paid: PaidText[] | null;
  readonly references: UsedReference[] | null;
  readonly hold_counts: Record<string, number> | null;
}

async function readRows(tx: SqlClient, wanted: Wanted, names: HoldNames) {
  const [row] = await tx.$queryRawUnsafe<Rows[]>(
    READ_ROWS,
    ...names,
    wanted.accounts,
    wanted.members.map(({ workspaceId }) => workspaceId),
    wanted.members.map(({ agentId }) => agentId),
    wanted.paid,
    wanted.references.map(({ kind }) => kind),
    wanted.references.map(({ ref }) => ref),
    wanted.owners,
  );
  if (row === undefined) throw new Error('a statement without a condition gave no row');
  return {
    now: row.now,
    members: (row.members ?? []).map(memberOf),
    holds: (row.holds ?? []).map(holdOf),
    paid: (row.paid ?? []).map((entry) => ({
      ...entry,
      amount: BigInt(entry.amount),
      refunded: BigInt(entry.refunded),
    })),
    references: row.references ?? [],
    holdCounts: row.hold_counts ?? {},
  };
}

function memberOf({ limit, spent, pending, version, ...member }: MemberText): Member {
  return {
    ...member,
    limit: limit === null ? null : BigInt(limit),
    spent: BigInt(spent),
    pending: BigInt(pending),
    version: BigInt(version),
  };
}

/** Without its condition, which no rule reads and no change writes. */
function holdOf({ seq, amount, captured, ...hold }: HoldText): Hold {
  return {
    ...hold,
    seq: BigInt(seq),
    amount: BigInt(amount),
    captured: captured === null ? null : BigInt(captured),
    condition: null,
  };
}

/** A hold or an entry that came between the look at where it leads and the locks leads to an account that is not locked. */
function assertLocked(wanted: Wanted, { holds, paid }: { holds: readonly Hold[]; paid: readonly PaidEntry[] }): void {
  const locked = new Set(wanted.accounts);
  const led = [...holds.map(({ account }) => account), ...paid.flatMap(({ account, payee }) => [account, payee])];
  if (led.some((accountId) => accountId !== null && !isSink(accountId) && !locked.has(accountId))) {
    throw new Overtaken('a row leads to an account that is not locked');
  }
}
