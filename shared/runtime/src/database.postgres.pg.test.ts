import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { describeMigrations } from '@svc/testing/migrations.contract.ts';
import { startOwnPostgres } from '@svc/testing/servers/postgres.ts';
import { silenceable } from '@svc/testing/servers/silenceable.ts';
import { describeSnapshots } from '@svc/testing/snapshot.contract.ts';
import { describeTransactions } from '@svc/testing/transaction.contract.ts';
import { afterAll, describe, expect, test } from 'vitest';
import { storeChecks } from './checks.ts';
import { meetDatabase } from './database.patience.ts';
import { openPostgresDatabase } from './database.postgres.ts';
import { callErrorFor } from './failures.ts';
import type { Database, SqlClient } from './database.ts';
import { poolClient, type TransactionOptions, withPgTransaction } from './transaction.ts';

const server = await startOwnPostgres();
afterAll(() => server?.stop());

const log = { warn() {}, fatal() {} };
const open = (url: string) => openPostgresDatabase({ url, log, poolSize: 20 });

/** A database as an administrator has it, and as a login of its own, for which something is set. */
async function openAs(login: string, settings: Readonly<Record<string, string>> = {}) {
  const admin = await open(server?.url ?? '');
  const sql = (text: string) => poolClient(admin.pool).$queryRawUnsafe(text);
  await sql(`CREATE ROLE ${login} LOGIN`);
  for (const [name, value] of Object.entries(settings)) await sql(`ALTER ROLE ${login} SET ${name} = ${value}`);
  const url = String(Object.assign(new URL(server?.url ?? ''), { username: login }));
  const database = await open(url);
  const close = () => Promise.all([database.close(), admin.close()]);
  return { admin, sql, url, database, close };
}

if (server !== null) {
  describeTransactions('PostgreSQL, plain client', async () => {
    const database = await open(server.url);
    return {
      transact: (work, options) => withPgTransaction(database.pool, work, options),
      close: () => database.close(),
    };
  });
  describeSnapshots('PostgreSQL', () => open(server.url));
  describeMigrations('PostgreSQL', () => open(server.url));
}

