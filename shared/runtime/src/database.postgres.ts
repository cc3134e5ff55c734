/** PostgreSQL as a server of the cluster. */
import { createHash } from 'node:crypto';
import type { Socket } from 'node:net';
import { Client, type ClientConfig, Pool, type PoolClient, type PoolConfig } from 'pg';
import type { Logger } from 'pino';
import { createRoom } from './database.room.ts';
import type { Database } from './database.ts';
import { RepeatedTrouble } from './repeated-trouble.ts';
import { serverSnapshot } from './snapshot.ts';
import { LATE, within } from './within.ts';
import './wasm-code.ts';

const CONNECT_TIMEOUT_MS = 5000;
/** For a connection that others use: a crowd that must come one after the other takes longer than a server that is there. */
export const WAIT_FOR_CONNECTION_MS = 15_000;
const KEEP_ALIVE_AFTER_MS = 10_000;
const IDLE_CONNECTION_MS = 20_000;
const STATEMENT_TIMEOUT_MS = 30_000;
/** A statement that was ended by its time says so within this; what is silent for longer is lost. */
const SILENCE_MARGIN_MS = 10_000;
/** Several signs of life of a transaction. */
const IDLE_IN_TRANSACTION_MS = 4000;
/** Servers keep a named statement until the connection ends; texts beyond this many stay unnamed. */
const NAMED_STATEMENTS = 1000;

/** Of every session, whatever an operator has set for its login or for the database. */
const SESSION = sessionOptions({
  TimeZone: 'UTC',
  DateStyle: 'ISO',
  extra_float_digits: '1',
  // A backslash in a text is one: otherwise a pattern in a statement would be another, without an error.
  standard_conforming_strings: 'on',
  default_transaction_isolation: 'read committed',
  // How long a session idles and waits for locks is bounded here: another bound would end it under a call.
  idle_session_timeout: '0',
  lock_timeout: '0',
  // A statement keeps the plan that it got while its tables were small, and with it the habit of reading all of them, until
  // the server has counted their rows: a minute later, or never where nobody counts. All that is asked often has an index.
  // What has none is thought to be so costly then that it would be compiled first.
  enable_seqscan: 'off',
  jit: 'off',
});

function sessionOptions(settings: Readonly<Record<string, string>>): string {
  return Object.entries(settings)
    .map(([name, value]) => `-c ${name}=${value.replaceAll(' ', '\\ ')}`)
    .join(' ');
}

/** The part of the logger that a database uses. */
export type DatabaseLog = Pick<Logger, 'warn' | 'fatal'>;

/** Connects lazily: a server that is away at start shows in `ping`, not here. Lost connections are logged and replaced. */
export async function openPostgresDatabase(options: {
  url: string;
  log: DatabaseLog;
  poolSize: number;
  /** Shown in pg_stat_activity. */
  applicationName?: string;
  statementTimeoutMs?: number;
  /** Of a process that stands still in the middle of a transaction: how long it holds its locks; for tests. */
  idleInTransactionMs?: number;
  /** How long a new connection may take; for tests. */
  connectMs?: number;
  /** After how long without a byte a connection counts as lost; for tests. */
  silenceMs?: number;
}): Promise<Database> {
  const { statementTimeoutMs = STATEMENT_TIMEOUT_MS } = options;
  // longer than a connection idles in the pool
  const silenceMs = options.silenceMs ?? Math.max(statementTimeoutMs, IDLE_CONNECTION_MS) + SILENCE_MARGIN_MS;
  const pool = new ServerPool({
    connectionString: options.url,
    max: options.poolSize,
    connectionTimeoutMillis: WAIT_FOR_CONNECTION_MS,
    Client: clientThatConnectsWithin(options.connectMs ?? CONNECT_TIMEOUT_MS),
    idleTimeoutMillis: IDLE_CONNECTION_MS,
    pipeline: true,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
    statement_timeout: statementTimeoutMs,
    ...(options.applicationName === undefined ? {} : { application_name: options.applicationName }),
    idle_in_transaction_session_timeout: options.idleInTransactionMs ?? IDLE_IN_TRANSACTION_MS,
    options: SESSION,
  });
  tellLost(pool, options.log);
  const room = createRoom(pool);
  pool.on('connect', (client) => {
    survive(client);
    dropWhenSilent(client, silenceMs);
    room.watch(client);
  });
  return {
    name: 'postgresql',
    durability: 'full',
    exclusive: false,
    pool,
    snapshot: (queries) => serverSnapshot(pool, queries),
    async ping(timeoutMs) {
      const askedAt = performance.now();
      if (!(await pingPool(pool, timeoutMs))) return false;
      return room.isThere(timeoutMs - (performance.now() - askedAt));
    },
    close: () => pool.end(),
  };
}

