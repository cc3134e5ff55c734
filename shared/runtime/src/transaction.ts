/** Transactions that either commit what was asked or say why not, and single statements. */
import { setTimeout as sleep } from 'node:timers/promises';
import { CallError, type CallErrorCode } from '@svc/contract/codes.ts';
import { type CustomTypesConfig, type Pool, type PoolClient, type QueryConfig, type QueryResult, types } from 'pg';
import { type Clock, systemClock } from './clock.ts';
import { isAfterFailure, isConflict, isDatabaseAway, isOutOfTime, isReadOnly, isSilence } from './database-errors.ts';
import {
  allowSilence,
  dropConnection,
  dropIdleConnections,
  listeningTo,
  type StatementNames,
  statementNamesOf,
} from './database.postgres.ts';
import type { SqlClient } from './database.ts';

export { isDatabaseAway } from './database-errors.ts';

export type Isolation = 'ReadCommitted' | 'RepeatableRead' | 'Serializable';

export interface TransactionOptions {
  /** `ReadCommitted` when absent. */
  readonly isolation?: Isolation;
  /** Milliseconds since the epoch; no attempt starts after it. */
  readonly deadlineAt?: number;
  /** How long one attempt may take; 20 s when absent. */
  readonly timeoutMs?: number;
  readonly clock?: Clock;
}

export interface PgTransactionOptions extends TransactionOptions {
  /**
   * The first statement of the work changes nothing, so that it may go out together with BEGIN: should BEGIN fail, it
   * would stand alone.
   */
  readonly readsFirst?: boolean;
  /** Asked when the work has ended; they go out in this order. Nothing is committed when it throws. */
  readonly last?: () => readonly LastStatement[];
  /** Asked then too: what the work has sent without waiting for it. Nothing is committed when one of these fails. */
  readonly sent?: () => readonly Promise<unknown>[];
}

export interface Statement {
  readonly sql: string;
  readonly values: readonly unknown[];
}

/** Goes out together with COMMIT: nobody waits for an answer in between, and what it locks is locked for no longer. */
export interface LastStatement extends Statement {
  /** Its rows, once they are committed. */
  committed?(rows: readonly unknown[]): void;
}

interface Attempt {
  /** How long it may take from now on. Throws TIMEOUT when the deadline is past. */
  timeoutMs(): number;
  /** From here on a lost connection leaves the outcome open. */
  committing(): void;
}

const TIMEOUT_MS = 20_000;
/** A connection that is silent for longer is closed, which rolls back too. */
const ROLLBACK_MS = 2000;
const RETRIES = 5;
const RETRY_JITTER_MS = 25;
const BEGIN = {
  ReadCommitted: 'BEGIN',
  RepeatableRead: 'BEGIN ISOLATION LEVEL REPEATABLE READ',
  Serializable: 'BEGIN ISOLATION LEVEL SERIALIZABLE',
} as const satisfies Record<Isolation, string>;

/**
 * Runs `work` in one transaction. `work` may run again after a conflict, so it acts on `tx` alone; it never catches an
 * error of `tx`, and awaits nothing but `tx` (embedded, everyone else waits for it). Statements that are not awaited one
 * by one go out together; each still takes effect after those before it.
 *
 * Throws what `work` throws, rolled back, or a CallError: `SERVICE_UNAVAILABLE` (database away, surely not committed),
 * `E_OUTCOME_UNKNOWN` (connection lost during COMMIT), `E_BUSY` (conflicts or waiting without end), `TIMEOUT`.
 */
export function withPgTransaction<Result>(
  pool: Pool,
  work: (tx: SqlClient) => Promise<Result>,
  options: PgTransactionOptions = {},
): Promise<Result> {
  return withRetries(options, async (attempt) => {
    const client = await pool.connect();
    const timeoutMs = timeLeft(client, attempt);
    const restoreSilence = options.timeoutMs === undefined ? null : allowSilence(client, options.timeoutMs);
    const ignore = () => {}; // a lost connection also fails the statement under way, which tells the caller
    client.on('error', ignore);
    let reusable = false;
    const hasSpoken = listeningTo(client);
    const watched = watchFailures(client);
    try {
      const result = await beforeTimeout(commitOnClient(pool, client, options, work, attempt, watched), timeoutMs);
      reusable = true;
      return result;
    } catch (error) {
      const isOver = error instanceof TransactionTimeout;
      const cause = watched.causeOf(error);
      const isRolledBack = !isOver && (await rollback(client));
      if (!isRolledBack) dropConnection(client);
      reusable = isRolledBack && !isReadOnly(cause);
      if ((isOver || isSilence(error)) && !hasSpoken()) dropIdleConnections(pool);
      throw cause;
    } finally {
      client.off('error', ignore);
      restoreSilence?.();
      client.release(!reusable); // a connection that is closed rolls back whatever it had open
    }
  });
}

/** Of a connection that was waited for. */
function timeLeft(client: PoolClient, attempt: Attempt): number {
  try {
    return attempt.timeoutMs();
  } catch (error) {
    client.release();
    throw error;
  }
}

