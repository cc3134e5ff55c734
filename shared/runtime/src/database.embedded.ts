/** PostgreSQL without a server: PGlite in a thread of its own, reached like a server through a unix socket. */
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Worker } from 'node:worker_threads';
import { PrismaPg } from '@prisma/adapter-pg';
import { Pool } from 'pg';
import { takeLock } from './data-lock.ts';
import type { EngineReport, EngineRequest } from './database.embedded.worker.ts';
import type { Database } from './database.ts';
import { type DatabaseLog, pingPool } from './database.postgres.ts';
import { StartProblem } from './start-problem.ts';
import './wasm-code.ts';

const CHECKPOINT_EVERY_MS = 60_000;
const VACUUM_EVERY_MS = 600_000;
const WAIT_FOR_CONNECTION_MS = 15_000;
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
    engine = await startEngine(directory, join(socketDirectory, SOCKET_NAME), options.log);
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
  const maintenance = startMaintenance(pool, options.log);
  return {
    durability: 'process-crash',
    exclusive: true,
    pool,
    adapter: (schema) => new PrismaPg(pool, { schema }),
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

interface Engine {
  close(): Promise<void>;
}

async function startEngine(directory: string, socketPath: string, log: DatabaseLog): Promise<Engine> {
  const request: EngineRequest = { directory, socketPath, maxConnections: SERVER_CONNECTIONS };
  const worker = new Worker(new URL('./database.embedded.worker.ts', import.meta.url), {
    workerData: request,
    execArgv: [], // options meant for the entry of this process do not fit the thread's
  });
  const exited = new Promise<'exited'>((resolve) => worker.once('exit', () => resolve('exited')));
  const first = await Promise.race([once(worker, 'message').then(([message]) => message as EngineReport), exited]);
  if (first === 'exited' || first.kind !== 'ready') {
    await worker.terminate();
    const reason = first !== 'exited' && 'reason' in first ? first.reason : 'its thread ended';
    throw new StartProblem(`the embedded database in ${directory} does not open: ${reason}`);
  }
  worker.on('error', (error) => log.fatal({ err: error }, 'embedded database thread failed'));
  worker.on('message', (message: EngineReport) => {
    if (message.kind !== 'broken') return;
    log.fatal({ reason: message.reason }, 'embedded database engine failed');
    void worker.terminate(); // its connections break, so callers learn at once that the database is away
  });
  return {
    async close() {
      worker.postMessage('close'); // oxlint-disable-line unicorn/require-post-message-target-origin -- not a window
      await exited;
    },
  };
}

/** The engine has neither checkpointer nor autovacuum. Both run through a connection, in line with everything else. */
function startMaintenance(pool: Pool, log: DatabaseLog): { stop(): Promise<void> } {
  let current = Promise.resolve();
  const every = (periodMs: number, sql: string) =>
    setInterval(() => {
      current = current
        .then(() => pool.query(sql))
        .then(
          () => undefined,
          (error: unknown) => log.warn({ err: error, sql }, 'embedded database maintenance failed'),
        );
    }, periodMs).unref();
  const timers = [every(CHECKPOINT_EVERY_MS, 'CHECKPOINT'), every(VACUUM_EVERY_MS, 'VACUUM (ANALYZE)')];
  return {
    async stop() {
      for (const timer of timers) clearInterval(timer);
      await current;
    },
  };
}