/** What ends one connection mostly ends all of them. */
function tellLost(pool: Pool, log: DatabaseLog): void {
  const trouble = new RepeatedTrouble();
  pool.on('error', (error) => {
    if (trouble.isDue(error.message)) log.warn({ err: error }, 'database connection lost');
  });
}

/** The pool has one time for both: until a new connection stands, and until one that others use is free. */
function clientThatConnectsWithin(connectMs: number): new () => Client {
  return class extends Client {
    constructor(config?: ClientConfig) {
      super({ ...config, connectionTimeoutMillis: connectMs });
    }
  };
}

/**
 * Between the pool, which listens to a connection that is idle, and whoever takes it there is a moment at which nobody does:
 * a server that says then that it goes away would end the process. The next statement meets the error all the same.
 */
function survive(client: PoolClient): void {
  client.on('error', () => {});
}

/** A host that vanished leaves its connections open for a quarter of an hour; nobody may wait that long for an answer. */
function dropWhenSilent(client: PoolClient, silenceMs: number): void {
  const socket = socketOf(client);
  socket.setTimeout(silenceMs);
  socket.on('timeout', () => {
    const lost = new Error(`no byte from the database for ${socket.timeout} ms`);
    socket.destroy(Object.assign(lost, { code: 'ETIMEDOUT' }));
  });
}

/** Lets the statements of this connection run for up to `silenceMs`, until the answered function is called. */
export function allowSilence(client: PoolClient, silenceMs: number): () => void {
  const socket = socketOf(client);
  const usualMs = socket.timeout ?? 0;
  socket.setTimeout(silenceMs);
  return () => socket.setTimeout(usualMs);
}

/** Tells whether the server has said anything on this connection since. */
export function listeningTo(client: PoolClient): () => boolean {
  const socket = socketOf(client);
  const before = socket.bytesRead;
  return () => socket.bytesRead > before;
}

/** Whoever waits for an answer on it hears at once that there will be none; `end` would wait for the answers. */
export function dropConnection(client: PoolClient): void {
  socketOf(client).destroy();
}

/** When a server has moved, each connection to where it was is silent, and would cost somebody its time. */
export function dropIdleConnections(pool: Pool): void {
  if (pool instanceof ServerPool) pool.dropIdle();
}

function socketOf(client: PoolClient): Socket {
  return (client as unknown as { connection: { stream: Socket } }).connection.stream;
}

/** The name of a statement, equal for equal texts; '' leaves it unnamed. */
export type StatementNames = (sql: string, args: readonly unknown[]) => string;

/** Its connections may keep statements prepared, because each has a session of its own, and are lost one by one. */
class ServerPool extends Pool {
  readonly statementNames = createStatementNames();
  readonly #idle = new Set<PoolClient>();

  constructor(config: PoolConfig) {
    super(config);
    this.on('release', (_error, client) => this.#idle.add(client));
    this.on('acquire', (client) => this.#idle.delete(client));
    this.on('remove', (client) => this.#idle.delete(client));
  }

  dropIdle(): void {
    for (const client of this.#idle) {
      client.emit('error', new Error('another connection to the server is silent')); // nobody gets it any more
      dropConnection(client);
    }
  }
}

export function statementNamesOf(pool: Pool): StatementNames {
  return pool instanceof ServerPool ? pool.statementNames : () => '';
}

/** Only statements with parameters get a name; the others take the shorter way of the simple protocol. */
function createStatementNames(): StatementNames {
  const names = new Map<string, string>();
  return (sql, args) => {
    if (args.length === 0) return '';
    const known = names.get(sql);
    if (known !== undefined) return known;
    if (names.size >= NAMED_STATEMENTS) return '';
    const name = createHash('sha256').update(sql).digest('base64url').slice(0, 32);
    names.set(sql, name);
    return name;
  };
}

/** False of a server that is a copy of another one, or was told to change nothing. */
const TAKES_WRITES = `SELECT current_setting('transaction_read_only') = 'off' AS "takesWrites"`;

/** As that of a database. Throws when the pool gives no answer in time, wherever it hangs: queue, connect or query. */
export async function pingPool(pool: Pool, timeoutMs: number): Promise<boolean> {
  const answer = await within(timeoutMs, takesWrites(pool));
  if (answer === LATE) throw new Error(`the database gave no answer within ${timeoutMs} ms`);
  return answer;
}

/** A session that takes no writes is of no more use: a new one may take them. */
async function takesWrites(pool: Pool): Promise<boolean> {
  const client = await pool.connect();
  const ignore = () => {}; // a lost connection also fails the question
  client.on('error', ignore);
  let isWritable = false;
  try {
    const { rows } = await client.query<{ takesWrites: boolean }>(TAKES_WRITES);
    isWritable = rows[0]?.takesWrites === true;
    return isWritable;
  } finally {
    client.off('error', ignore);
    client.release(!isWritable);
  }
}
