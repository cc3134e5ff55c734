/** What applying migrations promises on every database. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Database } from '@svc/runtime/database.ts';
import { MigrationProblem, migrate, readMigrations } from '@svc/runtime/migrations.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';

export function describeMigrations(name: string, open: () => Promise<Database>): void {
  describe(`migrations: ${name}`, () => {
    let database: Database;
    let schema: string;
    let directory: string;
    beforeAll(async () => {
      database = await open();
    });
    afterAll(() => database.close());
    beforeEach(() => {
      schema = `s_${randomBytes(4).toString('hex')}`;
      directory = mkdtempSync(join(tmpdir(), 'svc-migrations-'));
      onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
    });

    const write = (migration: string, sql: string) => {
      mkdirSync(join(directory, migration), { recursive: true });
      writeFileSync(join(directory, migration, 'migration.sql'), sql);
    };
    const run = () =>
      migrate({ pool: database.pool, schema, migrations: readMigrations(schema, directory), log: { info() {} } });
    const applied = async () => {
      const { rows } = await database.pool.query<{ migration_name: string }>(
        `SELECT migration_name FROM "${schema}"."_prisma_migrations" WHERE finished_at IS NOT NULL ORDER BY started_at`,
      );
      return rows.map((row) => row.migration_name);
    };

    test('applies in order, once, and later only what is new', async () => {
      write('2_more', `ALTER TABLE "${schema}"."t" ADD COLUMN "n" int; INSERT INTO "${schema}"."t" VALUES (1, 2);`);
      write('1_init', `CREATE TABLE "${schema}"."t" ("id" int);`);
      await run();
      await run();
      write('3_last', `INSERT INTO "${schema}"."t" VALUES (3, 4);`);
      await run();
      await expect(applied()).resolves.toEqual(['1_init', '2_more', '3_last']);
      await expect(database.pool.query(`SELECT * FROM "${schema}"."t"`)).resolves.toHaveProperty('rowCount', 2);
    });

    test('four runners at once apply each migration once', async () => {
      write('1_init', `CREATE TABLE "${schema}"."t" ("id" int);`);
      for (let index = 2; index < 6; index += 1)
        write(`${index}_row`, `INSERT INTO "${schema}"."t" VALUES (${index});`);
      await Promise.all(Array.from({ length: 4 }, run));
      await expect(applied()).resolves.toHaveLength(5);
      await expect(database.pool.query(`SELECT * FROM "${schema}"."t"`)).resolves.toHaveProperty('rowCount', 4);
    });

    test('a start tells which migration keeps it waiting', async () => {
      write('1_init', `CREATE TABLE "${schema}"."t" ("id" int);`);
      write('2_slow', `SELECT pg_sleep(0.5);`);
      const told: unknown[] = [];
      const log = { info: (...line: unknown[]) => told.push(line) };
      const migrations = readMigrations(schema, directory);
      await migrate({ pool: database.pool, schema, migrations, log, tellEveryMs: 50 });
      expect(told).toContainEqual([{ schema, migration: '2_slow' }, 'a migration is being applied']);
      expect(told.at(-1)).toEqual([{ schema, migrations: ['1_init', '2_slow'] }, 'migrations applied']);
    });

    test('a migration that fails leaves nothing behind', async () => {
      write('1_init', `CREATE TABLE "${schema}"."t" ("id" int);`);
      write('2_bad', `CREATE TABLE "${schema}"."half" ("id" int); SELECT 1 / 0;`);
      await expect(run()).rejects.toThrow('division by zero');
      await expect(applied()).resolves.toEqual(['1_init']);
      await expect(database.pool.query(`SELECT to_regclass('${schema}.half') AS half`)).resolves.toMatchObject({
        rows: [{ half: null }],
      });
    });

    test('software starts beside newer migrations that only added something, and beside no others', async () => {
      write('1_init', `CREATE TABLE "${schema}"."t" ("id" int);`);
      await run();
      write('2_more', `ALTER TABLE "${schema}"."t" ADD COLUMN "n" int NOT NULL DEFAULT 0;`);
      write('3_late', `CREATE TABLE "${schema}"."u" ("id" int NOT NULL); INSERT INTO "${schema}"."u" VALUES (1);`);
      await run();
      for (const newer of ['2_more', '3_late']) rmSync(join(directory, newer), { recursive: true });
      await run();
      write('2_more', `ALTER TABLE "${schema}"."t" ADD COLUMN "n" int NOT NULL DEFAULT 0;`);
      write('3_late', `CREATE TABLE "${schema}"."u" ("id" int NOT NULL); INSERT INTO "${schema}"."u" VALUES (1);`);
      rmSync(join(directory, '2_more'), { recursive: true });
      await expect(run()).rejects.toThrow(`migration 2_more of schema ${schema} is in the database but not`);
    });

    test('software older than a migration that took something away does not start', async () => {
      write('1_init', `CREATE TABLE "${schema}"."t" ("id" int, "old" int);`);
      write('2_less', `ALTER TABLE "${schema}"."t" DROP COLUMN "old";`);
      await run();
      rmSync(join(directory, '2_less'), { recursive: true });
      await expect(run()).rejects.toThrow(`migration 2_less of schema ${schema} is in the database but not`);
    });

    test('refuses an edited migration, an unknown one and a bad schema name', async () => {
      write('1_init', 'SELECT 1;');
      await run();
      write('1_init', 'SELECT 2;');
      await expect(run()).rejects.toThrow(
        new MigrationProblem(`migration 1_init of schema ${schema} was edited after it had been applied`),
      );
      rmSync(join(directory, '1_init'), { recursive: true });
      await expect(run()).rejects.toThrow(/not in this version/);
      schema = 'x"; DROP';
      await expect(run()).rejects.toThrow(MigrationProblem);
    });
  });
}
