/** Keyed calls take effect once: the outcome is a row of the same transaction as the effect. */
import { CallError, type CallErrorCode, type RefusalCode } from '@svc/contract/codes.ts';
import type { Decision } from '@svc/contract/decision.ts';
import type { IdempotencyScope, ToolContext } from '@svc/contract/tool.ts';
import type { SqlClient } from './database.ts';
import { sweepRows } from './row-sweep.ts';
import type { Statement } from './transaction.ts';

export const IDEMPOTENCY_KEPT_MS = 24 * 3_600_000;

/** Outcomes from before this moment, in SQL, are no more. */
export const IDEMPOTENCY_KEPT_SINCE = `now() - interval '${IDEMPOTENCY_KEPT_MS} milliseconds'`;

/** One text for caller, tool and key. */
export function idempotencyId({ principal, tool, key }: Omit<IdempotencyScope, 'argsHash'>): string {
  return JSON.stringify([principal, tool, key]);
}

export interface Once<Value, Code extends string> {
  readonly decision: Decision<Value, Code>;
  readonly replayed: boolean;
}

/** The value of what took effect once, or its refusal thrown; the reply is marked when the outcome is a stored one. */
export function settled<Value, Code extends RefusalCode, Raises extends CallErrorCode>(
  context: Pick<ToolContext<unknown, Code, Raises>, 'markReplayed' | 'take'>,
  outcome: Once<Value, NoInfer<Code>>,
  shown?: Record<string, unknown>,
): Value {
  if (outcome.replayed) context.markReplayed();
  return context.take(outcome.decision, shown);
}

export interface Idempotency {
  /**
   * Runs `work` unless the scope has an outcome already, which is then returned instead. Refusals are outcomes too;
   * a thrown error is none. A twin in flight is waited for. Throws IDEMPOTENCY_KEY_REUSED when the arguments differ.
   */
  once<Value, Code extends string>(
    transaction: SqlClient,
    scope: IdempotencyScope | null,
    work: () => Promise<Decision<Value, Code>>,
  ): Promise<Once<Value, Code>>;
  /** The outcome of an earlier call, for work that is too long to be done inside the transaction; null = none yet. */
  find<Value, Code extends string>(
    client: SqlClient,
    scope: IdempotencyScope | null,
  ): Promise<Decision<Value, Code> | null>;
  /** Those of many calls at once, by `idempotencyId`; whose arguments they had is for the caller to judge. */
  findAll(client: SqlClient, scopes: readonly IdempotencyScope[]): Promise<Map<string, StoredOutcome>>;
  /**
   * For many calls of one transaction, no two of one key: holds the keys of those that have no outcome yet and returns
   * the outcomes of the others, by `idempotencyId`. Twins in flight are waited for.
   */
  reserveAll(transaction: SqlClient, scopes: readonly IdempotencyScope[]): Promise<Map<string, StoredOutcome>>;
  /** Keeps what came of those, and of which arguments: whoever held the key had others, perhaps. */
  settlement(outcomes: readonly SettledKey[]): Statement;
  /** Lets go of those that had no outcome. */
  releases(scopes: readonly IdempotencyScope[]): Statement;
  /** Deletes outcomes past their time; returns how many. */
  sweep(client: SqlClient): Promise<number>;
}

/** What came of a call with these arguments. */
export interface StoredOutcome<Value = unknown, Code extends string = RefusalCode> {
  readonly argsHash: string;
  readonly decision: Decision<Value, Code>;
}

interface SettledKey {
  readonly scope: IdempotencyScope;
  readonly decision: Decision<unknown, string>;
}

/** `schema` is the service's own; its migrations create the table. */
export function createIdempotency(schema: string): Idempotency {
  const { reserve, read, fresh, release, settle, swept } = statementsOn(schema);

  return {
    async once<Value, Code extends string>(
      transaction: SqlClient,
      scope: IdempotencyScope | null,
      work: () => Promise<Decision<Value, Code>>,
    ): Promise<Once<Value, Code>> {
      if (scope === null) return { decision: await work(), replayed: false };
      const { principal, tool, key, argsHash } = scope;
      const reserved = await transaction.$queryRawUnsafe<unknown[]>(reserve, principal, tool, key, argsHash);
      if (reserved.length === 0) {
        const [stored] = await transaction.$queryRawUnsafe<StoredRow<Value, Code>[]>(read, principal, tool, key);
        return { decision: decisionOf(stored, argsHash), replayed: true };
      }
      const decision = await work().catch(async (error: unknown) => {
        // Call errors are no outcomes; the transaction may go on with other work, so the key must be free again.
        if (error instanceof CallError) await transaction.$executeRawUnsafe(release, principal, tool, key);
        throw error;
      });
      await transaction.$executeRawUnsafe(settle, principal, tool, key, JSON.stringify(decision));
      return { decision, replayed: false };
    },

    async find<Value, Code extends string>(
      client: SqlClient,
      scope: IdempotencyScope | null,
    ): Promise<Decision<Value, Code> | null> {
      if (scope === null) return null;
      const { principal, tool, key, argsHash } = scope;
      const [stored] = await client.$queryRawUnsafe<StoredRow<Value, Code>[]>(fresh, principal, tool, key);
      return stored === undefined ? null : decisionOf(stored, argsHash);
    },

    ...ofMany(schema),
    sweep: (client) => sweepRows(client, swept),
  };
}

