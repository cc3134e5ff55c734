/** Applies a service's committed migrations (Prisma's folder layout) and keeps Prisma's record of them in its schema. */
import { createHash, randomUUID } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Pool } from 'pg';
import type { Logger } from 'pino';
import type { SqlClient } from './database.ts';
import { isLockTaken } from './database-errors.ts';
import { isAdditive } from './migration-kind.ts';
import { StartProblem } from './start-problem.ts';
import { poolClient, withPgTransaction } from './transaction.ts';

/** A migration may rewrite large tables, and other runners wait for it. */
const MIGRATION_TIMEOUT_MS = 3_600_000;
/** How often a start that migrations keep waiting says so. */
const TELL_EVERY_MS = 5000;
/**
 * How long a migration waits for a table that is in use, a backup say. Whoever wants that table meanwhile waits behind it,
 * so it lets them pass before it asks again. Longer than the second after which PostgreSQL ends its own vacuum for it.
 */
const LOCK_WAIT_MS = 2000;

/** The database and the committed migrations contradict each other; nothing was changed. */
export class MigrationProblem extends StartProblem {}

interface Migration {
  /** `<stamp>_<name>`: they are applied in this order. */
  readonly name: string;
  readonly sql: string;
  readonly checksum: string;
}

/** Those of the tables that every service has, see common.prisma beside them. */
const COMMON = join(import.meta.dirname, '..', 'prisma', 'migrations');

interface AppliedMigration {
  readonly migration_name: string;
  readonly checksum: string;
  readonly finished_at: Date | null;
  readonly logs: string | null;
}

/** Recorded with a migration that takes nothing away: software that does not know it yet works on beside it. */
const ADDITIVE = 'additive';

interface MigrateOptions {
  readonly pool: Pool;
  /** The service's own PostgreSQL schema; created when absent. */
  readonly schema: string;
  readonly migrations: readonly Migration[];
  readonly log: Pick<Logger, 'info'>;
  readonly tellEveryMs?: number;
  readonly lockWaitMs?: number;
}

/**
 * Brings the schema up to date; safe with many processes at once. Each migration commits with its record or not at all.
 * Migrations that it does not know are left alone when they came after all it knows and only added something; so an older
 * version may start, or go on, beside a newer one. Throws MigrationProblem for one that is unknown otherwise, edited or
 * half-applied; errors of `withPgTransaction` else.
 */
export async function migrate(options: MigrateOptions): Promise<void> {
  const { pool, schema, migrations, log, tellEveryMs = TELL_EVERY_MS, lockWaitMs = LOCK_WAIT_MS } = options;
  if (!/^[a-z][a-z0-9_]*$/.test(schema)) throw new MigrationProblem(`${schema} is not a plain schema name`);
  const applied: string[] = [];
  let begun: string | null = null;
  let user: TableUser | null = null;
  const telling = setInterval(() => {
    if (begun === null)
      log.info({ schema }, 'waiting for the database, or for another process that applies migrations');
    else if (user === null) log.info({ schema, migration: begun }, 'a migration is being applied');
    else log.info({ schema, migration: begun, ...user }, 'a migration waits for a table that a session has in use');
  }, tellEveryMs);
  const attempt = (tx: SqlClient): Promise<string | null> => {
    begun = null;
    return applyNext(tx, { schema, migrations, lockWaitMs, begin: (migration) => (begun = migration) });
  };
  try {
    for (;;) {
      try {
        const next = await withPgTransaction(pool, attempt, { timeoutMs: MIGRATION_TIMEOUT_MS });
        user = null;
        if (next === null) return;
        applied.push(next);
      } catch (error) {
        if (!isLockTaken(error)) throw error;
        user = await longestUser(poolClient(pool), schema);
        await delay(lockWaitMs);
      }
    }
  } finally {
    clearInterval(telling);
    if (applied.length > 0) log.info({ schema, migrations: applied }, 'migrations applied');
  }
}

interface TableUser {
  readonly pid: number;
  readonly login: string;
  readonly application: string;
}

/** Who has used tables of the schema for longest; since when, PostgreSQL tells of sessions of the same role alone. */
async function longestUser(client: SqlClient, schema: string): Promise<TableUser | null> {
  const [user = null] = await client.$queryRawUnsafe<TableUser[]>(
    `SELECT a.pid, a.usename::text AS login, a.application_name AS application FROM pg_stat_activity a
     WHERE a.pid <> pg_backend_pid() AND a.pid IN (SELECT l.pid FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
       WHERE l.granted AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
         AND c.relnamespace = to_regnamespace($1)) ORDER BY a.xact_start NULLS FIRST LIMIT 1`,
    schema,
  );
  return user;
}

