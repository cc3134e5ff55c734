import { CallError } from '@svc/contract/codes.ts';
import { allow, deny } from '@svc/contract/decision.ts';
import { migratedDatabase } from '@svc/testing/database.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openCrewBed } from '../../testing/crew-bed.ts';
import { topicOf } from './domain/task.ts';

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
const as = (agentId: string) => ({ subject: { agentId, verified: true }, operator: false, principal: agentId });
const status = (crew: string) => bed.call('svc_scenario_status', { crew });
const UNTOUCHED = { spent: 0, pending: 0, available: 120 };

test('a note that the brain refuses undoes its task; one that it takes is for those of the crew', async () => {
  const wish = await crewOf('noteless');
  bed.takeNotes(async () => deny('E_QUOTA'));
  const refused = await bed.call('svc_scenario_task', wish);
  expect(refused).toMatchObject({ ok: false, code: 'E_STATE_WRITE', cause: 'E_QUOTA' });
  const told: unknown[] = [];
  bed.takeNotes(async ({ id, workspace }) => {
    told.push(workspace);
    return allow({ id, at: 1 });
  });
  expect(await status('noteless')).toMatchObject({ phase: 'ready', pool: UNTOUCHED, tasks: { done: 0, refused: 1 } });
  expect(await bed.call('svc_scenario_task', wish)).toMatchObject({ no: 2, pool: { spent: 60 } });
  expect(told).toEqual(['crew-noteless']);
  bed.takeNotes();
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

test("a name that meets somebody's workspace makes no crew of it, and it stays whosever it is", async () => {
  for (const userId of ['ann', 'bob']) {
    const given = { workspaceId: 'default', role: 'editor', userId };
    await bed.call('svc_habitat_addRole', given, 'habitat');
  }
  const workspaceId = 'crew-pier';
  const made = await bed.call('svc_habitat_createWorkspace', { workspaceId }, 'habitat', as('ann'));
  expect(made).toMatchObject({ created: true });
  const annsRoles = () => bed.call('svc_habitat_getUserRoles', { workspaceId, userId: 'ann' }, 'habitat');
  for (const caller of ['bob', 'ann']) {
    const refused = await bed.call('svc_scenario_crew', { name: 'pier' }, 'universe', as(caller));
    expect(refused).toMatchObject({ code: 'E_SCENARIO_SPAWN', reason: 'HABITAT_WORKSPACE_EXISTS' });
    await bed.universe.deps.crews.reconciler.finish({ alone: true });
    expect(await bed.universe.deps.crews.find('pier')).toBeNull();
    expect(await annsRoles()).toMatchObject({ roles: ['admin'] });
  }
});

test('whoever made a crew, or is one of it, and has no role left in its workspace, neither uses nor sees it', async () => {
  const changeRole = (tool: string, userId: string, role: string, workspaceId = 'crew-left') =>
    bed.call(tool, { workspaceId, userId, role }, 'habitat');
  await changeRole('svc_habitat_addRole', 'eva', 'editor', 'default');
  const { roster } = await bed.call('svc_scenario_crew', { name: 'left' }, 'universe', as('eva'));
  const member = (roster as { id: string }[])[1]?.id ?? '';
  await changeRole('svc_habitat_addRole', member, 'viewer', 'default');
  const codes = async (who: string) => {
    const over = as(who);
    const done = await bed.call('svc_scenario_task', { crew: 'left', task: 'x', cost: 1 }, 'universe', over);
    const seen = await bed.call('svc_scenario_status', { crew: 'left' }, 'universe', over);
    return [done.code, seen.code];
  };
  expect([await codes('eva'), await codes(member)]).toEqual([
    [undefined, undefined],
    [undefined, undefined],
  ]);
  await changeRole('svc_habitat_removeRole', 'eva', 'admin');
  await changeRole('svc_habitat_removeRole', member, 'editor');
  const absent = ['E_SCENARIO_ABSENT', 'E_SCENARIO_ABSENT'];
  expect([await codes('eva'), await codes(member)]).toEqual([absent, absent]);
  expect(await status('left')).toMatchObject({ pool: { spent: 2 } });
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

test('a vote whose name somebody else has is told as that, and undoes its task', async () => {
  const wish = await crewOf('squatted');
  const { crewId } = (await bed.universe.deps.crews.find('squatted')) ?? { crewId: '' };
  const vote = { options: ['soup', 'salad'], minQuorum: 1, scope: null, author: 'ann', ballots: [] };
  const topic = topicOf(crewId, 1);
  expect(await bed.votes.closeout({ ...vote, topic })).toMatchObject({ ok: true });
  const refused = await bed.call('svc_scenario_task', wish);
  expect(refused).toMatchObject({ ok: false, code: 'E_COLLISION', topic });
  expect(await status('squatted')).toMatchObject({ phase: 'ready', pool: UNTOUCHED });
});

test('a crew for whose agents the disk has no room is refused, leaves nothing, and is made once there is room', async () => {
  await database.pool.query(`CREATE FUNCTION habitat.no_room() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$`);
  await database.pool.query(
    'CREATE TRIGGER no_room BEFORE INSERT ON habitat.event_batches EXECUTE FUNCTION habitat.no_room()',
  );
  const key = { idempotencyKey: 'roomless' };
  const assemble = () => bed.call('svc_scenario_crew', { name: 'roomless' }, 'universe', key);
  try {
    expect(await assemble()).toMatchObject({ ok: false, code: 'E_STATE_WRITE', reason: 'no space' });
    expect(await status('roomless')).toMatchObject({ code: 'E_SCENARIO_ABSENT' });
  } finally {
    await database.pool.query('DROP FUNCTION habitat.no_room() CASCADE');
  }
  expect(await assemble()).toMatchObject({ ok: true, created: true, phase: 'ready' });
});

test('while the registry is silent nothing is held', async () => {
  const wish = await crewOf('silent');
  await bed.habitat.stop();
  expect(await bed.call('svc_scenario_task', wish)).toMatchObject({ ok: false, code: 'E_SCENARIO_QUARANTINED' });
  expect(await bed.universe.deps.crews.find('silent')).toMatchObject({ phase: 'quarantined', taskCount: 0 });
});
