/** The generated client on a database: its transactions, and what becomes of them when the database goes away. */
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Database } from '@svc/runtime/database.ts';
import { migrate, migrationsOfService } from '@svc/runtime/migrations.ts';
import { inTransaction } from '@svc/runtime/transaction.ts';
import type { ServerControl } from '@svc/testing/servers/processes.ts';
import { describeTransactions } from '@svc/testing/transaction.contract.ts';
import { describe, expect, test } from 'vitest';
import { PrismaClient } from './generated/prisma/client.ts';

export function describePrisma(name: string, open: () => Promise<Database>, control?: ServerControl): void {
  async function openClient() {
    const database = await open();
    await migrate({
      pool: database.pool,
      schema: 'brain',
      migrations: migrationsOfService('brain', join(import.meta.dirname, '..', 'prisma', 'migrations')),
      log: { info() {} },
    });
    const client = new PrismaClient({ adapter: database.adapter('brain') });
    const close = async () => {
      await client.$disconnect();
      await database.close();
    };
    return { database, client, close };
  }

  describeTransactions(`${name}, Prisma`, async () => {
    const { client, close } = await openClient();
    return { transact: (work, options) => inTransaction(client, work, options), close };
  });

  describe(`Prisma client: ${name}`, { timeout: 20_000 }, () => {
    test('serves models whose types survive the way', async () => {
      const { client, close } = await openClient();
      const data = { sessionKey: 's', stack: ['a', { b: 1 }], touchedAt: new Date('2026-07-08T09:10:11.123Z') };
      const epoch = 2n ** 60n;
      await inTransaction(client, async (tx) => {
        await tx.brainOwner.create({ data: { brain: 'types', at: new Date(0), epoch } });
        await tx.brainSession.create({ data });
      });
      await expect(client.brainOwner.findUnique({ where: { brain: 'types' } })).resolves.toMatchObject({ epoch });
      await expect(client.brainSession.findMany()).resolves.toEqual([{ ...data, branches: {}, agent: null }]);
      await close();
    });
  });

  describe.skipIf(control === undefined)(`Prisma client without its database: ${name}`, { timeout: 60_000 }, () => {
    test('tells away, surely undone and unknown apart, and recovers', async () => {
      const { database, client, close } = await openClient();
      const create = (brain: string) =>
        inTransaction(client, (tx) => tx.brainOwner.create({ data: { brain, at: new Date(0) } }));
      await create('before');

      const lost = inTransaction(client, async (tx) => {
        await tx.brainOwner.create({ data: { brain: 'lost', at: new Date(0) } });
        await control?.kill();
        await tx.brainOwner.count();
      });
      await expect(lost).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
      await expect(create('down')).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
      await control?.start();
      await create('after');
      await expect(client.brainOwner.findMany({ where: { brain: { in: ['lost', 'down'] } } })).resolves.toEqual([]);

      await database.pool.query(`
        CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(10); RETURN NULL; END $$;
        CREATE CONSTRAINT TRIGGER t AFTER INSERT ON brain.brain_owners DEFERRABLE INITIALLY DEFERRED
          FOR EACH ROW EXECUTE FUNCTION wait();`);
      const unknown = expect(create('unknown')).rejects.toMatchObject({ code: 'E_OUTCOME_UNKNOWN' });
      await delay(1000);
      await control?.kill();
      await unknown;
      await control?.start();
      await close();
    });
  });
}