describe.skipIf(server === null)('PostgreSQL database', () => {
  test('many connections keep their statements apart and named', async () => {
    const database = await open(server?.url ?? '');
    const names = await withPgTransaction(database.pool, async (tx) => {
      await tx.$queryRawUnsafe('SELECT $1::int AS n', 1);
      await tx.$queryRawUnsafe('SELECT $1::int AS n', 2);
      return await tx.$queryRawUnsafe<{ statement: string }[]>('SELECT statement FROM pg_prepared_statements');
    });
    expect(names.map(({ statement }) => statement)).toEqual(['SELECT $1::int AS n']);
    await database.close();
  });

  test('a login that ends while it is used is a database that is away, and is taken again when it is back', async () => {
    const { sql, database, close } = await openAs('changing');
    const ask = () => withPgTransaction(database.pool, (tx) => tx.$queryRawUnsafe('SELECT 1 AS one'));
    expect(await ask()).toEqual([{ one: 1 }]);
    await sql('ALTER ROLE changing NOLOGIN');
    await sql(`SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = 'changing'`);
    for (const _ of [1, 2]) await expect(ask()).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    await sql('ALTER ROLE changing LOGIN');
    expect(await ask()).toEqual([{ one: 1 }]);
    await close();
  });

  test('what an operator lets sessions of a login wait ends none of ours, which end what idles and waits themselves', async () => {
    const settings = { idle_session_timeout: `'50ms'`, lock_timeout: `'50ms'` };
    const { admin, sql, database, close } = await openAs('hurried', settings);
    await sql('CREATE TABLE waited_for AS SELECT 1 AS one');
    await sql('GRANT SELECT ON waited_for TO hurried');
    const ask = <Row>(text: string) => withPgTransaction(database.pool, (tx) => tx.$queryRawUnsafe<Row[]>(text));
    const session = () => ask<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    const first = await session();
    await delay(300);
    expect(await session()).toEqual(first);
    const waited = await withPgTransaction(admin.pool, async (tx) => {
      await tx.$executeRawUnsafe('LOCK TABLE waited_for');
      const asked = ask('SELECT one FROM waited_for');
      await tx.$queryRawUnsafe('SELECT pg_sleep(0.3)');
      return { asked };
    });
    expect(await waited.asked).toEqual([{ one: 1 }]);
    await close();
  });

  test('what is read does not depend on what an operator set for the login', async () => {
    const settings = {
      default_transaction_isolation: 'serializable',
      DateStyle: 'German',
      extra_float_digits: '-9',
      standard_conforming_strings: 'off',
    };
    const { database, close } = await openAs('peculiar', settings);
    const read = `SELECT current_setting('transaction_isolation') AS isolation, '2026-02-03T04:05:06.789Z'::timestamptz AS at,
      0.1::float8 + 0.2::float8 AS sum, length('\\d') AS characters`;
    const at = new Date('2026-02-03T04:05:06.789Z');
    const expected = [{ isolation: 'read committed', at, sum: 0.1 + 0.2, characters: 2 }];
    expect(await withPgTransaction(database.pool, (tx) => tx.$queryRawUnsafe(read))).toEqual(expected);
    expect(await poolClient(database.pool).$queryRawUnsafe(read)).toEqual(expected);
    await close();
  });

  const write = (database: Database) =>
    withPgTransaction(database.pool, (tx) => tx.$executeRawUnsafe('INSERT INTO written DEFAULT VALUES'));
  const refused = (database: Database) => expect(write(database)).rejects.toThrow('No service answers');
  const looked = async (database: Database) => expect(await database.ping(2000)).toBe(false);
  test.each([
    ['looked', looked],
    ['refused', refused],
  ])('a session that was to change nothing serves nobody again: %s', async (login, meet) => {
    const { sql, database, close } = await openAs(login, { default_transaction_read_only: 'on' });
    await sql('CREATE TABLE IF NOT EXISTS written (); GRANT ALL ON written TO PUBLIC');
    await meet(database);
    await sql(`ALTER ROLE ${login} RESET default_transaction_read_only`);
    await write(database);
    expect(await database.ping(2000)).toBe(true);
    await close();
  });

  test('a database that could not keep every text is refused when it is met', async () => {
    const admin = await open(server?.url ?? '');
    await admin.pool.query(`CREATE DATABASE narrow ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0`);
    const url = String(Object.assign(new URL(server?.url ?? ''), { pathname: '/narrow' }));
    const narrow = await open(url);
    await expect(meetDatabase(narrow, { url, log })).rejects.toThrow(
      /keeps this database as LATIN1; it has to be UTF8/,
    );
    await meetDatabase(admin, { url: server?.url ?? '', log });
    await narrow.close();
    await admin.close();
  });

  test('a server that is too old is refused when it is met', async () => {
    const { sql, url, database, close } = await openAs('dated', { search_path: 'dated, pg_catalog' });
    await sql('CREATE SCHEMA dated');
    await sql('GRANT USAGE ON SCHEMA dated TO dated');
    await sql(`CREATE FUNCTION dated.current_setting(asked text) RETURNS text LANGUAGE sql AS
      $$ SELECT CASE asked WHEN 'server_version_num' THEN '140023' ELSE pg_catalog.current_setting(asked) END $$`);
    await expect(meetDatabase(database, { url, log })).rejects.toThrow(/is version 14; it has to be 15 or newer/);
    await close();
  });

  test('a database that takes no connections for a while is one that is away', async () => {
    const admin = await open(server?.url ?? '');
    const sql = (text: string) => poolClient(admin.pool).$queryRawUnsafe(text);
    await sql('CREATE DATABASE closing');
    await sql(`DO $$ BEGIN CREATE ROLE plain LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$`);
    const url = Object.assign(new URL(server?.url ?? ''), { username: 'plain', pathname: '/closing' });
    const database = await open(url.href);
    const ask = () => withPgTransaction(database.pool, (tx) => tx.$queryRawUnsafe('SELECT 1 AS one'));
    expect(await ask()).toEqual([{ one: 1 }]);
    await sql('ALTER DATABASE closing ALLOW_CONNECTIONS false');
    await sql(`SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = 'closing'`);
    for (const _ of [1, 2]) await expect(ask()).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    await sql('ALTER DATABASE closing ALLOW_CONNECTIONS true');
    expect(await ask()).toEqual([{ one: 1 }]);
    await database.close();
    await admin.close();
  });

  test('a statement that was planned while its table was empty does not read all of it when that is large', async () => {
    const database = await openPostgresDatabase({ url: server?.url ?? '', log, poolSize: 1 });
    const client = poolClient(database.pool);
    // The wider its rows, the fewer of them the server expects in an empty table.
    const columns = Array.from({ length: 12 }, (_, number) => `more_${number} text`).join(', ');
    await client.$executeRawUnsafe(
      `CREATE TABLE grown (id text PRIMARY KEY, body text, ${columns}) WITH (autovacuum_enabled = false)`,
    );
    const find = (tx: SqlClient) =>
      tx.$queryRawUnsafe('SELECT * FROM grown WHERE id = ANY($1::text[]) FOR UPDATE', ['7', '9', '11']);
    // After five the server keeps a plan.
    for (let turn = 0; turn < 6; turn += 1) await find(client);
    await client.$executeRawUnsafe(`INSERT INTO grown SELECT n, repeat('x', 100) FROM generate_series(1, 5000) AS n`);
    const read = await withPgTransaction(database.pool, async (tx) => {
      expect(await find(tx)).toHaveLength(3);
      return await tx.$queryRawUnsafe(
        `SELECT seq_tup_read::int AS all, idx_tup_fetch::int AS found FROM pg_stat_xact_user_tables WHERE relname = 'grown'`,
      );
    });
    expect(read).toEqual([{ all: 0, found: 3 }]);
    await database.close();
  });

  test('a connection without a byte for too long is given up, unless the transaction may take that long', async () => {
    const database = await openPostgresDatabase({ url: server?.url ?? '', log, poolSize: 1, silenceMs: 300 });
    const sleep = (options?: TransactionOptions) =>
      withPgTransaction(database.pool, (tx) => tx.$executeRawUnsafe('SELECT pg_sleep(0.9)'), options);
    await expect(sleep()).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    await expect(sleep({ timeoutMs: 5000 })).resolves.toBe(1);
    await expect(sleep()).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    await database.close();
  });

  test('of connections that fell silent while they were idle one costs somebody its time', async () => {
    const IDLE = 8;
    const silent = await silenceable(server?.url ?? '');
    const { pool, close } = await open(silent.url);
    const ask = () => withPgTransaction(pool, (tx) => tx.$queryRawUnsafe('SELECT 1'), { timeoutMs: 500 });
    await Promise.all(Array.from({ length: IDLE }, () => pool.query('SELECT pg_sleep(0.2)')));
    expect(pool.idleCount).toBe(IDLE);
    silent.silence();
    await expect(ask()).rejects.toThrow();
    expect(pool.totalCount).toBe(0);
    await ask();
    await close();
    silent.close();
  });

  test('work that waits for a connection which fell silent ends with its transaction, and another one serves the next', async () => {
    const silent = await silenceable(server?.url ?? '');
    const database = await openPostgresDatabase({ url: silent.url, log, poolSize: 1 });
    const asked = Promise.withResolvers<unknown>();
    const lost = withPgTransaction(
      database.pool,
      async (tx) => {
        await tx.$executeRawUnsafe('SELECT 1');
        silent.silence();
        const answer = tx.$executeRawUnsafe('SELECT 2');
        answer.then(asked.resolve, asked.reject);
        await answer;
      },
      { timeoutMs: 500 },
    );
    await expect(lost).rejects.toMatchObject({ code: 'E_BUSY' });
    await expect(asked.promise).rejects.toThrow('Connection terminated');
    const refused = withPgTransaction(database.pool, async (tx) => {
      await tx.$executeRawUnsafe('SELECT 1');
      silent.silence();
      throw new Error('no');
    });
    await expect(refused).rejects.toThrow('no');
    await expect(withPgTransaction(database.pool, (tx) => tx.$executeRawUnsafe('SELECT 1'))).resolves.toBe(1);
    await database.close();
    silent.close();
  });

  test('one that others use is waited for longer than a new one, but not beyond the deadline', async () => {
    const database = await openPostgresDatabase({ url: server?.url ?? '', log, poolSize: 1, connectMs: 200 });
    const sleep = (options?: TransactionOptions) =>
      withPgTransaction(database.pool, (tx) => tx.$executeRawUnsafe('SELECT pg_sleep(0.5)'), options);
    const late = { deadlineAt: Date.now() + 700 };
    const [first, second, third] = await Promise.allSettled([sleep(), sleep(), sleep(late)]);
    expect([first, second]).toMatchObject([{ value: 1 }, { value: 1 }]);
    expect(third).toMatchObject({ reason: { code: 'TIMEOUT' } });
    await expect(sleep()).resolves.toBe(1);
    await database.close();
  });

  test('a transaction goes on while its process is at work on something else, and ends when that stands still', async () => {
    const database = await openPostgresDatabase({
      url: server?.url ?? '',
      log,
      poolSize: 2,
      idleInTransactionMs: 1500,
    });
    const one = (meanwhile: () => Promise<unknown>) =>
      withPgTransaction(database.pool, async (tx) => {
        await tx.$executeRawUnsafe('SELECT 1');
        await meanwhile();
        return tx.$executeRawUnsafe('SELECT 1');
      });
    await expect(one(() => delay(2500))).resolves.toBe(1);
    await expect(one(async () => standStill(2500))).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    await expect(one(() => delay(10))).resolves.toBe(1);
    await database.close();
  });

  test('a statement that the server gives up is one of a busy database, in a transaction or by itself', async () => {
    const database = await openPostgresDatabase({ url: server?.url ?? '', log, poolSize: 2, statementTimeoutMs: 100 });
    const sleep = (client: SqlClient) => client.$queryRawUnsafe('SELECT pg_sleep(30)');
    await expect(withPgTransaction(database.pool, sleep)).rejects.toMatchObject({ code: 'E_BUSY' });
    const alone = await sleep(poolClient(database.pool)).catch(callErrorFor);
    expect(alone).toMatchObject({ code: 'E_BUSY' });
    await database.close();
  });

  test('a statement that meets the end of its session, before anybody has read of it, finds the database away', async () => {
    const database = await openPostgresDatabase({ url: server?.url ?? '', log, poolSize: 1, idleInTransactionMs: 100 });
    const late = withPgTransaction(database.pool, async (tx) => {
      await tx.$executeRawUnsafe('SELECT 1');
      standStill(400);
      return tx.$executeRawUnsafe('SELECT 1');
    });
    await expect(late).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    await database.close();
  });
});

