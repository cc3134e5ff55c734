import { setTimeout as delay } from 'node:timers/promises';
import { onPostgres } from '@svc/testing/servers/on-postgres.ts';
import { expect, test } from 'vitest';
import { migrate } from './migrations.ts';

const MADE = { name: '1_made', sql: 'CREATE TABLE "busy"."kept" ("n" INTEGER)', checksum: '1' };
const ADDED = { name: '2_added', sql: 'ALTER TABLE "busy"."kept" ADD COLUMN "more" TEXT', checksum: '2' };

await onPostgres((open) => {
  test('a migration that waits for a table in use tells by whom, and keeps nobody else from it', async () => {
    const database = await open();
    const { pool } = database;
    const said: object[] = [];
    const log = { info: (facts: object) => said.push(facts) };
    const options = { pool, schema: 'busy', log, tellEveryMs: 20, lockWaitMs: 50 };
    await migrate({ ...options, migrations: [MADE] });
    const backup = await pool.connect();
    await backup.query(`SET application_name = 'pg_dump'`);
    await backup.query('BEGIN');
    await backup.query('SELECT * FROM busy.kept');

    const migrated = migrate({ ...options, migrations: [MADE, ADDED] });
    const isTold = () => said.some((facts) => 'application' in facts && facts.application === 'pg_dump');
    while (!isTold()) await delay(10);
    await pool.query('INSERT INTO busy.kept VALUES (1)');
    await backup.query('COMMIT');
    backup.release();
    await migrated;
    const { rows } = await pool.query('SELECT * FROM busy.kept');
    expect(rows).toEqual([{ n: 1, more: null }]);
    await pool.query('DROP SCHEMA busy CASCADE');
    await database.close();
  });
});
