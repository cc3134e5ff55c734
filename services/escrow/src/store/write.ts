/** The changes of a book as rows, in one statement. */
import type { IdempotencyScope } from '@svc/contract/tool.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import { IDEMPOTENCY_KEPT_SINCE } from '@svc/runtime/idempotency.ts';
import type { Account } from '../domain/account.ts';
import { type Changes, sinkChanges } from '../domain/book.ts';
import { claimOf, type Hold, holdKey } from '../domain/hold.ts';
import type { Member } from '../domain/member.ts';
import { Overtaken } from './move.ts';

/** The outcome of a keyed call, to be stored beside its effect. */
export interface KeyedOutcome extends IdempotencyScope {
  /** As JSON text, so that a replayed reply is byte-equal. */
  readonly outcome: string;
}

export interface WriteOptions {
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Account -> who opened it. */
  readonly openers: ReadonlyMap<string, string>;
  readonly keyed: readonly KeyedOutcome[];
}

/** Throws Overtaken when a row is not what was read. */
export async function writeChanges(tx: SqlClient, changes: Changes, options: WriteOptions): Promise<void> {
  const closed = changes.holds.filter(({ seq }) => seq > 0n);
  const placed = changes.holds.filter(({ seq }) => seq < 0n);
  // A hold that is placed may have the name of one that is closed, which must be free before.
  const freed = new Set(closed.map(holdKey));
  if (!placed.some((hold) => freed.has(holdKey(hold)))) return writeAll(tx, changes, options);
  const nothing: Changes = { accounts: [], members: [], holds: [], entries: [] };
  await writeAll(tx, { ...nothing, holds: closed }, { ...options, keyed: [] });
  await writeAll(tx, { ...changes, holds: placed }, options);
}

/** What is null is left out: the statement reads it as null all the same. */
function json(rows: readonly object[]): string {
  const texts = rows.map((row) => {
    const shown: Record<string, unknown> = {};
    for (const [name, value] of Object.entries(row) as [string, unknown][]) {
      if (value !== null) shown[name] = typeof value === 'bigint' ? String(value) : value;
    }
    return JSON.stringify(shown);
  });
  return `[${texts.join(',')}]`;
}

/**
 * What existed is updated if it is still what was read; what is new is inserted if nobody else did meanwhile. Accounts
 * are named once more beside their rows, because the planner takes a list of keys to the index and a recordset to the
 * whole table.
 */
