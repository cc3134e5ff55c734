/** kill -9 while jobs run: each tick has one run at most, all ticks are accounted for, and money moves once for a run. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { Caller, type Fields } from '../client.ts';
import { createMembers, memberAt } from '../instruments/members.ts';
import { insisted } from '../instruments/persistent-calls.ts';
import type { Random } from '../instruments/random.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { CRON_KILL_ROUNDS, CRON_REPLICAS, CRON_SECONDS } from '../settings.ts';
import { killed, type ServiceProcess } from '../targets/service-process.ts';
import type { OwnTarget } from '../targets/target.ts';
import { EACH_APART, newName, ownTarget, verifies } from '../verifies.ts';

const size = CRON_REPLICAS > 2 ? { fresh: { replicas: CRON_REPLICAS } } : {};
const target = ownTarget({}, { apart: EACH_APART, ...size });
const INTERVAL_MS = 1000;
/** Nothing runs jobs for so long. */
const AWAY_MS = 10_000;

interface Run {
  readonly tick: number | null;
  readonly status: string;
  readonly at: number;
}

interface Listed {
  readonly jobs: readonly Fields[];
  readonly history: readonly Run[];
}

function victimsOf({ place, everybody, of }: OwnTarget, random: Random): readonly ServiceProcess[] {
  return place.kind === 'embedded' ? everybody : [random.pick(of('universe'))];
}

/** Kills spread over the seconds. */
async function suffer(random: Random): Promise<void> {
  for (let round = 0; round < CRON_KILL_ROUNDS; round += 1) {
    await delay((CRON_SECONDS * 1000 * (0.5 + random.int(0, 100) / 100)) / (CRON_KILL_ROUNDS + 1));
    await killed(victimsOf(target.get(), random));
    for (const one of target.get().gateways) await one.ready();
  }
}

/** Each tick up to the latest was run, skipped or missed, and none of them twice. */
async function accounted(who: Caller, at: Fields): Promise<readonly Run[]> {
  return waitFor(
    async () => {
      const { jobs, history } = (await insisted(who, 'cron_list', at)) as unknown as Listed;
      const ticks = history.flatMap(({ tick }) => tick ?? []);
      expect(new Set(ticks).size).toBe(ticks.length);
      // A tick between the two things that the list tells is told by the next one.
      return ticks.length + Number(jobs[0]?.['missed']) === Math.max(...ticks) ? history : null;
    },
    { what: `the ticks of ${String(at['id'])} to be accounted for`, everyMs: 200 },
  );
}

/** How long after a kill the job is run again, whoever had it in hand. */
async function resumedAfter(who: Caller, at: Fields, killedAt: number): Promise<number> {
  return waitFor(
    async () => {
      const { history } = (await insisted(who, 'cron_list', at)) as unknown as Listed;
      const again = history.findLast((run) => run.status === 'ok' && run.at > killedAt);
      return again === undefined ? null : again.at - killedAt;
    },
    { what: `${String(at['id'])} to be run again`, everyMs: 200 },
  );
}

async function spentIn(who: Caller, workspaceId: string): Promise<number> {
  const { pool } = await insisted(who, 'escrow_getWorkspacePool', { workspaceId });
  return Number((pool as Fields)['spent']);
}

const isRun = ({ status }: Run): boolean => status !== 'skipped';

