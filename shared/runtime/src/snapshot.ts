/** Rows as they were at one moment, read at leisure while others go on to write. */
import { randomUUID } from 'node:crypto';
import type { Pool, PoolClient } from 'pg';

/** Changes nothing. */
export interface Query {
  readonly sql: string;
  readonly values: readonly unknown[];
}

export interface Snapshot extends AsyncDisposable {
  /** Rows of the query at that place, in batches; each query is read once. Throws what the database throws. */
  batches<Row>(index: number): AsyncGenerator<readonly Row[]>;
}

/** Of how a database keeps the moment. */
interface Cursors {
  fetch(cursor: string): Promise<unknown[]>;
  end(): Promise<void>;
}

const ROWS_AT_ONCE = 200;
/** The server soon ends a transaction that says nothing. */
const SIGN_OF_LIFE_MS = 1000;

/** On a server: a transaction that stays open and hinders nobody. The moment takes as long as it takes to declare. */
export async function serverSnapshot(pool: Pool, queries: readonly Query[]): Promise<Snapshot> {
  const client = await pool.connect();
  const life = setInterval(() => {
    client.query('SELECT 1').catch(() => {}); // a lost connection also fails the next statement, which tells the reader
  }, SIGN_OF_LIFE_MS);
  const end = async (): Promise<void> => {
    clearInterval(life);
    const isUsable = await client.query('COMMIT').then(
      () => true,
      () => false,
    );
    client.release(!isUsable);
  };
  try {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    const cursors = await declare(client, queries, 'NO SCROLL CURSOR');
    return snapshotOf(cursors, { fetch: (cursor) => fetchFrom(client, cursor), end });
  } catch (error) {
    await end();
    throw error;
  }
}

/**
 * On the embedded engine, whose connections share one session in which an open transaction keeps all others waiting: what
 * the queries find is set aside within the engine, which is when others wait, and then read without a transaction.
 */
export async function embeddedSnapshot(pool: Pool, queries: readonly Query[]): Promise<Snapshot> {
  const client = await pool.connect();
  let isUsable = false;
  try {
    await client.query('BEGIN');
    const cursors = await declare(client, queries, 'NO SCROLL CURSOR WITH HOLD');
    await client.query('COMMIT');
    isUsable = true;
    const end = async (): Promise<void> => {
      for (const cursor of cursors) await pool.query(`CLOSE ${cursor}`);
    };
    return snapshotOf(cursors, { fetch: (cursor) => fetchFrom(pool, cursor), end });
  } finally {
    client.release(!isUsable); // a connection that is closed rolls back whatever it had open
  }
}

async function declare(client: PoolClient, queries: readonly Query[], kind: string): Promise<string[]> {
  const prefix = `moment_${randomUUID().replaceAll('-', '')}`;
  const cursors = queries.map((_, index) => `${prefix}_${index}`);
  for (const [index, { sql, values }] of queries.entries())
    await client.query(`DECLARE ${cursors[index] ?? ''} ${kind} FOR ${sql}`, [...values]);
  return cursors;
}

async function fetchFrom(client: Pick<PoolClient, 'query'>, cursor: string): Promise<unknown[]> {
  const { rows } = await client.query(`FETCH ${ROWS_AT_ONCE} FROM ${cursor}`);
  return rows as unknown[];
}

function snapshotOf(names: readonly string[], cursors: Cursors): Snapshot {
  return {
    async *batches<Row>(index: number) {
      const name = names[index];
      if (name === undefined) throw new RangeError(`no query at ${index}`);
      for (;;) {
        const rows = (await cursors.fetch(name)) as Row[];
        if (rows.length > 0) yield rows;
        if (rows.length < ROWS_AT_ONCE) return;
      }
    },
    [Symbol.asyncDispose]: () => cursors.end(),
  };
}
