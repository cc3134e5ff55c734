/** A database of its own for a test, gone afterwards: on the PostgreSQL of the run, or embedded in a temporary folder. */
import { hash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Pool } from 'pg';
import type { Database } from '@svc/runtime/database.ts';
import { openEmbeddedDatabase } from '@svc/runtime/database.embedded.ts';
import { openPostgresDatabase, pingPool } from '@svc/runtime/database.postgres.ts';
import { fastFolder } from './fast-folder.ts';
import { FirstRows } from './first-rows.ts';
import { lendTables } from './servers/run-postgres.ts';
import { inputsOfTables, migrateServices } from './service-tables.ts';
import { endsLikeAnyProcess } from './worker-end.ts';

const silent = { warn() {}, fatal() {} };

const CACHE = join(import.meta.dirname, '..', 'node_modules', '.cache');
const UNUSED_MS = 86_400_000;

interface Template {
  readonly kind: 'empty' | 'migrated';
  /** All that decides what is in it. */
  readonly inputs: readonly string[];
  fill(directory: string): Promise<void>;
}

/** An empty database as this version of the engine makes it: to copy it takes a fifth of the time of making one. */
function emptyTemplate(): Template {
  // The package manager keeps each version in a folder of its own name.
  const engine = createRequire(import.meta.resolve('@svc/runtime/database.embedded.ts')).resolve(
    '@electric-sql/pglite',
  );
  return { kind: 'empty', inputs: [engine], fill: (directory) => visit(directory, async () => {}) };
}

/** The same with the tables of all services, which take it a second. */
function migratedTemplate(): Template {
  const empty = emptyTemplate();
  return {
    kind: 'migrated',
    inputs: [...empty.inputs, ...inputsOfTables()],
    async fill(directory) {
      cpSync(await made(empty), directory, { recursive: true });
      await visit(directory, ({ pool }) => migrateServices(pool));
    },
  };
}

async function visit(directory: string, work: (database: Database) => Promise<void>): Promise<void> {
  const database = await openEmbeddedDatabase({ directory, log: silent });
  await work(database);
  await database.close();
}

/** Where the template lies, made by the first that asks. What earlier migrations left goes when it is a day old. */
async function made({ kind, inputs, fill }: Template): Promise<string> {
  const directory = join(CACHE, `database-${kind}-${hash('sha256', JSON.stringify(inputs)).slice(0, 16)}`);
  if (existsSync(directory)) return directory;
  mkdirSync(CACHE, { recursive: true });
  for (const other of readdirSync(CACHE).filter((name) => /^(making|database-migrated)-/.test(name))) {
    const path = join(CACHE, other);
    if (Date.now() - statSync(path).mtimeMs > UNUSED_MS) rmSync(path, { recursive: true, force: true });
  }
  const own = mkdtempSync(join(CACHE, 'making-'));
  await fill(own);
  try {
    renameSync(own, directory);
  } catch {
    rmSync(own, { recursive: true }); // another process made it meanwhile
  }
  return directory;
}

export type TestDatabase = Database & AsyncDisposable;

/** Opens in about half a second. Closing, also by `await using`, removes its folder. */
export async function embeddedDatabase(): Promise<TestDatabase & { readonly directory: string }> {
  const database = await openCopy(emptyTemplate());
  return { ...database, [Symbol.asyncDispose]: () => database.close() };
}

/**
 * With the tables of all services; what one test closes is emptied and serves the next. On PostgreSQL where the run has one:
 * it takes less processor time, and callers at once are at once there. Nobody else has it.
 */
export function migratedDatabase(): Promise<TestDatabase> {
  return lentFrom(idle, async () => (await openOnServer()) ?? openCopy(migratedTemplate()));
}

/** The same, embedded everywhere: for what is said of that engine, or of a database with one connection. */
export function migratedEmbeddedDatabase(): Promise<TestDatabase> {
  return lentFrom(idleEmbedded, () => openCopy(migratedTemplate()));
}

interface Migrated {
  readonly database: Database;
  readonly rows: FirstRows;
}

/** A worker runs its files one after the other, so these are few. */
const idle: Migrated[] = [];
const idleEmbedded: Migrated[] = [];

async function lentFrom(free: Migrated[], open: () => Promise<Database>): Promise<TestDatabase> {
  const { database, rows } = free.pop() ?? (await firstOf(open));
  const pool = new Pool(database.pool.options);
  pool.on('error', () => {}); // of a connection that nobody uses
  const close = async () => {
    await pool.end();
    if (await rows.restore(database.pool)) free.push({ database, rows });
    else await database.close();
  };
  const ping = (timeoutMs: number) => pingPool(pool, timeoutMs);
  return { ...database, pool, ping, close, [Symbol.asyncDispose]: close };
}

async function firstOf(open: () => Promise<Database>): Promise<Migrated> {
  const database = await open();
  return { database, rows: await FirstRows.of(database.pool) };
}

const EMBEDDED_ONLY = process.env['SVC_TEST_STORE'] === 'embedded';
/** What tests do at once, and what their services do beside it. */
const CONNECTIONS = 10;

async function openOnServer(): Promise<Database | null> {
  const server = EMBEDDED_ONLY ? null : await lendTables();
  if (server === null) return null;
  const database = await openPostgresDatabase({ url: server.url, log: silent, poolSize: CONNECTIONS });
  const close = async () => {
    await database.close();
    await server.stop();
  };
  return { ...database, exclusive: true, close };
}

/** Puts the tables of all services, and no rows, where a database will be opened; a start then need not make them. */
export async function layTables(directory: string): Promise<void> {
  cpSync(await made(migratedTemplate()), directory, { recursive: true });
}

type Opened = Database & { readonly directory: string };

async function openCopy(template: Template): Promise<Opened> {
  const directory = mkdtempSync(join(fastFolder(), 'svc-db-'));
  cpSync(await made(template), directory, { recursive: true });
  const database = await openEmbeddedDatabase({ directory, log: silent });
  const remove = () => rmSync(directory, { recursive: true, force: true });
  process.once('exit', remove); // of one that nobody closed, or that is kept for the next test
  endsLikeAnyProcess();
  const close = async () => {
    await database.close();
    process.off('exit', remove);
    remove();
  };
  return { ...database, directory, close };
}
