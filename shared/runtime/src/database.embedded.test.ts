import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { embeddedDatabase } from '@svc/testing/database.ts';
import { SOON_ENDED } from '@svc/testing/soon-ended.ts';
import { describeSnapshots } from '@svc/testing/snapshot.contract.ts';
import { describeTransactions } from '@svc/testing/transaction.contract.ts';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { openEmbeddedDatabase } from './database.embedded.ts';
import { isDatabaseAway, withPgTransaction } from './transaction.ts';

const log = { warn() {}, fatal() {} };

function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'svc-embedded-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

describeTransactions('embedded, plain client', async () => {
  const database = await embeddedDatabase();
  return {
    transact: (work, options) => withPgTransaction(database.pool, work, options),
    close: () => database.close(),
  };
});

describeSnapshots('embedded', embeddedDatabase);

describe('embedded database', () => {
  test('keeps its rows over a close, and refuses a second opener', async () => {
    const directory = temporaryDirectory();
    const first = await openEmbeddedDatabase({ directory, log });
    await first.pool.query('CREATE TABLE kept AS SELECT 42 AS answer');
    await expect(openEmbeddedDatabase({ directory, log })).rejects.toThrow(/database\.lock is held by process/);
    await first.close();
    const second = await openEmbeddedDatabase({ directory, log });
    await expect(second.pool.query('SELECT answer FROM kept')).resolves.toMatchObject({ rows: [{ answer: 42 }] });
    await second.close();
  });

  test('opens below a path that is too long for a socket', async () => {
    const directory = join(temporaryDirectory(), 'x'.repeat(120));
    const database = await openEmbeddedDatabase({ directory, log });
    await database.ping(5000);
    await database.close();
  });

  test('lets nobody else near the socket', async () => {
    await using database = await embeddedDatabase();
    expect(statSync(join(database.directory, 'run')).mode & 0o777).toBe(0o700);
  });

  test('says how much room there is when its engine does not start', async () => {
    const directory = temporaryDirectory();
    await (await openEmbeddedDatabase({ directory, log })).close();
    truncateSync(join(directory, 'pg', 'global', 'pg_control'));
    await expect(openEmbeddedDatabase({ directory, log })).rejects.toThrow(/does not open: .*; free space \d+ MiB$/s);
  });

  test('starts over when the first start was interrupted', async () => {
    const directory = temporaryDirectory();
    mkdirSync(join(directory, 'pg'));
    writeFileSync(join(directory, 'pg', 'PG_VERSION'), '18\n');
    writeFileSync(join(directory, 'pg.incomplete'), '');
    const database = await openEmbeddedDatabase({ directory, log });
    await database.ping(5000);
    await database.close();
  });

  test('gives the right answers to statements of many packets from many connections', async () => {
    await using database = await embeddedDatabase();
    const wrong: unknown[] = [];
    const caller = async (index: number) => {
      const text = 'x'.repeat(index % 2 === 0 ? 300_000 : 10);
      const sql =
        index % 3 === 0
          ? 'SELECT $1::int AS id, length($2::text) AS size'
          : 'SELECT length($2::text) AS size, $1::int AS id, 1 AS more';
      for (let round = 0; round < 20; round += 1) {
        const id = index * 1000 + round;
        const { rows } = await database.pool.query<{ id: number; size: number; more?: number }>(sql, [id, text]);
        const [row] = rows;
        if (row?.id !== id || row.size !== text.length || 'more' in row === (index % 3 === 0)) wrong.push(row);
      }
    };
    await Promise.all(Array.from({ length: 10 }, (_, index) => caller(index)));
    expect(wrong).toEqual([]);
  });

  test('a failing statement of one connection does not touch another', async () => {
    await using database = await embeddedDatabase();
    const failing = Array.from({ length: 50 }, () => database.pool.query('SELECT 1 / $1::int AS x', [0]));
    const working = Array.from({ length: 50 }, (_, n) =>
      database.pool.query<{ n: number }>('SELECT $1::int AS n', [n]),
    );
    const failed = await Promise.allSettled(failing);
    expect(failed.every(({ status }) => status === 'rejected')).toBe(true);
    const answers = await Promise.all(working);
    expect(answers.map(({ rows }) => rows[0]?.n)).toEqual(answers.map((_, n) => n));
  });

  test('undoes the transaction of a connection that vanished and lets the others go on', async () => {
    await using database = await embeddedDatabase();
    await database.pool.query('CREATE TABLE t (id int)');
    const client = await database.pool.connect();
    client.on('error', () => {});
    await client.query('BEGIN');
    await client.query('INSERT INTO t VALUES (1)');
    const other = database.pool.query<{ n: number }>('SELECT count(*)::int AS n FROM t');
    client.release(true);
    await expect(other).resolves.toMatchObject({ rows: [{ n: 0 }] });
  });

  test('runs maintenance statements beside transactions without losing a commit', async () => {
    await using database = await embeddedDatabase();
    const { pool } = database;
    await pool.query('CREATE TABLE t (id int)');
    let running = true;
    const maintenance = (async () => {
      let rounds = 0;
      for (; running; rounds += 1) await pool.query(rounds % 2 === 0 ? 'CHECKPOINT' : 'VACUUM (ANALYZE)');
      return rounds;
    })();
    const writer = async (index: number) => {
      for (let round = 0; round < 30; round += 1) {
        await withPgTransaction(pool, (tx) => tx.$executeRawUnsafe('INSERT INTO t VALUES ($1)', index * 100 + round));
      }
    };
    await Promise.all(Array.from({ length: 8 }, (_, index) => writer(index)));
    running = false;
    expect(await maintenance).toBeGreaterThan(1);
    await expect(pool.query('SELECT count(*)::int AS n FROM t')).resolves.toMatchObject({ rows: [{ n: 240 }] });
  });
});

