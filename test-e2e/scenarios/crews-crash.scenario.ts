/** kill -9 while crews are assembled and do tasks: what was noted was paid, what was not is not, and nothing stays held. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { Caller, codeOf, type Fields } from '../client.ts';
import { budgetOf, deltasOf, makeCrew } from '../instruments/crew.ts';
import { withLedger } from '../instruments/ledger-rows.ts';
import { insisted, persisted } from '../instruments/persistent-calls.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { CREW_KILL_ROUNDS } from '../settings.ts';
import { killed, type ServiceProcess } from '../targets/service-process.ts';
import type { OwnTarget } from '../targets/target.ts';
import { EACH_APART, newName, ownTarget, verifies } from '../verifies.ts';

const target = ownTarget({}, { apart: EACH_APART });
const CREWS = 3;
const TASKS_BEFORE = 3;

interface Work {
  done: number;
  over: boolean;
}

const ROLES = ['universe', 'escrow', 'universe', 'agora', 'universe', 'brain'] as const;

function victimsOf({ place, everybody, of }: OwnTarget, round: number): readonly ServiceProcess[] {
  return place.kind === 'embedded' ? everybody : of(ROLES[round % ROLES.length] ?? 'universe');
}

async function keepWorking(who: Caller, crew: string, work: Work): Promise<void> {
  for (let count = 1; !work.over; count += 1) {
    const reply = await persisted(
      who,
      'svc_scenario_task',
      { crew, task: `task ${count}`, cost: 1 },
      { gateway: count },
    );
    expect(codeOf(reply)).toBeNull();
    work.done += 1;
  }
}

verifies(
  'crews:registry-away',
  async ({ caller }) => {
    const operator = caller();
    const { crew } = await makeCrew(operator);
    const task = { crew, task: 'x' };
    const { habitats } = target.get();
    await Promise.all(habitats.map((one) => one.stop()));
    try {
      await operator.refused('E_SCENARIO_QUARANTINED', 'svc_scenario_task', task);
    } finally {
      await Promise.all(habitats.map((one) => one.start()));
      await target.get().whole();
    }
    const holds = await withLedger(target.get(), (pool) =>
      pool.query('SELECT hold_id FROM escrow.holds WHERE hold_id LIKE $1', [`crew:${crew}:%`]),
    );
    expect(holds.rows).toEqual([]);
    expect(await budgetOf(operator, crew)).toMatchObject({ spent: 0, pending: 0, available: 120 });
    expect(await operator.ok('svc_scenario_task', task)).toMatchObject({ no: 1, phase: 'ready' });
  },
  { on: target, only: 'cluster' },
);

verifies(
  'crews:killed',
  async ({ place, random, report }) => {
    const operator = new Caller(place, { headers: { 'x-svc-timeout-ms': '5000' } });
    const names = Array.from({ length: CREWS }, () => newName('crew'));
    for (const name of names) await insisted(operator, 'svc_scenario_crew', { name, budget: 10_000 });
    const works = names.map((): Work => ({ done: 0, over: false }));
    const working = Promise.all(
      names.map((name, n) => keepWorking(operator, name, works[n] ?? { done: 0, over: true })),
    );
    const doneOf = () => works.reduce((sum, { done }) => sum + done, 0);
    for (let round = 0; round < CREW_KILL_ROUNDS; round += 1) {
      const before = doneOf();
      await waitFor(() => doneOf() >= before + TASKS_BEFORE, { what: 'tasks to be under way' });
      await delay(random.int(0, 150));
      await killed(victimsOf(target.get(), round));
      for (const one of target.get().gateways) await one.ready();
    }
    for (const work of works) work.over = true;
    await working;
    await target.get().whole();
    const unhurried = new Caller(place);
    for (const [n, crew] of names.entries()) {
      const status = await waitFor(
        async () => {
          const seen = await unhurried.ok<Fields & { pool: Fields }>('svc_scenario_status', { crew });
          return seen.phase === 'ready' && seen.pool.pending === 0 ? seen : null;
        },
        { what: `${crew} to be at rest` },
      );
      const { done } = status.tasks as { done: number };
      expect(done).toBe(works[n]?.done);
      expect(await budgetOf(unhurried, crew)).toMatchObject({ spent: done, pending: 0 });
      expect(await deltasOf(unhurried, crew)).toHaveLength(done);
    }
    report(`${CREW_KILL_ROUNDS} kills: ${doneOf()} tasks done, each noted and paid once, nothing held`);
  },
  { on: target, timeoutMs: 300_000 + CREW_KILL_ROUNDS * 20_000 },
);