async function commitOnClient<Result>(
  pool: Pool,
  client: PoolClient,
  { isolation = 'ReadCommitted', readsFirst = false, last, sent }: PgTransactionOptions,
  work: (tx: SqlClient) => Promise<Result>,
  attempt: Attempt,
  watched: WatchedConnection,
): Promise<Result> {
  const begun = client.query(BEGIN[isolation]);
  if (readsFirst) begun.catch(() => {});
  else await begun;
  const tx = sqlClientOf(watched, statementNamesOf(pool));
  const result = await whileShowingLife(client, () => work(tx));
  await begun;
  const statements = last?.() ?? [];
  watched.assertNothingFailed();
  attempt.committing();
  const lasts = statements.map(({ sql, values }) => tx.$queryRawUnsafe<unknown[]>(sql, ...values));
  const [rows, { command }] = await Promise.all([Promise.all(lasts), client.query('COMMIT'), ...(sent?.() ?? [])]);
  if (command !== 'COMMIT') throw new Error('the transaction was rolled back: the error of a statement was swallowed');
  for (const [index, statement] of statements.entries()) statement.committed?.(rows[index] ?? []);
  return result;
}

interface Connection {
  query(statement: QueryConfig): Promise<QueryResult>;
}

interface WatchedConnection extends Connection {
  causeOf(error: unknown): unknown;
  /** Throws what the first that failed did. */
  assertNothingFailed(): void;
}

/** Of statements that go out together the first that fails is why: those after it only say that the transaction is over. */
function watchFailures(client: PoolClient): WatchedConnection {
  let first: unknown = null;
  return {
    async query(statement) {
      try {
        return await client.query(statement);
      } catch (error) {
        first ??= error;
        throw error;
      }
    },
    causeOf: (error) => (isAfterFailure(error) ? (first ?? error) : error),
    assertNothingFailed() {
      if (first !== null) throw first;
    },
  };
}

const SIGN_OF_LIFE_MS = 1000;

/**
 * The server soon ends a transaction whose process says nothing, so that one which stands still holds no lock against the
 * others. One that is at work on files meanwhile says that it is there.
 */
async function whileShowingLife<Result>(client: PoolClient, work: () => Promise<Result>): Promise<Result> {
  const timer = setInterval(() => {
    client.query('SELECT 1').catch(() => {}); // whatever is wrong, the next statement of the work says it
  }, SIGN_OF_LIFE_MS);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}

/** False: the connection is of no use any more. */
async function rollback(client: PoolClient): Promise<boolean> {
  try {
    await beforeTimeout(client.query('ROLLBACK'), ROLLBACK_MS);
    return true;
  } catch {
    return false;
  }
}

class TransactionTimeout extends Error {}

async function beforeTimeout<Result>(work: Promise<Result>, timeoutMs: number): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new TransactionTimeout(`not committed within ${timeoutMs} ms`)), timeoutMs);
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

/** Single statements, each a transaction of its own, on any connection of the pool. */
export function poolClient(pool: Pool): SqlClient {
  return sqlClientOf(pool, statementNamesOf(pool));
}

/** Rows: bigint for int8, Date for timestamptz, parsed jsonb, bytes for bytea. */
function sqlClientOf(client: Connection, nameOf: StatementNames): SqlClient {
  const run = (text: string, values: unknown[]) =>
    client.query({ name: nameOf(text, values), text, values, types: bigintForInt8 });
  return {
    async $queryRawUnsafe<Rows>(sql: string, ...values: unknown[]) {
      const { rows } = await run(sql, values);
      return rows as unknown as Rows;
    },
    async $executeRawUnsafe(sql, ...values) {
      const { rowCount } = await run(sql, values);
      return rowCount ?? 0;
    },
  };
}

const bigintForInt8: CustomTypesConfig = {
  getTypeParser: (oid, format) => (oid === types.builtins.INT8 ? BigInt : types.getTypeParser(oid, format)),
};

async function withRetries<Result>(
  options: TransactionOptions,
  run: (attempt: Attempt) => Promise<Result>,
): Promise<Result> {
  for (let retry = 0; ; retry += 1) {
    budgetOf(options);
    let isCommitting = false;
    try {
      return await run({
        timeoutMs: () => Math.min(options.timeoutMs ?? TIMEOUT_MS, budgetOf(options)),
        committing() {
          isCommitting = true;
        },
      });
    } catch (error) {
      if (!isConflict(error)) throw translate(error, isCommitting);
      if (retry === RETRIES) throw callError('E_BUSY', error);
      await sleep(Math.random() * RETRY_JITTER_MS * 2 ** retry);
    }
  }
}

/** Time until the deadline; throws TIMEOUT when it is past. */
function budgetOf({ deadlineAt = Number.POSITIVE_INFINITY, clock = systemClock }: TransactionOptions): number {
  const budgetMs = deadlineAt - clock.now();
  if (budgetMs <= 0) throw new CallError('TIMEOUT');
  return budgetMs;
}

function translate(error: unknown, isCommitting: boolean): unknown {
  if (error instanceof CallError) return error;
  const outOfTime = error instanceof TransactionTimeout || isOutOfTime(error);
  if (!outOfTime && !isDatabaseAway(error)) return error;
  if (isCommitting) return callError('E_OUTCOME_UNKNOWN', error);
  return callError(outOfTime ? 'E_BUSY' : 'SERVICE_UNAVAILABLE', error);
}

function callError(code: CallErrorCode, cause: unknown): CallError {
  const error = new CallError(code);
  error.cause = cause;
  return error;
}