function standStill(forMs: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, forMs);
}

test('a server that goes away with the words with which it takes a connection ends no process', async () => {
  const message = (type: string, body: Buffer): Buffer => {
    const length = Buffer.alloc(4);
    length.writeInt32BE(body.length + 4);
    return Buffer.concat([Buffer.from(type), length, body]);
  };
  const leaving = 'SFATAL\0C57P01\0Mterminating connection due to administrator command\0\0';
  // In one piece: whoever asked for the connection has not got it yet when the last of it is read.
  const words = [message('R', Buffer.alloc(4)), message('Z', Buffer.from('I')), message('E', Buffer.from(leaving))];
  const leaver = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => socket.end(Buffer.concat(words)));
  });
  leaver.listen(0, '127.0.0.1');
  await once(leaver, 'listening');
  const { port } = leaver.address() as AddressInfo;
  const database = await open(`postgresql://u@127.0.0.1:${port}/d`);
  const work = withPgTransaction(database.pool, (tx) => tx.$executeRawUnsafe('SELECT 1'));
  await expect(work).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
  await database.close();
  leaver.close();
});

test('a server that accepts and says nothing is away', async () => {
  const sockets: Socket[] = [];
  const silent = createServer((socket) => sockets.push(socket)).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  const url = `postgresql://nobody@127.0.0.1:${port}/none`;
  const database = await openPostgresDatabase({ url, log, poolSize: 1, connectMs: 200 });
  const read = withPgTransaction(database.pool, (tx) => tx.$executeRawUnsafe('SELECT 1'));
  await expect(read).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
  await database.close();
  for (const socket of sockets) socket.destroy();
  silent.close();
});

