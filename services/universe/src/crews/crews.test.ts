import { CallError } from '@svc/contract/codes.ts';
import { deny } from '@svc/contract/decision.ts';
import { migratedDatabase } from '@svc/testing/database.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openCrewBed } from '../../testing/crew-bed.ts';

type Bed = Awaited<ReturnType<typeof openCrewBed>>;
const database = await migratedDatabase();
let bed: Bed;

beforeAll(async () => {
  bed = await openCrewBed(database);
});
afterAll(async () => {
  await bed.stop();
  await database.close();
});

const crewOf = async (name: string) => {
  await bed.call('svc_scenario_crew', { name });
  return { crew: name, task: 'x' };
};
const status = (crew: string) => bed.call('svc_scenario_status', { crew });
const UNTOUCHED = { spent: 0, pending: 0, available: 120 };

test('a note that the brain refuses undoes its task', async () => {
  const wish = await crewOf('noteless');
  bed.takeNotes(async () => deny('E_QUOTA'));
  const refused = await bed.call('svc_scenario_task', wish);
  expect(refused).toMatchObject({ ok: false, code: 'E_STATE_WRITE', cause: 'E_QUOTA' });
  bed.takeNotes();
  expect(await status('noteless')).toMatchObject({ phase: 'ready', pool: UNTOUCHED, tasks: { done: 0, refused: 1 } });
  expect(await bed.call('svc_scenario_task', wish)).toMatchObject({ no: 2, pool: { spent: 60 } });
});

test('a task whose vote has passed is finished by whoever comes next, and paid once', async () => {
  const wish = await crewOf('cut-off');
  bed.takeNotes(async () => {
    throw new CallError('SERVICE_UNAVAILABLE');
  });
  await expect(bed.call('svc_scenario_task', wish)).rejects.toThrow('E_OUTCOME_UNKNOWN');
  expect(await status('cut-off')).toMatchObject({ phase: 'closing', pool: { spent: 0, pending: 60 } });
  bed.takeNotes();
  for (let time = 0; time < 2; time += 1) await bed.universe.deps.crews.reconciler.finish({ alone: true });
  expect(await status('cut-off')).toMatchObject({
    phase: 'ready',
    pool: { spent: 60, pending: 0, available: 60 },
    tasks: { done: 1, refused: 0 },
  });
});

test('who waits too long for its turn is told so', async () => {
  const wish = await crewOf('busy');
  const hold = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  bed.takeNotes(async ({ id }) => {
    begun.resolve();
    await hold.promise;
    return { ok: true, value: { id, at: 1 } };
  });
  const first = bed.call('svc_scenario_task', wish);
  await begun.promise;
  const second = bed.call('svc_scenario_task', wish).catch((error: unknown) => error);
  const jumps = setInterval(() => bed.advance(1000), 20);
  const busy = await second;
  clearInterval(jumps);
  hold.resolve();
  expect(busy).toMatchObject({ message: 'E_BUSY' });
  await first.catch(() => undefined);
  bed.takeNotes();
  await bed.universe.deps.crews.reconciler.finish({ alone: true });
  expect(await status('busy')).toMatchObject({ tasks: { done: 1 }, pool: { spent: 60, pending: 0 } });
});

test('while the registry is silent nothing is held', async () => {
  const wish = await crewOf('silent');
  await bed.habitat.stop();
  expect(await bed.call('svc_scenario_task', wish)).toMatchObject({ ok: false, code: 'E_SCENARIO_QUARANTINED' });
  expect(await bed.universe.deps.crews.find('silent')).toMatchObject({ phase: 'quarantined', taskCount: 0 });
});
