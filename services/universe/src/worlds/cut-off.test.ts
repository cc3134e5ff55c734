/**
 * A resume that is cut off at each of its steps: its cells are there and paid once, or neither; also when what was cut off goes
 * on after others have settled it.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { createCutBus, MOMENTS } from '../../testing/cut-bus.ts';
import { openWorldsBed } from '../../testing/worlds-bed.ts';

const DEMO = 'a36ae85d1e6e551413281bbf93a515f5c8048055360a656c026081a007c1a636';
const CELL = 'universe/worlds/demo-29ea5330/cell-0.json';
const PRICE = 5;
const STEPS = ['readFiles', 'holdLease', 'readFiles', 'open', 'debit', 'writeFiles', 'giveBackLease'];

const cutting = createCutBus(STEPS);
const bed = await openWorldsBed({}, { bus: cutting.bus, jobs: cutting.jobs });
afterAll(() => bed[Symbol.asyncDispose]());

async function brainOf(brain: string): Promise<string> {
  await bed.of('brain', 'brain_push', { name: brain, create: true });
  await bed.call('svc_universe_record', { name: 'demo', brain });
  return brain;
}
/** Each brain has an actor of its own. */
const resume = (brain: string) => bed.call('svc_universe_resume', { id: DEMO, brain, actor: brain, materialize: true });

/** Restores that were finished; what is paid and written follows them. */
async function doneOf(brain: string): Promise<number> {
  const sql = 'SELECT state FROM universe.restores WHERE brain = $1';
  const { rows } = await bed.platform.database.pool.query<{ state: string }>(sql, [brain]);
  const done = rows.filter(({ state }) => state === 'done').length;
  const { budget } = await bed.of('escrow', 'escrow_status', { org: `scenario:materialize:${brain}` });
  const { spent, pending } = (budget ?? { spent: 0, pending: 0 }) as { spent: number; pending: number };
  expect({ spent, pending, states: rows }).toEqual({ spent: PRICE * done, pending: 0, states: rows });
  expect(existsSync(join(bed.dataDir, 'brains', brain, CELL))).toBe(done > 0);
  return done;
}

describe('a resume that is cut off', () => {
  test('has these steps', async () => {
    const brain = await brainOf('whole');
    expect(await cutting.askedDuring(() => resume(brain))).toEqual(STEPS);
  });

  const cuts = STEPS.flatMap((step, index) => MOMENTS.map((moment) => ({ step, index, moment })));
  test.each(cuts)('where $step is $moment ($index) is paid and written, or neither', async ({ index, moment }) => {
    const brain = await brainOf(`cut-${index}-${moment}`);
    const cut = cutting.cutAt(index, moment);
    const cutOne = resume(brain).catch((error: unknown) => error);
    await cut.reached;
    await bed.reconcile();
    const hasBegun = index >= STEPS.indexOf('open');
    expect(await doneOf(brain)).toBe(hasBegun ? 1 : 0);
    cut.letGo();
    await cutOne;
    await bed.reconcile();
    expect(await doneOf(brain)).toBe(1);
    expect(await resume(brain)).toMatchObject({ ok: true, billed: PRICE, liveRootMatch: true });
    expect(await doneOf(brain)).toBe(2);
  });
});