verifies(
  'cron:missed',
  async ({ place, report }) => {
    const home = await createMembers(place, 'admin');
    const { caller: ann } = memberAt(home, 0);
    const at = { id: newName('beat'), workspace: home.workspace };
    const { nextAt } = await insisted(ann, 'cron_schedule', { ...at, interval: INTERVAL_MS });
    await waitFor(async () => (await accounted(ann, at)).length > 0, { what: 'the first tick' });
    const { everybody, of } = target.get();
    const all = place.kind === 'embedded' ? everybody : of('universe');
    await Promise.all(all.map((one) => one.kill()));
    const endedAt = Date.now();
    await delay(AWAY_MS);
    const begunAt = Date.now();
    await Promise.all(all.map((one) => one.start()));
    await target.get().whole();
    await resumedAfter(ann, at, begunAt);
    const history = await accounted(ann, at);
    const dueAt = (tick: number): number => Number(nextAt) + (tick - 1) * INTERVAL_MS;
    const isOfTheTimeBetween = ({ tick }: Run): boolean =>
      tick !== null && dueAt(tick) > endedAt && dueAt(tick) < begunAt;
    const late = history.filter(isOfTheTimeBetween).length;
    const { jobs } = (await insisted(ann, 'cron_list', at)) as unknown as Listed;
    const missed = Number(jobs[0]?.['missed']);
    await insisted(new Caller(place), 'cron_cancel', at);
    report(`jobs: away for ${(begunAt - endedAt) / 1000} s: ${missed} ticks missed, ${late} of that time run after it`);
    expect(late).toBeLessThanOrEqual(1);
    expect(missed + late).toBeGreaterThanOrEqual(Math.floor((begunAt - endedAt) / INTERVAL_MS));
    expect(history.filter(({ at: ranAt }) => ranAt > endedAt && ranAt < begunAt)).toEqual([]);
  },
  { on: target },
);

verifies(
  'cron:killed',
  async ({ place, random, report }) => {
    const operator = new Caller(place);
    const home = await createMembers(place, 'admin');
    const { workspace } = home;
    const { id: admin, caller: ann } = memberAt(home, 0);
    await insisted(operator, 'escrow_setWorkspaceBudget', { workspaceId: workspace, amount: 1000, adminId: admin });
    const [beat, pay] = [newName('beat'), newName('pay')].map((id) => ({ id, workspace }));
    const task = { tool: 'escrow_workspaceRecordSpend', arguments: { workspaceId: workspace, amount: 1 } };
    const scheduledAt = performance.now();
    await insisted(ann, 'cron_schedule', { ...beat, interval: INTERVAL_MS });
    await insisted(ann, 'cron_schedule', { ...pay, interval: INTERVAL_MS, task });
    const startedAt = performance.now();
    await suffer(random);
    await target.get().whole();
    const resumedMs = await resumedAfter(ann, { ...pay }, Date.now());
    await delay(Math.max(0, CRON_SECONDS * 1000 - (performance.now() - startedAt)));
    const seconds = (performance.now() - startedAt) / 1000;
    const beats = (await accounted(ann, { ...beat })).filter(isRun);
    const lasted = (performance.now() - scheduledAt) / 1000;
    const paidAtLeast = (await accounted(ann, { ...pay })).filter(({ status }) => status === 'ok').length;
    const spent = await spentIn(operator, workspace);
    const pays = (await accounted(ann, { ...pay })).filter(isRun);
    for (const at of [beat, pay]) await insisted(operator, 'cron_cancel', { ...at });
    const lost = pays.filter(({ status }) => status === 'lost').length;
    const figures = `${beats.length} heartbeats, ${pays.length} payments, ${lost} of them lost, ${spent} spent`;
    const resumed = `paying again ${(resumedMs / 1000).toFixed(1)} s after the last kill`;
    report(`jobs: ${CRON_KILL_ROUNDS} kills in ${seconds.toFixed(1)} s: ${figures}, ${resumed}`);
    expect(paidAtLeast).toBeGreaterThan(0);
    expect(spent).toBeGreaterThanOrEqual(paidAtLeast);
    expect(spent).toBeLessThanOrEqual(pays.length);
    expect(beats.length).toBeLessThanOrEqual(Math.ceil(lasted) + 1);
    // Short runs on a machine that is full may be over before the first process is back.
    const isLong = CRON_SECONDS >= 60 && place.kind === 'cluster';
    expect(beats.length).toBeGreaterThanOrEqual(isLong ? Math.floor(seconds) - 2 : 1);
  },
  { on: target, timeoutMs: 600_000 },
);
