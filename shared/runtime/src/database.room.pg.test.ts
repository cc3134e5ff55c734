import { chownSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { startOwnPostgres } from '@svc/testing/servers/postgres.ts';
import { systemUser } from '@svc/testing/servers/processes.ts';
import { mountSmallDisk, type SmallDisk } from '@svc/testing/small-disk.ts';
import { afterAll, describe, expect, test } from 'vitest';
import { storeChecks } from './checks.ts';
import { openPostgresDatabase } from './database.postgres.ts';
import { withPgTransaction } from './transaction.ts';

const open = (at: string) => openPostgresDatabase({ url: at, log: { warn() {}, fatal() {} }, poolSize: 4 });

const server = await startOwnPostgres();
const disk = server === null ? null : mountSmallDisk(32);
const url = server !== null && disk !== null ? await databaseOn(disk, server.url) : null;
afterAll(async () => {
  await server?.stop();
  disk?.dispose();
});

/** Of a database whose tables lie there; null where the server, in a container, does not see it. */
async function databaseOn({ path }: SmallDisk, at: string): Promise<string | null> {
  const owner = systemUser('postgres') ?? systemUser('nobody'); // as which the server runs where we may mount
  if (owner !== null) chownSync(path, owner.uid, owner.gid);
  const admin = await open(at);
  try {
    await admin.pool.query(`CREATE TABLESPACE small LOCATION '${path}'`);
    await admin.pool.query('CREATE DATABASE small TABLESPACE small');
    return String(Object.assign(new URL(at), { pathname: '/small' }));
  } catch (error) {
    process.stderr.write(`SKIPPED: PostgreSQL on a small disk (${String(error)})\n`);
    return null;
  } finally {
    await admin.close();
  }
}

describe.skipIf(url === null)('PostgreSQL whose disk is full', () => {
  const small = url ?? '';

  test('takes no writes from the first refusal on, until there is room again', async () => {
    const database = await open(small);
    await database.pool.query('CREATE TABLE kept (text text)');
    const grow = () =>
      withPgTransaction(database.pool, (tx) =>
        tx.$executeRawUnsafe(`INSERT INTO kept SELECT repeat('x', 1000) FROM generate_series(1, 1000)`),
      );
    const platform = { database, links: [] };
    await grow();
    expect(await storeChecks(platform)).toEqual([{ name: 'postgresql', status: 'ok' }]);
    disk?.fill();
    await expect(grow()).rejects.toMatchObject({ code: '53100' });
    for (const _ of [1, 2]) expect(await storeChecks(platform)).toEqual([{ name: 'postgresql', status: 'degraded' }]);
    disk?.empty();
    expect(await storeChecks(platform)).toEqual([{ name: 'postgresql', status: 'ok' }]);
    await grow();
    await database.close();
  });

  test('is away for whoever needs a new connection, where that would have to write', async () => {
    const folder = disk?.path ?? '';
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
    for (const file of files.filter((name) => name.endsWith('pg_internal.init'))) rmSync(join(folder, file));
    disk?.fill();
    const database = await open(small);
    const read = () => withPgTransaction(database.pool, (tx) => tx.$queryRawUnsafe('SELECT 1 AS one'));
    await expect(read()).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    disk?.empty();
    expect(await read()).toEqual([{ one: 1 }]);
    await database.close();
  });
});
