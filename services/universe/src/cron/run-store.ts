/** Runs: a tick is claimed, and what came of it is written down. Rows are the truth about both. */
import { CallError } from '@svc/contract/codes.ts';
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import type { IdempotencyScope } from '@svc/contract/tool.ts';
import type { Ids } from '@svc/runtime/clock.ts';
import type { ChangeCall } from '@svc/runtime/store.ts';
import type { UniverseStore, Work } from '../universe-store.ts';
import { FORSAKEN_AFTER_MS, LOST, type RunEnd, SILENT_AFTER_MS, WITNESS_AFTER_MS } from './domain/run.ts';
import { dueTick } from './domain/schedule.ts';
import {
  changeJob,
  countAnew,
  type DuePage,
  type JobPlace,
  type JobRow,
  lockDueJob,
  lockJob,
  readDue,
  readNextDue,
} from './job-rows.ts';
import {
  bringBackRuns,
  type EndedRun,
  endRun,
  insertRun,
  isRunning,
  lockJobOfRun,
  readForsaken,
  readRun,
  readSilent,
  type ShownRun,
  touchRuns,
  type Witness,
} from './run-rows.ts';

export type RunStore = ReturnType<typeof createRunStore>;

/** A run that whoever claimed it has to make. */
export interface ClaimedRun {
  readonly runId: string;
  readonly tick: number | null;
  readonly job: JobRow;
  /** What came of it, where that is known already. */
  readonly ended?: ShownRun;
}

/** What somebody may do with the job of that agent. */
export interface Runs {
  sees(agentId: string | null): boolean;
  runs(agentId: string | null): boolean;
}

/** Nobody's call causes it, and it is never late. */
const OWN: ChangeCall = { caller: { subject: {}, operator: true, deadlineAt: Infinity }, idempotency: null };

interface Claimer {
  readonly ids: Ids;
  /** Of this process; null = there is no other. */
  readonly holder: string | null;
}

export function createRunStore({ client, change, idempotency }: UniverseStore, claimer: Claimer) {
  const end = async (runId: string, how: RunEnd, result: string | null = null): Promise<void> => {
    await change(OWN, async (unit) => allow(await ended(unit, runId, how, result)));
  };
  const lose = async (read: () => Promise<string[]>): Promise<void> => {
    for (let lost = await read(); lost.length > 0; lost = await read()) {
      for (const runId of lost) await end(runId, LOST);
    }
  };
  return {
    due: (page: DuePage) => readDue(client, page),
    nextDue: () => readNextDue(client),
    countAnew: () => countAnew(client),
    /** Null = nothing is left to be run: another process has it, or the run before is not over. */
    async claim(jobKey: string): Promise<ClaimedRun | null> {
      const { decision } = await change(OWN, async (unit) => allow(await claimTick(unit, jobKey, claimer, null)));
      return decision.ok ? decision.value : null;
    },
    /** The tick of a job that calls nothing is over as soon as it is claimed. */
    async tick(jobKey: string, how: RunEnd): Promise<void> {
      await change(OWN, async (unit) => allow(await claimTick(unit, jobKey, claimer, how)));
    },
    /** Beside the schedule. Throws FORBIDDEN for who may see the job and no more. */
    claimNow: (call: ChangeCall, place: JobPlace, who: Runs) =>
      change<ClaimedRun, 'E_CRON_ABSENT' | 'E_CRON_BUSY'>(call, (unit) => claimNow(unit, place, who, claimer)),
    end,
    /** Under the key of who claimed it, because its row goes with its job, or when later runs are too many. */
    async keep(scope: IdempotencyScope, claimed: ClaimedRun, ended: ShownRun): Promise<void> {
      const { sql, values } = idempotency.settlement([{ scope, decision: allow({ ...claimed, ended }) }]);
      await client.$executeRawUnsafe(sql, ...values);
    },
    read: (runId: string) => readRun(client, runId),
    touch: (runIds: readonly string[]) => touchRuns(client, runIds),
    /** Those that were silent for so long are lost. */
    async loseSilent(silentMs = SILENT_AFTER_MS) {
      await bringBackRuns(client);
      await lose(() => readSilent(client, silentMs));
    },
    /** Those whose process is gone are lost. */
    loseForsaken: (witness: Witness) =>
      lose(() => readForsaken(client, witness, { silentMs: FORSAKEN_AFTER_MS, thereMs: WITNESS_AFTER_MS })),
  };
}