/** Whether the newest is in the database: it may be an empty one meanwhile, or an older copy. Throws as statements do. */
export async function isMigrated(
  client: SqlClient,
  { schema, migrations }: Pick<MigrateOptions, 'schema' | 'migrations'>,
): Promise<boolean> {
  const rows = await client.$queryRawUnsafe<unknown[]>(
    `SELECT 1 FROM "${schema}"."_prisma_migrations" WHERE "migration_name" = $1 AND "finished_at" IS NOT NULL`,
    migrations.at(-1)?.name ?? '',
  );
  return rows.length > 0;
}

/** Of a service: those in `directory`, and those of the common tables in its schema. */
export function migrationsOfService(schema: string, directory: string): Migration[] {
  return [...readMigrations(schema, directory), ...readMigrations(schema, COMMON)].sort(byName);
}

const byName = (a: Migration, b: Migration): number => (a.name < b.name ? -1 : 1);

/** From folders `<stamp>_<name>/migration.sql`; oldest first. `{schema}` in them is the name of the schema. */
export function readMigrations(schema: string, directory: string): Migration[] {
  if (!existsSync(directory)) return [];
  const folders = readdirSync(directory, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return folders
    .map(({ name }) => {
      const sql = readFileSync(join(directory, name, 'migration.sql'), 'utf8').replaceAll('{schema}', schema);
      return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') };
    })
    .sort(byName);
}

interface NextMigration extends Pick<MigrateOptions, 'schema' | 'migrations'> {
  readonly lockWaitMs: number;
  readonly begin: (migration: string) => void;
}

/** Applies the oldest migration that is missing. Answers its name, or null when none is. */
async function applyNext(tx: SqlClient, wanted: NextMigration): Promise<string | null> {
  const { schema, migrations, lockWaitMs, begin } = wanted;
  await tx.$executeRawUnsafe('SET LOCAL statement_timeout = 0');
  await tx.$executeRawUnsafe('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', `migrations of ${schema}`);
  const applied = await readApplied(tx, schema);
  refuseContradictions(schema, applied, migrations);
  const names = new Set(applied.map((row) => row.migration_name));
  const next = migrations.find(({ name }) => !names.has(name));
  if (!next) return null;
  begin(next.name);
  const startedAt = new Date();
  await tx.$executeRawUnsafe(`SET LOCAL lock_timeout = ${lockWaitMs}`);
  // the schema is there, and IF NOT EXISTS asks for the right to create one all the same
  await tx.$executeRawUnsafe(next.sql.replace(`CREATE SCHEMA IF NOT EXISTS "${schema}";`, ''));
  await tx.$executeRawUnsafe(
    `INSERT INTO "${schema}"."_prisma_migrations"
       ("id", "checksum", "migration_name", "started_at", "finished_at", "applied_steps_count", "logs")
     VALUES ($1, $2, $3, $4, clock_timestamp(), 1, $5)`,
    randomUUID(),
    next.checksum,
    next.name,
    startedAt,
    isAdditive(next.sql) ? ADDITIVE : null,
  );
  return next.name;
}

async function readApplied(tx: SqlClient, schema: string): Promise<AppliedMigration[]> {
  const [there] = await tx.$queryRawUnsafe<unknown[]>('SELECT 1 FROM pg_namespace WHERE nspname = $1', schema);
  if (there === undefined) await tx.$executeRawUnsafe(`CREATE SCHEMA "${schema}"`);
  await tx.$executeRawUnsafe(`
    CREATE TABLE IF NOT EXISTS "${schema}"."_prisma_migrations" (
      "id" VARCHAR(36) PRIMARY KEY NOT NULL,
      "checksum" VARCHAR(64) NOT NULL,
      "finished_at" TIMESTAMPTZ,
      "migration_name" VARCHAR(255) NOT NULL,
      "logs" TEXT,
      "rolled_back_at" TIMESTAMPTZ,
      "started_at" TIMESTAMPTZ NOT NULL DEFAULT now(),
      "applied_steps_count" INTEGER NOT NULL DEFAULT 0
    )`);
  return await tx.$queryRawUnsafe<AppliedMigration[]>(
    `SELECT "migration_name", "checksum", "finished_at", "logs" FROM "${schema}"."_prisma_migrations"
     WHERE "rolled_back_at" IS NULL ORDER BY "started_at"`,
  );
}

function refuseContradictions(
  schema: string,
  applied: readonly AppliedMigration[],
  migrations: readonly Migration[],
): void {
  const committed = new Map(migrations.map((migration) => [migration.name, migration]));
  const newest = migrations.at(-1)?.name ?? '';
  for (const { migration_name: name, checksum, finished_at: finishedAt, logs } of applied) {
    const problem = (what: string) => new MigrationProblem(`migration ${name} of schema ${schema} ${what}`);
    const migration = committed.get(name);
    if (migration === undefined && name > newest && finishedAt !== null && logs === ADDITIVE) continue;
    if (migration === undefined) throw problem('is in the database but not in this version of the software');
    if (migration.checksum !== checksum) throw problem('was edited after it had been applied');
    if (finishedAt === null) throw problem('was begun by another tool and never finished');
  }
}
