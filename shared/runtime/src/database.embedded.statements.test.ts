import { embeddedDatabase } from '@svc/testing/database.ts';
import type { Pool } from 'pg';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { Answer, MESSAGE, messageOf } from './database.embedded.messages.ts';
import { KeptStatements } from './database.embedded.statements.ts';

interface Kept {
  readonly name: string;
  readonly statement: string;
}

/** In the order in which they were first kept. A simple query, so that it is not kept itself. */
async function kept(pool: Pool): Promise<Kept[]> {
  const { rows } = await pool.query<Kept>(
    `SELECT name, statement FROM pg_prepared_statements ORDER BY substr(name, length('kept_') + 1)::int`,
  );
  return rows;
}

async function opened(): Promise<Pool> {
  const database = await embeddedDatabase();
  onTestFinished(() => database.close());
  await database.pool.query('CREATE TABLE numbers (id int PRIMARY KEY, name text)');
  await database.pool.query("INSERT INTO numbers SELECT n, 'n' || n FROM generate_series(1, 100) n");
  return database.pool;
}

async function times(count: number, work: (round: number) => Promise<unknown>): Promise<unknown[]> {
  const answers: unknown[] = [];
  for (let round = 0; round < count; round += 1)
    answers.push(
      await work(round).then(
        (answer) => answer,
        (error: unknown) => error,
      ),
    );
  return answers;
}

describe('statements of the embedded database', () => {
  test('are kept from the second time on, and answer like new ones, whoever sends them', async () => {
    const pool = await opened();
    const sql = 'SELECT name FROM numbers WHERE id = $1';
    const nameOf = async (id: number) => (await pool.query<{ name: string }>(sql, [id])).rows[0]?.name;
    expect(await nameOf(1)).toBe('n1');
    expect(await kept(pool)).toEqual([]);
    const names = await Promise.all(Array.from({ length: 20 }, (_, index) => nameOf(index + 1)));
    expect(names).toEqual(Array.from({ length: 20 }, (_, index) => `n${index + 1}`));
    expect(await kept(pool)).toEqual([{ name: expect.any(String) as string, statement: sql }]);
  });

  test('of one text and other types of parameters are others', () => {
    const statements = new KeptStatements();
    const used = (type: number) => {
      const types = Buffer.from([0, 1, 0, 0, 0, type]);
      const parse = messageOf(MESSAGE.parse, '', 'SELECT $1 AS given', types);
      const bind = messageOf(MESSAGE.bind, '', '', Buffer.alloc(6));
      const trip = statements.use(Buffer.concat([parse, bind, messageOf(MESSAGE.sync)]));
      statements.learn(trip, Object.assign(new Answer(), { isParsed: true }), false);
      return trip;
    };
    const [, named, again] = [used(23), used(23), used(23)];
    expect(named.parsed).not.toBeNull();
    expect(again.answeredBefore).not.toBeNull();
    expect(used(25)).toMatchObject({ answeredBefore: null, parsed: null });
  });

  test('that fail do so each time alike, whether they are not understood or cannot be run', async () => {
    const pool = await opened();
    const codes = async (sql: string, values: unknown[]) =>
      (await times(4, () => pool.query(sql, values))).map((error) => (error as { code?: string }).code);
    expect(await codes('SELECT $1::int FROM nowhere', [1])).toEqual(['42P01', '42P01', '42P01', '42P01']);
    expect(await codes('SELECT 1 / $1::int', [0])).toEqual(['22012', '22012', '22012', '22012']);
    expect((await pool.query<{ half: number }>('SELECT 1 / $1::int AS half', [1])).rows).toEqual([{ half: 1 }]);
    const taken = 'INSERT INTO numbers VALUES ($1, NULL)';
    expect(await codes(taken, [1])).toEqual(['23505', '23505', '23505', '23505']);
  });

  test('see a table as it is after it was changed', async () => {
    const pool = await opened();
    const all = async () => (await pool.query('SELECT * FROM numbers WHERE id <= $1', [1])).rows;
    await times(3, all);
    await pool.query('ALTER TABLE numbers ADD COLUMN more int DEFAULT 7');
    const [row, same, again] = await times(3, all);
    expect(row).toEqual([{ id: 1, name: 'n1', more: 7 }]);
    expect([same, again]).toEqual([row, row]);
  });

  test('see a table as it was after a change of it was undone', async () => {
    const pool = await opened();
    const sql = 'SELECT * FROM numbers WHERE id <= $1';
    await times(3, () => pool.query(sql, [1]));
    const client = await pool.connect();
    await client.query('BEGIN');
    await client.query('ALTER TABLE numbers RENAME COLUMN name TO title');
    const inside = await times(3, async () => (await client.query(sql, [1])).rows);
    await client.query('ROLLBACK');
    client.release();
    const outside = await times(3, async () => (await pool.query(sql, [1])).rows);
    for (const rows of inside) expect(rows).toEqual([{ id: 1, title: 'n1' }]);
    for (const rows of outside) expect(rows).toEqual([{ id: 1, name: 'n1' }]);
  });

  test('are refused in a transaction that failed, until it is rolled back', async () => {
    const pool = await opened();
    const sql = 'SELECT count(*)::int AS count FROM numbers WHERE id <= $1';
    await times(3, () => pool.query(sql, [5]));
    const client = await pool.connect();
    await client.query('BEGIN');
    await expect(client.query('SELECT 1 / $1::int', [0])).rejects.toMatchObject({ code: '22012' });
    await expect(client.query(sql, [5])).rejects.toMatchObject({ code: '25P02' });
    await client.query('ROLLBACK');
    client.release();
    expect((await pool.query(sql, [5])).rows).toEqual([{ count: 5 }]);
  });

  test('are kept up to a number: those used last', async () => {
    const pool = await opened();
    for (let number = 0; number < 600; number += 1)
      await times(2, () => pool.query(`SELECT $1::int + ${number} AS sum`, [1]));
    const names = (await kept(pool)).map(({ statement }) => statement);
    expect(names.length).toBe(500);
    expect(names.at(-1)).toBe('SELECT $1::int + 599 AS sum');
    expect(names).not.toContain('SELECT $1::int + 0 AS sum');
  });

  test('are planned anew for a table that has grown', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => {
      vi.useRealTimers();
    });
    const pool = await opened();
    await pool.query('CREATE TABLE grown (id int PRIMARY KEY, filler text)');
    await pool.query('VACUUM grown');
    const sql = 'SELECT id FROM grown WHERE id > 5 AND length($1::text) > 0 ORDER BY id LIMIT 1';
    await times(9, () => pool.query(sql, ['x']));
    const [statement] = (await kept(pool)).filter((one) => one.statement === sql);
    const plan = async () => {
      const { rows } = await pool.query(`EXPLAIN EXECUTE ${statement?.name}('x')`);
      return JSON.stringify(rows);
    };
    expect(await plan()).toContain('Seq Scan');
    await pool.query("INSERT INTO grown SELECT n, repeat('x', 100) FROM generate_series(1, 20000) n");
    expect(await plan()).toContain('Seq Scan');
    vi.advanceTimersByTime(10_000);
    await expect.poll(plan).toContain('Index');
  });
});
