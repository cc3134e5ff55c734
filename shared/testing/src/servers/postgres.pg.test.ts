import { Client } from 'pg';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { startOwnPostgres, startPostgres } from './postgres.ts';
import { lendPostgres, lendTables, startRunPostgres } from './run-postgres.ts';

const server = await startOwnPostgres();
afterAll(() => server?.stop());

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

describe.skipIf(server === null)('a PostgreSQL of our own', () => {
  const { url, control } = server ?? { url: '' };

  test('keeps what was committed over kill -9', async () => {
    await query(url, 'CREATE TABLE kept AS SELECT 7 AS number');
    await control?.kill();
    await control?.start();
    expect(await query(url, 'SELECT number FROM kept')).toEqual([{ number: 7 }]);
  });

  test('syncs its files', async () => {
    expect(await query(url, 'SHOW fsync')).toEqual([{ fsync: 'on' }]);
  });
});

describe.skipIf(server === null)('a PostgreSQL given by its URL', () => {
  const before = { ...process.env };
  afterEach(() => {
    for (const name of Object.keys(process.env)) if (!Object.hasOwn(before, name)) delete process.env[name];
    Object.assign(process.env, before);
  });

  test('lends a database of its own, dropped at stop even when it is in use', async () => {
    const url = server?.url ?? '';
    process.env['SVC_TEST_DATABASE_URL'] = url;
    const lent = await startPostgres();
    const name = new URL(lent?.url ?? '').pathname.slice(1);
    expect(name).toMatch(/^svc_test_[0-9a-f]{12}$/);
    const user = new Client({ connectionString: lent?.url });
    user.on('error', () => {});
    await user.connect();
    await lent?.stop();
    expect(await query(url, `SELECT 1 FROM pg_database WHERE datname = '${name}'`)).toEqual([]);
  });

  test('is left by a run as it was, whatever was not given back', async () => {
    const url = server?.url ?? '';
    const databases = () => query(url, 'SELECT datname FROM pg_database ORDER BY datname');
    const found = await databases();
    process.env['SVC_TEST_DATABASE_URL'] = url;
    const run = await startRunPostgres();
    const lent = await lendTables();
    expect(await query(lent?.url ?? '', 'SELECT count(*)::int AS rows FROM escrow.accounts')).toEqual([{ rows: 0 }]);
    await run?.stop();
    expect(await databases()).toEqual(found);
  });
});

test.skipIf(server === null)('a server that is lent gives each its own database, and takes it back', async () => {
  const [one, other] = [await lendPostgres(), await lendPostgres()];
  const [first, second] = [new URL(one?.url ?? ''), new URL(other?.url ?? '')];
  expect(first.host).toBe(second.host);
  expect(first.pathname).not.toBe(second.pathname);
  await query(first.href, 'CREATE TABLE mine (id int)');
  await one?.stop();
  const gone = `SELECT 1 FROM pg_database WHERE datname = '${first.pathname.slice(1)}'`;
  expect(await query(second.href, gone)).toEqual([]);
  await other?.stop();
});

test.skipIf(server === null)(
  'the server of a run has the tables of all services, without a row of anybody else',
  async () => {
    const [one, other] = [await lendTables(), await lendTables()];
    await query(one?.url ?? '', 'DELETE FROM habitat.registry_revision');
    expect(await query(other?.url ?? '', 'SELECT count(*)::int AS rows FROM habitat.registry_revision')).toEqual([
      { rows: 1 },
    ]);
    await Promise.all([one?.stop(), other?.stop()]);
  },
);
