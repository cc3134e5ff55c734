/** PostgreSQL without a server: PGlite in a thread of its own, reached like a server through a unix socket. */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Pool } from 'pg';
import { takeLock } from './data-lock.ts';
import { type Engine, startEngine } from './database.embedded.engine.ts';
import type { Database } from './database.ts';
import { type DatabaseLog, pingPool, WAIT_FOR_CONNECTION_MS } from './database.postgres.ts';
import { embeddedSnapshot } from './snapshot.ts';
import './wasm-code.ts';

const CHECKPOINT_EVERY_MS = 60_000;
const VACUUM_EVERY_MS = 600_000;
/** Plans of statements that are kept were made for tables as they were then: small ones grow. */
const PLAN_ANEW_EVERY_MS = 10_000;
/** What a checkpoint may write: all that is in memory, and a new segment of the log. */
const MAINTENANCE_BYTES = 48 * 1024 * 1024;
/** The server resets what exceeds its limit instead of queueing it, so the pool stays far below. */
const SERVER_CONNECTIONS = 200;
const POOL_CONNECTIONS = 32;
/** Unix socket paths end at 104 bytes on some systems. */
const SOCKET_PATH_BYTES = 100;
const SOCKET_NAME = '.s.PGSQL.5432';

/**
 * Opens the database in `directory`, created when absent. Survives a killed process, not a power cut: it never fsyncs.
 * Throws DataLocked when another live process has the directory open.
 */
export async function openEmbeddedDatabase(options: { directory: string; log: DatabaseLog }): Promise<Database> {
  const directory = resolve(options.directory);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const lock = takeLock(join(directory, 'database.lock'));
  const socketDirectory = makeSocketDirectory(directory);
  const cleanUp = () => {
    rmSync(socketDirectory, { recursive: true, force: true });
    lock.release();
  };
  let engine: Engine;
  try {
    const socketPath = join(socketDirectory, SOCKET_NAME);
    engine = await startEngine({ directory, socketPath, maxConnections: SERVER_CONNECTIONS }, options.log);
  } catch (error) {
    cleanUp();
    throw error;
  }
  const pool = new Pool({
    host: socketDirectory,
    user: 'postgres',
    database: 'postgres',
    max: POOL_CONNECTIONS,
    pipeline: true,
    idleTimeoutMillis: 0,
    connectionTimeoutMillis: WAIT_FOR_CONNECTION_MS,
  });
  pool.on('error', (error) => options.log.warn({ err: error }, 'embedded database connection lost'));
  const maintenance = startMaintenance(pool, directory, options.log);
  return {
    name: 'database',
    durability: 'process-crash',
    exclusive: true,
    pool,
    snapshot: (queries) => embeddedSnapshot(pool, queries),
    ping: (timeoutMs) => pingPool(pool, timeoutMs),
    async close() {
      await maintenance.stop();
      await pool.end();
      await engine.close();
      cleanUp();
    },
  };
}

/** Only this user may enter it: whoever reaches the socket is the database's superuser. */
function makeSocketDirectory(directory: string): string {
  const inside = join(directory, 'run');
  if (Buffer.byteLength(join(inside, SOCKET_NAME)) > SOCKET_PATH_BYTES) return mkdtempSync(join(tmpdir(), 'db-'));
  rmSync(inside, { recursive: true, force: true }); // the socket of a killed process
  mkdirSync(inside, { mode: 0o700 });
  chmodSync(inside, 0o700);
  return inside;
}

/** A checkpoint that finds the disk full breaks the engine; what is not checkpointed is in its log. */
function hasRoom(directory: string): boolean {
  const { bavail, bsize } = statfsSync(directory);
  return bavail * bsize > MAINTENANCE_BYTES;
}

/** The engine has neither checkpointer nor autovacuum. Both run through a connection, in line with everything else. */
function startMaintenance(pool: Pool, directory: string, log: DatabaseLog): { stop(): Promise<void> } {
  let current = Promise.resolve();
  const every = (periodMs: number, sql: string) =>
    setInterval(() => {
      if (!hasRoom(directory)) return;
      current = current
        .then(() => pool.query(sql))
        .then(
          () => undefined,
          (error: unknown) => log.warn({ err: error, sql }, 'embedded database maintenance failed'),
        );
    }, periodMs).unref();
  const timers = [
    every(CHECKPOINT_EVERY_MS, 'CHECKPOINT'),
    every(VACUUM_EVERY_MS, 'VACUUM (ANALYZE)'),
    every(PLAN_ANEW_EVERY_MS, 'DISCARD PLANS'),
  ];
  return {
    async stop() {
      for (const timer of timers) clearInterval(timer);
      await current;
    },
  };
}
