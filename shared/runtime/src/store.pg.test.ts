import { join } from 'node:path';
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import { onPostgres } from '@svc/testing/servers/on-postgres.ts';
import { platformOn } from '@svc/testing/service-bed.ts';
import { expect, test } from 'vitest';
import { callErrorFor } from './failures.ts';
import { type ChangeCall, openStore, type Unit } from './store.ts';

const MIGRATIONS = join(import.meta.dirname, '..', '..', 'testing', 'src', 'eighth', 'prisma', 'migrations');

const call = (): ChangeCall => ({
  caller: { subject: {}, operator: true, deadlineAt: Date.now() + 30_000 },
  idempotency: null,
});

await onPostgres((open) => {
  test('a crowd that waits for one thing leaves connections to those who want another', async () => {
    const database = await open();
    const store = await openStore(platformOn(database), { service: 'eighth', events: {}, migrations: MIGRATIONS });
    const gate = Promise.withResolvers<void>();
    let atWork = 0;
    let most = 0;
    const ofTheCrowd = () =>
      store.change(
        call(),
        async () => {
          atWork += 1;
          most = Math.max(most, atWork);
          await gate.promise;
          atWork -= 1;
          return allow('done');
        },
        { inTurnOf: 'the same' },
      );
    const crowd = Array.from({ length: 100 }, ofTheCrowd);
    const another = await store.change(call(), async () => allow('done'), { inTurnOf: 'another' });
    expect(another.decision).toEqual(allow('done'));
    gate.resolve();
    expect(await Promise.all(crowd)).toHaveLength(100);
    expect(most).toBe(1);
    await store.close();
    await database.close();
  });

  test('tables that are gone are a database that is away and not whole, until they are back', async () => {
    const database = await open();
    const store = await openStore(platformOn(database), { service: 'eighth', events: {}, migrations: MIGRATIONS });
    const standing = async () => (await store.checks()).filter(({ status }) => status !== 'ok').map(({ name }) => name);
    const asked = () => store.client.$queryRawUnsafe('SELECT 1 FROM eighth.idempotency').catch(callErrorFor);
    expect(await standing()).toEqual([]);
    await database.pool.query('ALTER SCHEMA eighth RENAME TO elsewhere');
    expect(await standing()).toEqual(['migrations']);
    expect(await asked()).toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    await database.pool.query('ALTER SCHEMA elsewhere RENAME TO eighth');
    expect(await asked()).toEqual([]);
    await database.pool.query('UPDATE eighth._prisma_migrations SET finished_at = NULL');
    expect(await standing()).toEqual(['migrations']);
    await database.pool.query('UPDATE eighth._prisma_migrations SET finished_at = now()');
    expect(await standing()).toEqual([]);
    await store.close();
    await database.close();
  });

  test('what goes with the commit is there when the change was made, and not when it was denied or told nonsense', async () => {
    const database = await open();
    const store = await openStore(platformOn(database), { service: 'eighth', events: {}, migrations: MIGRATIONS });
    await database.pool.query('CREATE TABLE lasting (n int PRIMARY KEY)');
    const lasting = async () => (await database.pool.query('SELECT n FROM lasting ORDER BY n')).rows;
    const insert = (n: number) => ({ sql: 'INSERT INTO lasting VALUES ($1)', values: [n] });
    const keyed = { principal: 'ann', tool: 'insert', key: 'k', argsHash: 'a' };
    const make = (n: number, decision: Decision<string, 'E_BUSY'>, more: (unit: Unit<never>) => void = () => {}) => {
      const key = n < 0 ? null : { ...keyed, key: String(n) };
      return store.change(
        { ...call(), idempotency: key },
        async (unit) => {
          unit.lastly(insert(n));
          more(unit);
          return decision;
        },
        { readsFirst: true },
      );
    };
    await make(-1, allow('done'));
    await make(1, allow('done'));
    expect(await make(1, allow('again'))).toMatchObject({ replayed: true });
    await make(-2, deny('E_BUSY'));
    await make(2, deny('E_BUSY'));
    const nonsense = (unit: Unit<never>): void => unit.emit({ name: 'not:declared', payload: {} } as never);
    await expect(make(-3, allow('done'), nonsense)).rejects.toThrow('declares no event');
    await expect(make(3, allow('done'), nonsense)).rejects.toThrow('declares no event');
    await expect(make(-1, allow('done'))).rejects.toThrow('duplicate key');
    expect(await lasting()).toEqual([{ n: -1 }, { n: 1 }]);
    await make(3, allow('now it is'));
    expect(await lasting()).toHaveLength(3);
    await store.close();
    await database.close();
  });
});