/** `how` null = it is to be run. */
async function claimTick(
  unit: Work,
  jobKey: string,
  { ids, holder }: Claimer,
  how: RunEnd | null,
): Promise<ClaimedRun | null> {
  const { tx } = unit;
  const job = await lockDueJob(tx, jobKey);
  const due = job === null ? null : dueTick(job, job.now);
  if (job === null || due === null) return null;
  const { tick, missed } = due;
  const isBusy = await isRunning(tx, jobKey);
  const run = { runId: ids.next('run'), jobKey, anchorAt: job.anchorAt, tick, holder };
  const state = isBusy
    ? ({ status: 'skipped', code: null } as const)
    : (how ?? ({ status: 'running', code: null } as const));
  const isFirst = await insertRun(tx, { ...run, ...state });
  if (!isFirst) throw new Error('a tick that was due has a run');
  await changeJob(tx, jobKey, { runs: isBusy ? 0 : 1, missed, tick: due });
  if (isBusy) return null;
  if (how === null) return { runId: run.runId, tick, job };
  await count(unit, jobKey, how);
  tell(unit, { ...job, tick, durationMs: 0, ...how }, job.task === null);
  return null;
}

async function claimNow(
  { tx }: Work,
  place: JobPlace,
  who: Runs,
  { ids, holder }: Claimer,
): Promise<Decision<ClaimedRun, 'E_CRON_ABSENT' | 'E_CRON_BUSY'>> {
  const job = await lockJob(tx, place);
  if (job === null || !who.sees(job.agentId)) return deny('E_CRON_ABSENT');
  if (!who.runs(job.agentId)) throw new CallError('FORBIDDEN', 'A job is run by who scheduled it, or by an operator.');
  if (await isRunning(tx, job.jobKey)) return deny('E_CRON_BUSY');
  const { jobKey, anchorAt } = job;
  const runId = ids.next('run');
  await insertRun(tx, { runId, jobKey, anchorAt, tick: null, status: 'running', code: null, holder });
  await changeJob(tx, jobKey, { runs: 1 });
  return allow({ runId, tick: null, job });
}

async function ended(unit: Work, runId: string, how: RunEnd, result: string | null): Promise<void> {
  const jobKey = await lockJobOfRun(unit.tx, runId);
  const run = await endRun(unit.tx, runId, how, result);
  if (jobKey === null || run === null) return;
  await count(unit, jobKey, how);
  tell(unit, run, false);
}

async function count({ tx }: Work, jobKey: string, { status, disables }: RunEnd): Promise<void> {
  if (status !== 'ok') await changeJob(tx, jobKey, { failures: 1, disables });
}

type Told = Pick<EndedRun, 'workspace' | 'id' | 'identity' | 'tick' | 'durationMs' | 'status' | 'code'>;

function tell(
  { emit }: Work,
  { workspace, id, identity, tick, durationMs, status, code }: Told,
  isHeartbeat: boolean,
): void {
  const parties = [identity];
  if (status !== 'ok') emit({ name: 'cron:failed', workspace, payload: { id, tick, status, code, parties } });
  else if (isHeartbeat) emit({ name: 'cron:ticked', workspace, payload: { id, tick, parties } });
  else emit({ name: 'cron:ran', workspace, payload: { id, tick, durationMs: durationMs ?? 0, parties } });
}
