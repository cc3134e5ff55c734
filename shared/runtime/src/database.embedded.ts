/** PostgreSQL without a server: PGlite in a thread of its own, reached like a server through a unix socket. */
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Pool } from 'pg';
import { takeLock } from './data-lock.ts';
import { type Engine, startEngine } from './database.embedded.engine.ts';
import { startMaintenance } from './database.embedded.maintenance.ts';
import type { Database } from './database.ts';
import { type DatabaseLog, pingPool, WAIT_FOR_CONNECTION_MS } from './database.postgres.ts';
import { embeddedSnapshot } from './snapshot.ts';
import './wasm-code.ts';

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