function ofMany(schema: string): Pick<Idempotency, 'findAll' | 'reserveAll' | 'settlement' | 'releases'> {
  const { reserveAll, readAll, settleAll, releaseAll } = statementsOn(schema);
  return {
    async findAll(client, scopes) {
      if (scopes.length === 0) return new Map();
      const rows = await client.$queryRawUnsafe<StoredRow<unknown, RefusalCode>[]>(readAll, ...columnsOf(scopes));
      return outcomesOf(rows);
    },

    async reserveAll(transaction, scopes) {
      const hashes = scopes.map(({ argsHash }) => argsHash);
      const [reserved, rows] = await Promise.all([
        transaction.$queryRawUnsafe<IdempotencyScope[]>(reserveAll, ...columnsOf(scopes), hashes),
        // A statement of its own, which sees what twins have committed while the one before waited for them.
        transaction.$queryRawUnsafe<StoredRow<unknown, RefusalCode>[]>(readAll, ...columnsOf(scopes)),
      ]);
      const own = new Set(reserved.map(idempotencyId));
      return outcomesOf(rows.filter((row) => !own.has(idempotencyId(row))));
    },

    settlement: (outcomes) => ({
      sql: settleAll,
      values: [
        ...columnsOf(outcomes.map(({ scope }) => scope)),
        outcomes.map(({ scope }) => scope.argsHash),
        outcomes.map(({ decision }) => JSON.stringify(decision)),
      ],
    }),
    releases: (scopes) => ({ sql: releaseAll, values: columnsOf(scopes) }),
  };
}

type Key = Omit<IdempotencyScope, 'argsHash'>;

function columnsOf(scopes: readonly Key[]): [string[], string[], string[]] {
  return [scopes.map(({ principal }) => principal), scopes.map(({ tool }) => tool), scopes.map(({ key }) => key)];
}

function outcomesOf(rows: readonly StoredRow<unknown, RefusalCode>[]): Map<string, StoredOutcome> {
  return new Map(rows.map((row) => [idempotencyId(row), { argsHash: row.argsHash, decision: finished(row) }]));
}

function statementsOn(schema: string) {
  const table = `"${schema}".idempotency`;
  const tooOld = `${table}.at < ${IDEMPOTENCY_KEPT_SINCE}`;
  const reserve = `INSERT INTO ${table} (principal, tool, key, args_hash, at) VALUES ($1, $2, $3, $4, now())
    ON CONFLICT (principal, tool, key) DO UPDATE SET args_hash = excluded.args_hash, outcome = NULL,
      reply = NULL, refusal = NULL, at = now()
    WHERE ${tooOld} RETURNING 1 AS reserved`;
  // In one order, so that two transactions wait for each other's keys in turn.
  const reserveAll = `INSERT INTO ${table} (principal, tool, key, args_hash, at)
    SELECT principal, tool, key, args_hash, now()
    FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS r (principal, tool, key, args_hash)
    ORDER BY principal, tool, key
    ON CONFLICT (principal, tool, key) DO UPDATE SET args_hash = excluded.args_hash, outcome = NULL,
      reply = NULL, refusal = NULL, at = now()
    WHERE ${tooOld} RETURNING principal, tool, key`;
  const columns = 'principal, tool, key, args_hash AS "argsHash", outcome AS decision';
  const read = `SELECT ${columns} FROM ${table} WHERE principal = $1 AND tool = $2 AND key = $3`;
  const readAll = `SELECT ${columns} FROM ${table}
    WHERE (principal, tool, key) IN (SELECT * FROM unnest($1::text[], $2::text[], $3::text[])) AND NOT (${tooOld})`;
  const release = `DELETE FROM ${table} WHERE principal = $1 AND tool = $2 AND key = $3`;
  const releaseAll = `DELETE FROM ${table}
    WHERE (principal, tool, key) IN (SELECT * FROM unnest($1::text[], $2::text[], $3::text[]))`;
  const settle = `UPDATE ${table} SET outcome = $4::json WHERE principal = $1 AND tool = $2 AND key = $3`;
  const settleAll = `UPDATE ${table} AS t SET args_hash = r.args_hash, outcome = r.outcome::json
    FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[]) AS r (principal, tool, key, args_hash, outcome)
    WHERE (t.principal, t.tool, t.key) = (r.principal, r.tool, r.key)`;
  const fresh = `${read} AND NOT (${tooOld})`;
  const swept = { table, condition: tooOld };
  return { reserve, reserveAll, read, fresh, readAll, release, releaseAll, settle, settleAll, swept };
}

interface StoredRow<Value, Code extends string> extends IdempotencyScope {
  /** Null while the transaction that made the row is not committed, which nobody else sees. */
  readonly decision: Decision<Value, Code> | null;
}

function finished<Value, Code extends string>(row: StoredRow<Value, Code> | undefined): Decision<Value, Code> {
  if (!row?.decision) throw new Error('an idempotency row without an outcome was committed');
  return row.decision;
}

function decisionOf<Value, Code extends string>(
  row: StoredRow<Value, Code> | undefined,
  argsHash: string,
): Decision<Value, Code> {
  if (row && row.argsHash !== argsHash) throw new CallError('IDEMPOTENCY_KEY_REUSED');
  return finished(row);
}