describe.skipIf(server === null)('PostgreSQL that goes away', () => {
  const url = server?.url ?? '';
  const control = server?.control;
  const insert = (database: Database, id: number) =>
    withPgTransaction(database.pool, (tx) => tx.$executeRawUnsafe('INSERT INTO away VALUES ($1)', id));

  test('one that takes no writes says so, and those that it had are refused until it does again', async () => {
    const database = await open(url);
    const platform = { database, links: [] };
    expect(await storeChecks(platform)).toEqual([{ name: 'postgresql', status: 'ok' }]);
    const { rows } = await database.pool.query<{ name: string }>('SELECT current_database() AS name');
    const setReadOnly = async (value: string) => {
      await database.pool.query(
        `BEGIN READ WRITE; ALTER DATABASE "${rows[0]?.name}" SET default_transaction_read_only = ${value}; COMMIT`,
      );
      await control?.kill();
      await control?.start();
    };
    await setReadOnly('on');
    await expect.poll(() => storeChecks(platform)).toEqual([{ name: 'postgresql', status: 'degraded' }]);
    const refused = withPgTransaction(database.pool, (tx) => tx.$executeRawUnsafe('CREATE TABLE refused ()'));
    await expect(refused).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    await setReadOnly('off');
    await expect.poll(() => storeChecks(platform)).toEqual([{ name: 'postgresql', status: 'ok' }]);
    await database.close();
  });

  test('unavailable while down, back by itself afterwards, and the process lives', async () => {
    const database = await open(url);
    await database.pool.query('CREATE TABLE away (id int)');
    await Promise.all([1, 2, 3].map((id) => insert(database, id)));
    await control?.kill();
    await expect(insert(database, 4)).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    await expect(database.ping(2000)).rejects.toThrow();
    await control?.start();
    await expect(insert(database, 5)).resolves.toBe(1);
    await database.close();
  });

  test('lost in the middle of the work: surely not committed', async () => {
    const database = await open(url);
    const lost = withPgTransaction(database.pool, async (tx) => {
      await tx.$executeRawUnsafe('INSERT INTO away VALUES (100)');
      await control?.kill();
      await tx.$executeRawUnsafe('SELECT 1');
    });
    await expect(lost).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    await control?.start();
    await expect(database.pool.query('SELECT FROM away WHERE id = 100')).resolves.toHaveProperty('rowCount', 0);
    await database.close();
  });

  test('lost during COMMIT: the outcome is unknown', async () => {
    const database = await open(url);
    await database.pool.query(`
      CREATE TABLE slow_commit (id int);
      CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(10); RETURN NULL; END $$;
      CREATE CONSTRAINT TRIGGER t AFTER INSERT ON slow_commit DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION wait();`);
    const lost = withPgTransaction(database.pool, (tx) => tx.$executeRawUnsafe('INSERT INTO slow_commit VALUES (1)'));
    const outcome = expect(lost).rejects.toMatchObject({ code: 'E_OUTCOME_UNKNOWN' });
    await delay(500);
    await control?.kill();
    await outcome;
    await control?.start();
    await database.close();
  });
});
