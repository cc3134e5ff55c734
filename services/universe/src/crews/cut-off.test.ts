/**
 * A task of a crew that is cut off at each of its steps: it was noted and paid, or neither, and nothing stays held; also when
 * what was cut off goes on after others have settled it.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Fields } from '@svc/testing/service-bed.ts';
import { migratedDatabase } from '@svc/testing/database.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openCrewBed } from '../../testing/crew-bed.ts';
import { createCutBus, MOMENTS, type Moment } from '../../testing/cut-bus.ts';

const STEPS = ['agentStates', 'balance', 'hold', 'agentStates', 'closeout', 'noteResolution', 'capture', 'balance'];
const STEPS_OF_REFUSED = ['agentStates', 'balance', 'hold', 'agentStates', 'void'];
const COST = 60;

const database = await migratedDatabase();
const dataDir = mkdtempSync(join(tmpdir(), 'crews-'));
const cutting = createCutBus([...STEPS, ...STEPS_OF_REFUSED]);
let bed: Awaited<ReturnType<typeof openCrewBed>>;

beforeAll(async () => {
  bed = await openCrewBed(database, { bus: cutting.bus, dataDir });
});
afterAll(async () => {
  await bed.stop();
  await database.close();
  rmSync(dataDir, { recursive: true, force: true });
});

const cuts = (steps: readonly string[]) =>
  steps.flatMap((step, index) => MOMENTS.map((moment) => ({ step, index, moment })));
const task = (crew: string) => bed.call('svc_scenario_task', { crew, task: 'x' });
const settle = () => bed.universe.deps.crews.reconciler.finish({ alone: true });

async function crewOf(crew: string): Promise<Fields[]> {
  return (await bed.call('svc_scenario_crew', { name: crew }))['roster'] as Fields[];
}

/** How often it was noted and paid; all else that is left of it is as it was before. */
async function doneOf(crew: string, roster: readonly Fields[]): Promise<number> {
  const { pool, tasks } = await bed.call('svc_scenario_status', { crew });
  const { deltas } = await bed.call('svc_resolution_list', { file: `scenario/${crew}` }, 'brain');
  const { done } = tasks as { done: number };
  expect(deltas).toHaveLength(done);
  expect(pool).toMatchObject({ spent: done * COST, pending: 0, available: 120 - done * COST });
  for (const { id } of roster) {
    expect(await bed.call('stream_info', { stream: `agent:${String(id)}` })).toMatchObject({ pending: 0, working: 0 });
  }
  return done;
}

/** Cut off there, settled by whoever comes next, then let go. */
async function cutOff(crew: string, index: number, moment: Moment): Promise<number> {
  const roster = await crewOf(crew);
  const cut = cutting.cutAt(index, moment);
  const cutOne = task(crew).catch((error: unknown) => error);
  await cut.reached;
  await settle();
  const done = await doneOf(crew, roster);
  cut.letGo();
  await cutOne;
  await settle();
  const doneAfter = await doneOf(crew, roster);
  // What had not begun begins only when it is let go.
  expect(doneAfter).toBe(index < STEPS.indexOf('hold') ? 1 : done);
  expect(await task(crew)).toMatchObject({ ok: true, pool: { spent: (doneAfter + 1) * COST } });
  return doneAfter;
}

describe('a task that is cut off', () => {
  test('has these steps', async () => {
    await crewOf('whole');
    expect(await cutting.askedDuring(() => task('whole'))).toEqual(STEPS);
  });

  test.each(cuts(STEPS))('where $step is $moment ($index) is done whole or not at all', async ({ index, moment }) => {
    const done = await cutOff(`cut-${index}-${moment}`, index, moment);
    if (index > STEPS.indexOf('closeout')) expect(done).toBe(1);
  });
});

test('a task that was cut off before the clock was set back is settled, not left until the clock is there again', async () => {
  const roster = await crewOf('ahead');
  const cut = cutting.cutAt(STEPS.indexOf('capture'), 'unasked');
  const cutOne = task('ahead').catch((error: unknown) => error);
  await cut.reached;
  const { rowCount } = await database.pool.query(
    "UPDATE universe.crew_tasks SET tried_at = tried_at + interval '1 hour' WHERE closed_at IS NULL",
  );
  expect(rowCount).toBe(1);
  try {
    await settle();
    expect(await doneOf('ahead', roster)).toBe(1);
  } finally {
    cut.letGo();
    await cutOne;
  }
});

describe('a task that is asked for again under its key, before the first has begun', () => {
  test.each(cuts(STEPS).filter(({ index }) => index < STEPS.indexOf('hold')))(
    'where $step is $moment ($index), is done once, and both hear of it',
    async ({ index, moment }) => {
      const crew = `again-${index}-${moment}`;
      const roster = await crewOf(crew);
      const keyed = () => bed.call('svc_scenario_task', { crew, task: 'x' }, 'universe', { idempotencyKey: crew });
      const cut = cutting.cutAt(index, moment);
      const first = keyed();
      await cut.reached;
      const second = await keyed();
      cut.letGo();
      expect(await first).toMatchObject({ ok: true, taskId: second['taskId'] });
      expect(await doneOf(crew, roster)).toBe(1);
    },
  );
});

describe('a task that its crew refuses', () => {
  async function halfCrew(crew: string): Promise<Fields[]> {
    const roster = await crewOf(crew);
    for (const { id } of roster.slice(1)) await bed.call('agent_kill', { id }, 'habitat');
    return roster.slice(0, 1);
  }

  test('has these steps', async () => {
    await halfCrew('half');
    expect(await cutting.askedDuring(() => task('half'))).toEqual(STEPS_OF_REFUSED);
  });

  test.each(cuts(STEPS_OF_REFUSED))('and is cut off where $step is $moment ($index) costs nothing', async (at) => {
    const crew = `half-${at.index}-${at.moment}`;
    const roster = await halfCrew(crew);
    const cut = cutting.cutAt(at.index, at.moment);
    const cutOne = task(crew).catch((error: unknown) => error);
    await cut.reached;
    await settle();
    expect(await doneOf(crew, roster)).toBe(0);
    cut.letGo();
    await cutOne;
    await settle();
    expect(await doneOf(crew, roster)).toBe(0);
  });
});
