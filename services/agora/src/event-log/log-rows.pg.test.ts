import { join } from 'node:path';
import { openPostgresDatabase } from '@svc/runtime/database.postgres.ts';
import { migrate, migrationsOfService } from '@svc/runtime/migrations.ts';
import { poolClient } from '@svc/runtime/transaction.ts';
import { lendPostgres } from '@svc/testing/servers/run-postgres.ts';
import { afterAll, expect, test } from 'vitest';
import { createLogRows } from './log-rows.ts';

const server = await lendPostgres();
afterAll(() => server?.stop());
const log = { warn() {}, fatal() {}, info() {} };
const MIGRATIONS = join(import.meta.dirname, '..', '..', 'prisma', 'migrations');
const PROCESSES = 8;

test.skipIf(server === null)('processes that start at once have one secret between them', async () => {
  const database = await openPostgresDatabase({ url: server?.url ?? '', log, poolSize: PROCESSES });
  try {
    const { pool } = database;
    await migrate({ pool, schema: 'agora', migrations: migrationsOfService('agora', MIGRATIONS), log: log as never });
    for (let round = 0; round < 50; round += 1) {
      await pool.query('DELETE FROM agora.log_head');
      const secrets = await Promise.all(
        Array.from({ length: PROCESSES }, () => createLogRows(poolClient(pool)).secret()),
      );
      expect(new Set(secrets).size).toBe(1);
    }
  } finally {
    await database.close();
  }
});

test.skipIf(server === null)('whoever wrote the log before the clock was set back keeps it from nobody', async () => {
  const database = await openPostgresDatabase({ url: server?.url ?? '', log, poolSize: 1 });
  try {
    const { pool } = database;
    await migrate({ pool, schema: 'agora', migrations: migrationsOfService('agora', MIGRATIONS), log: log as never });
    const rows = createLogRows(poolClient(pool));
    await rows.secret();
    expect(await rows.claim('dead', false)).toBe(true);
    expect(await rows.claim('other', false)).toBe(false);
    await pool.query("UPDATE agora.log_head SET held_until = held_until + interval '1 hour'");
    expect(await rows.claim('other', false)).toBe(true);
    expect(await rows.claim('dead', false)).toBe(false);
  } finally {
    await database.close();
  }
});
