/** What is counted between nodes, read while it is written. */
import { poolClient, withPgTransaction } from '@svc/runtime/transaction.ts';
import { migratedDatabase } from '@svc/testing/database.ts';
import { expect, test } from 'vitest';
import { Traffic } from './traffic.ts';

const database = await migratedDatabase();
const client = poolClient(database.pool);

const counted = async (traffic: Traffic) => {
  const { received, accepted, rejected } = await traffic.read(client);
  return { received, accepted, stale: rejected.stale };
};

test('a count never falls while it is being written, nor when it could not be', async () => {
  const traffic = new Traffic(() => 0);
  traffic.accepted();
  traffic.drop('beta', 'stale');
  const [taken, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const writing = traffic.flush(async (work) => {
    taken.resolve();
    await release.promise;
    const nothing = () => undefined;
    await withPgTransaction(database.pool, async (tx) => work({ tx, emit: nothing, audit: nothing, lastly: nothing }));
  });
  await taken.promise;
  const during = counted(traffic);
  await client.$queryRawUnsafe('SELECT 1'); // by now, whoever reads without waiting has read
  release.resolve();
  expect(await during).toEqual({ received: 2, accepted: 1, stale: 1 });
  await writing;
  traffic.accepted();
  const fault = new Error('no database');
  await expect(traffic.flush(() => Promise.reject(fault))).rejects.toBe(fault);
  expect(await counted(traffic)).toEqual({ received: 3, accepted: 2, stale: 1 });
});
