/** What every way of running a transaction promises, on every database. */
import { randomBytes } from 'node:crypto';
import type { CallError } from '@svc/contract/codes.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import type { PgTransactionOptions } from '@svc/runtime/transaction.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

interface TransactionSetup {
  transact<Result>(work: (tx: SqlClient) => Promise<Result>, options?: PgTransactionOptions): Promise<Result>;
  close(): Promise<void>;
}

const CONFLICT = `DO $$ BEGIN RAISE EXCEPTION 'conflict' USING ERRCODE = '40001'; END $$`;

export function describeTransactions(name: string, open: () => Promise<TransactionSetup>): void {
  describe(`transactions: ${name}`, () => {
    const table = `t_${randomBytes(4).toString('hex')}`;
    let setup: TransactionSetup;
    const insert = (tx: SqlClient, id: string, amount = 0) =>
      tx.$executeRawUnsafe(`INSERT INTO ${table} (id, amount) VALUES ($1, $2)`, id, amount);
    const amounts = (id: string) =>
      setup.transact((tx) => tx.$queryRawUnsafe<{ amount: number }[]>(`SELECT amount FROM ${table} WHERE id = $1`, id));

    beforeAll(async () => {
      setup = await open();
      await setup.transact((tx) =>
        tx.$executeRawUnsafe(`CREATE TABLE ${table} (id text PRIMARY KEY, amount int NOT NULL)`),
      );
    });
    afterAll(() => setup.close());

    test('commits and answers what the work answers', async () => {
      await expect(setup.transact((tx) => insert(tx, 'kept', 7))).resolves.toBe(1);
      await expect(amounts('kept')).resolves.toEqual([{ amount: 7 }]);
    });

    test('rolls back when the work fails, and passes its error on', async () => {
      const failure = new Error('no');
      const failed = setup.transact(async (tx) => {
        await insert(tx, 'undone');
        throw failure;
      });
      await expect(failed).rejects.toBe(failure);
      await expect(amounts('undone')).resolves.toEqual([]);
    });

    test('tells the first failure of statements that go out together, however late who sent it hears of it', async () => {
      const failed = setup.transact(async (tx) => {
        const first = tx.$queryRawUnsafe('SELECT 1/0').catch(async (error: unknown) => {
          await new Promise(setImmediate);
          throw error;
        });
        await Promise.all([first, tx.$queryRawUnsafe('SELECT 1')]);
      });
      await expect(failed).rejects.toMatchObject({ code: '22012' });
    });

    test('does not report success when an error was swallowed and all was rolled back', async () => {
      await setup.transact((tx) => insert(tx, 'twice'));
      const swallowed = setup.transact(async (tx) => {
        await insert(tx, 'lost');
        await insert(tx, 'twice').catch(() => 0);
      });
      await expect(swallowed).rejects.toThrow();
      await expect(amounts('lost')).resolves.toEqual([]);
    });

    test('runs again after a conflict', async () => {
      let attempts = 0;
      await setup.transact(async (tx) => {
        attempts += 1;
        await insert(tx, 'again');
        if (attempts < 3) await tx.$executeRawUnsafe(CONFLICT);
      });
      expect(attempts).toBe(3);
      await expect(amounts('again')).resolves.toHaveLength(1);
    });

    test('gives up as busy after five retries', async () => {
      let attempts = 0;
      const failed = setup.transact(async (tx) => {
        attempts += 1;
        await tx.$executeRawUnsafe(CONFLICT);
      });
      await expect(failed).rejects.toMatchObject({ code: 'E_BUSY' });
      expect(attempts).toBe(6);
    });

    test('last statements go with the commit, in their order and in every attempt, and stop it when one fails', async () => {
      let attempts = 0;
      const told: (readonly unknown[])[] = [];
      const committed = (rows: readonly unknown[]): void => void told.push(rows);
      const raise = `UPDATE ${table} SET amount = amount + 1 WHERE id = $1 RETURNING amount`;
      await setup.transact((tx) => insert(tx, 'last', 1), {
        last() {
          attempts += 1;
          const second = attempts === 1 ? { sql: CONFLICT, values: [] } : { sql: raise, values: ['last'], committed };
          return [{ sql: raise, values: ['last'] }, second];
        },
      });
      expect([attempts, told]).toEqual([2, [[{ amount: 3 }]]]);
      await expect(amounts('last')).resolves.toEqual([{ amount: 3 }]);
      const again = { sql: `INSERT INTO ${table} (id, amount) VALUES ($1, 0)`, values: ['last'], committed };
      const failed = setup.transact((tx) => insert(tx, 'stopped'), { last: () => [again] });
      await expect(failed).rejects.toThrow('duplicate key');
      expect(told).toHaveLength(1);
      await expect(amounts('stopped')).resolves.toEqual([]);
      const speechless = (): never => {
        throw new Error('there is no last statement');
      };
      await expect(setup.transact((tx) => insert(tx, 'speechless'), { last: speechless })).rejects.toThrow('no last');
      await expect(amounts('speechless')).resolves.toEqual([]);
    });

    test('commits what was sent without being waited for, and nothing when one of those fails', async () => {
      let sent: Promise<unknown>[] = [];
      const send = (tx: SqlClient, id: string): void => {
        sent.push(insert(tx, id));
        for (const one of sent) one.catch(() => {});
      };
      await setup.transact(async (tx) => send(tx, 'sent'), { sent: () => sent });
      await expect(amounts('sent')).resolves.toHaveLength(1);
      for (const isHeardOfBefore of [false, true]) {
        sent = [];
        const failed = setup.transact(
          async (tx) => {
            send(tx, 'unsent');
            send(tx, 'sent');
            if (isHeardOfBefore) await Promise.allSettled(sent);
          },
          { sent: () => sent },
        );
        await expect(failed).rejects.toThrow('duplicate key');
        await expect(amounts('unsent')).resolves.toEqual([]);
      }
    });

    test('starts nothing after the deadline', async () => {
      const late = setup.transact((tx) => insert(tx, 'late'), { deadlineAt: 1000, clock: { now: () => 1001 } });
      await expect(late).rejects.toMatchObject({ code: 'TIMEOUT' });
      await expect(amounts('late')).resolves.toEqual([]);
    });

    test('ends work that outlives the deadline, and undoes it', async () => {
      const slow = setup.transact(
        async (tx) => {
          await insert(tx, 'slow');
          await new Promise((resolve) => setTimeout(resolve, 400));
        },
        { deadlineAt: 1100, clock: { now: () => 1000 } },
      );
      await expect(slow).rejects.toMatchObject({ code: 'E_BUSY' });
      await expect(amounts('slow')).resolves.toEqual([]);
    });

    test('serializable read-modify-write of one row by many loses no update', async () => {
      await setup.transact((tx) => insert(tx, 'sum'));
      const increment = async (tx: SqlClient) => {
        const [row] = await tx.$queryRawUnsafe<{ amount: number }[]>(`SELECT amount FROM ${table} WHERE id = 'sum'`);
        await tx.$executeRawUnsafe(`UPDATE ${table} SET amount = $1 WHERE id = 'sum'`, (row?.amount ?? 0) + 1);
      };
      const runs = Array.from({ length: 12 }, () => setup.transact(increment, { isolation: 'Serializable' }));
      const results = await Promise.allSettled(runs);
      for (const result of results) {
        if (result.status === 'rejected') expect((result.reason as CallError).code).toBe('E_BUSY');
      }
      const done = results.filter(({ status }) => status === 'fulfilled').length;
      expect(done).toBeGreaterThan(1);
      await expect(amounts('sum')).resolves.toEqual([{ amount: done }]);
    });

    test('rows have the same JavaScript types everywhere', async () => {
      const [row] = await setup.transact((tx) =>
        tx.$queryRawUnsafe<Record<string, unknown>[]>(
          `SELECT 9007199254740993::int8 AS big, 7::int4 AS small, true AS yes, '{"a":[1]}'::jsonb AS json,
                  '2026-01-02T03:04:05.678+02'::timestamptz AS moment, '\\x0102'::bytea AS bytes, null AS nothing`,
        ),
      );
      expect(row).toMatchObject({ big: 9007199254740993n, small: 7, yes: true, json: { a: [1] }, nothing: null });
      expect(row?.['moment']).toEqual(new Date('2026-01-02T01:04:05.678Z'));
      expect(Buffer.from(row?.['bytes'] as Uint8Array)).toEqual(Buffer.from([1, 2]));
    });

    test('values go in as they come out', async () => {
      const moment = new Date('2026-07-08T09:10:11.123Z');
      const [row] = await setup.transact((tx) =>
        tx.$queryRawUnsafe<Record<string, unknown>[]>(
          'SELECT $1::int8 AS big, $2::timestamptz AS moment, $3::jsonb AS json, $4::text[] AS list, $5::text AS nothing',
          9007199254740993n,
          moment,
          { a: 1 },
          ['x', 'y'],
          null,
        ),
      );
      expect(row).toEqual({ big: 9007199254740993n, moment, json: { a: 1 }, list: ['x', 'y'], nothing: null });
    });
  });
}