const WRITE_ROWS = `
  WITH a AS (
    UPDATE escrow.accounts t SET "limit" = r."limit", spent = r.spent, earned = r.earned, pending = r.pending,
      entry_count = r."entryCount", last_hash = r."lastHash", version = t.version + 1,
      frozen_at = CASE WHEN r.frozen THEN t.frozen_at END, frozen_for = CASE WHEN r.frozen THEN t.frozen_for END
    FROM json_to_recordset($1::json) AS r("accountId" text, "limit" bigint, spent bigint, earned bigint, pending bigint,
      "entryCount" bigint, "lastHash" text, frozen boolean, version bigint)
    WHERE t.account_id = r."accountId" AND t.account_id = ANY($11::text[]) AND t.version = r.version RETURNING 1
  ), m AS (
    UPDATE escrow.members t SET "limit" = r."limit", spent = r.spent, pending = r.pending,
      draws_since = to_timestamp(r."drawsSince" / 1000.0), draws = r.draws, version = t.version + 1
    FROM json_to_recordset($2::json) AS r("workspaceId" text, "agentId" text, "limit" bigint, spent bigint,
      pending bigint, "drawsSince" double precision, draws int, version bigint)
    WHERE t.workspace_id = r."workspaceId" AND t.agent_id = r."agentId" AND t.version = r.version RETURNING 1
  ), h AS (
    UPDATE escrow.holds t SET claim = r.claim, state = r.state, closed_at = to_timestamp(r."closedAt" / 1000.0),
      closed_by = r."closedBy", captured = r.captured, payee = r.payee, entry_id = r."entryId"
    FROM json_to_recordset($3::json) AS r(seq bigint, claim text, state text, "closedAt" double precision,
      "closedBy" text, captured bigint, payee text, "entryId" text)
    WHERE t.seq = r.seq AND t.state = 'held' RETURNING 1
  ),
  na AS (
    INSERT INTO escrow.accounts (account_id, kind, "limit", spent, earned, pending, entry_count, last_hash, version,
      created_at, created_by)
    SELECT "accountId", kind, "limit", spent, earned, pending, "entryCount", "lastHash", 1,
      to_timestamp($10::double precision / 1000.0), "createdBy"
    FROM json_to_recordset($4::json) AS r("accountId" text, kind text, "limit" bigint, spent bigint, earned bigint,
      pending bigint, "entryCount" bigint, "lastHash" text, "createdBy" text) ORDER BY "accountId"
    ON CONFLICT DO NOTHING RETURNING 1
  ), nm AS (
    INSERT INTO escrow.members (workspace_id, agent_id, "limit", spent, pending, draws_since, draws, version)
    SELECT "workspaceId", "agentId", "limit", spent, pending, to_timestamp("drawsSince" / 1000.0), draws, 1
    FROM json_to_recordset($5::json) AS r("workspaceId" text, "agentId" text, "limit" bigint, spent bigint,
      pending bigint, "drawsSince" double precision, draws int) ORDER BY "workspaceId", "agentId"
    ON CONFLICT DO NOTHING RETURNING 1
  ), nh AS (
    INSERT INTO escrow.holds (hold_id, claim, account, member, amount, condition, state, owner_kind, owner, body_hash,
      held_at, expires_at, closed_at, closed_by, captured, payee, entry_id)
    SELECT "holdId", claim, account, member, amount, condition, state, "ownerKind", owner, "bodyHash",
      to_timestamp("heldAt" / 1000.0), to_timestamp("expiresAt" / 1000.0), to_timestamp("closedAt" / 1000.0),
      "closedBy", captured, payee, "entryId"
    FROM json_to_recordset($6::json) AS r("holdId" text, claim text, account text, member text, amount bigint,
      condition jsonb, state text, "ownerKind" text, owner text, "bodyHash" text, "heldAt" double precision,
      "expiresAt" double precision, "closedAt" double precision, "closedBy" text, captured bigint, payee text,
      "entryId" text, ord bigint) ORDER BY "holdId", ord
    ON CONFLICT DO NOTHING RETURNING 1
  ), e AS (
    INSERT INTO escrow.entries (entry_id, account, no, at, kind, ref, by, memo, member, payee, amount, refund_of,
      body_hash, answer, prev_hash, hash)
    SELECT "entryId", account, no, to_timestamp(at / 1000.0), kind, ref, by, memo, member, payee, amount, "refundOf",
      "bodyHash", answer, "prevHash", hash
    FROM json_to_recordset($7::json) AS r("entryId" text, account text, no bigint, at double precision, kind text,
      ref text, by text, memo text, member text, payee text, amount bigint, "refundOf" text, "bodyHash" text,
      answer json, "prevHash" text, hash text) ORDER BY account, no
    ON CONFLICT DO NOTHING RETURNING 1
  ), s AS (
    INSERT INTO escrow.sinks AS t (account_id, shard, earned)
    SELECT account, pg_backend_pid() % 16, amount
    FROM json_to_recordset($8::json) AS r(account text, amount bigint) ORDER BY account
    ON CONFLICT (account_id, shard) DO UPDATE SET earned = t.earned + excluded.earned RETURNING 1
  ), i AS (
    INSERT INTO escrow.idempotency AS t (principal, tool, key, args_hash, outcome, at)
    SELECT principal, tool, key, "argsHash", outcome::json, now()
    FROM json_to_recordset($9::json) AS r(principal text, tool text, key text, "argsHash" text, outcome text)
    ORDER BY principal, tool, key
    ON CONFLICT (principal, tool, key) DO UPDATE SET args_hash = excluded.args_hash, outcome = excluded.outcome, at = now()
    WHERE t.at < ${IDEMPOTENCY_KEPT_SINCE} RETURNING 1
  )
  SELECT (SELECT count(*) FROM a) + (SELECT count(*) FROM m) + (SELECT count(*) FROM h) + (SELECT count(*) FROM na)
    + (SELECT count(*) FROM nm) + (SELECT count(*) FROM nh) + (SELECT count(*) FROM e) + (SELECT count(*) FROM s)
    + (SELECT count(*) FROM i) AS written`;

function heldRow(hold: Hold) {
  return { ...hold, claim: claimOf(hold), ord: -hold.seq };
}

/** The lists in the order of the statement's parameters. */
function rowsOf(changes: Changes, { openers, keyed }: WriteOptions): readonly object[][] {
  const { accounts, members, holds, entries } = changes;
  const isNew = ({ version }: Account | Member): boolean => version === 0n;
  const opened = accounts
    .filter(isNew)
    .map((account) => ({ ...account, createdBy: openers.get(account.accountId) ?? 'service' }));
  return [
    accounts.filter((account) => !isNew(account)),
    members.filter((member) => !isNew(member)),
    holds.filter(({ seq }) => seq > 0n).map((hold) => heldRow({ ...hold, condition: null })),
    opened,
    members.filter(isNew),
    holds.filter(({ seq }) => seq < 0n).map(heldRow),
    [...entries],
    [...sinkChanges(changes)].map(([account, amount]) => ({ account, amount })),
    [...keyed],
  ];
}

async function writeAll(tx: SqlClient, changes: Changes, options: WriteOptions): Promise<void> {
  const lists = rowsOf(changes, options);
  const expected = lists.flat().length;
  if (expected === 0) return;
  const [row] = await tx.$queryRawUnsafe<{ written: bigint }[]>(
    WRITE_ROWS,
    ...lists.map(json),
    options.now,
    changes.accounts.map(({ accountId }) => accountId),
  );
  if (row?.written !== BigInt(expected)) throw new Overtaken(`${row?.written} rows of ${expected} were written`);
}