/** A process that commits rows and prints each number once its commit was acknowledged. */
function startWriter(directory: string, from: number): ChildProcess {
  const program = `
    import { openEmbeddedDatabase } from ${JSON.stringify(new URL('./database.embedded.ts', import.meta.url).href)};
    const { pool } = await openEmbeddedDatabase({ directory: ${JSON.stringify(directory)}, log: { warn() {}, fatal() {} } });
    await pool.query('CREATE TABLE IF NOT EXISTS t (id int PRIMARY KEY, pad text)');
    for (let id = ${from}; ; id += 1) {
      await pool.query('INSERT INTO t VALUES ($1, $2)', [id, 'x'.repeat(2000)]);
      process.stdout.write(id + '\\n');
      if (id % 50 === 0) await pool.query('CHECKPOINT');
    }`;
  return spawn(
    process.execPath,
    [...SOON_ENDED, '--disable-warning=ExperimentalWarning', '--input-type=module-typescript', '-e', program],
    {
      cwd: import.meta.dirname,
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
}

test('a full disk refuses rows, and costs no acknowledged one when it ends the engine', async (context) => {
  const disk = mountDisk(120);
  context.skip(disk === null, 'SKIPPED: no small disk, because this user may not mount one');
  if (disk === null) return;
  const directory = join(disk, 'db');
  const database = await openEmbeddedDatabase({ directory, log });
  const { pool } = database;
  await pool.query('CREATE TABLE kept (n int, filler text)');
  let kept = 0;
  const insert = () => pool.query("INSERT INTO kept VALUES ($1, repeat('x', 4000))", [kept]).then(() => (kept += 1));
  await insert();
  const ballast = join(disk, 'ballast');
  expect(spawnSync('dd', ['if=/dev/zero', `of=${ballast}`, 'bs=4096']).status).not.toBe(0);
  const fillUp = async (): Promise<never> => {
    for (;;) await insert();
  };
  await expect(fillUp()).rejects.toMatchObject({ code: '53100' });
  const count = async () => (await pool.query<{ n: number }>('SELECT count(*)::int AS n FROM kept')).rows[0]?.n;
  expect(await count()).toBe(kept);
  await expect(pool.query('CHECKPOINT')).rejects.toThrow('Connection terminated');
  await expect(count().catch((error: unknown) => isDatabaseAway(error))).resolves.toBe(true);
  rmSync(ballast);
  await vi.waitUntil(
    () =>
      database.ping(1000).then(
        () => true,
        () => false,
      ),
    { timeout: 120_000 },
  );
  await insert();
  expect(await count()).toBe(kept);
  await database.close();
});

/** A file system of so many MiB; null where this user may not mount one. */
function mountDisk(mib: number): string | null {
  const path = temporaryDirectory();
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${mib}m`, 'tmpfs', path]).status !== 0) return null;
  onTestFinished(() => void spawnSync('umount', ['--lazy', path]));
  return path;
}

test('a killed process loses no acknowledged row', async () => {
  const directory = temporaryDirectory();
  const acknowledged: number[] = [];
  for (let round = 1; round <= 5; round += 1) {
    const writer = startWriter(directory, round * 100_000);
    const exited = once(writer, 'exit');
    let seen = 0;
    if (!writer.stdout) throw new Error('no output');
    for await (const line of createInterface({ input: writer.stdout })) {
      acknowledged.push(Number(line));
      seen += 1;
      if (seen === 40 * round + 17) writer.kill('SIGKILL'); // lines already on their way still count
    }
    await exited;
    expect(writer.signalCode).toBe('SIGKILL');
  }
  const database = await openEmbeddedDatabase({ directory, log });
  const { rows } = await database.pool.query<{ id: number }>('SELECT id FROM t');
  await database.close();
  const kept = new Set(rows.map(({ id }) => id));
  expect(acknowledged.length).toBeGreaterThan(500);
  expect(acknowledged.filter((id) => !kept.has(id))).toEqual([]);
});
