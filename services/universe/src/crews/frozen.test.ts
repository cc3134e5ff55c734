/** Crews whose pool the ledger has frozen. */
import { allow } from '@svc/contract/decision.ts';
import { poolClient } from '@svc/runtime/transaction.ts';
import { migratedDatabase } from '@svc/testing/database.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openCrewBed } from '../../testing/crew-bed.ts';

const database = await migratedDatabase();
const client = poolClient(database.pool);
let bed: Awaited<ReturnType<typeof openCrewBed>>;

beforeAll(async () => {
  bed = await openCrewBed(database);
});
afterAll(async () => {
  await bed.stop();
  await database.close();
});

const freeze = (crew: string, at: 'now()' | 'NULL') =>
  client.$executeRawUnsafe(
    `UPDATE escrow.accounts SET frozen_at = ${at}, frozen_for = 'test' WHERE account_id = 'crew:${crew}'`,
  );

test('a task says why its price is not held though the pool bears it', async () => {
  await bed.call('svc_scenario_crew', { name: 'ice' });
  const task = { crew: 'ice', task: 'x' };
  await freeze('ice', 'now()');
  const refused = { code: 'E_SCENARIO_BUDGET', available: 120, cause: 'E_LEDGER_FROZEN' };
  expect(await bed.call('svc_scenario_task', task)).toMatchObject(refused);
  await freeze('ice', 'NULL');
  expect(await bed.call('svc_scenario_task', task)).toMatchObject({ ok: true, pool: { spent: 60, pending: 0 } });
});

test('a task that the pool bears no more when it is to be paid waits, and is paid once when it does', async () => {
  await bed.call('svc_scenario_crew', { name: 'frost' });
  bed.takeNotes(async ({ id }) => {
    await freeze('frost', 'now()');
    return allow({ id, at: 1 });
  });
  await expect(bed.call('svc_scenario_task', { crew: 'frost', task: 'x' })).rejects.toThrow('E_OUTCOME_UNKNOWN');
  bed.takeNotes();
  await freeze('frost', 'NULL');
  for (let time = 0; time < 2; time += 1) await bed.universe.deps.crews.reconciler.finish({ alone: true });
  expect(await bed.call('svc_scenario_status', { crew: 'frost' })).toMatchObject({
    tasks: { done: 1, refused: 0 },
    pool: { spent: 60, pending: 0, available: 60 },
  });
});
