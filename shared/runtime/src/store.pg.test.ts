import { join } from 'node:path';
import { allow } from '@svc/contract/decision.ts';
import { onPostgres } from '@svc/testing/servers/on-postgres.ts';
import { platformOn } from '@svc/testing/service-bed.ts';
import { expect, test } from 'vitest';
import { type ChangeCall, openStore } from './store.ts';

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
});
