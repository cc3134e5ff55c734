/**
 * Makes due ticks happen. Whoever claims a tick in the database runs it; who is woken only looks what is due, so that it does
 * no harm when many look at once, or when nobody does for a while.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { CallError } from '@svc/contract/codes.ts';
import type { HABITAT } from '@svc/contract/operations.habitat.ts';
import type { ActingAs } from '@svc/contract/operations.gateway.ts';
import { MAX_DEADLINE_MS } from '@svc/contract/tool.ts';
import type { JobDeclaration } from '@svc/runtime/jobs.ts';
import type { OperationClient } from '@svc/runtime/operations.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import type { InnerCalls } from '../inner-calls.ts';
import { endOf, heartbeatEnd, LOST, RAN, type RunEnd, sessionOfJob } from './domain/run.ts';
import { type DueJob, type JobRow, jobPlaceKey, type Scheduler } from './job-rows.ts';
import { createPlaces } from '../slots.ts';
import type { Presence } from './presence.ts';
import type { ClaimedRun, RunStore } from './run-store.ts';

export interface CronRunner {
  readonly jobs: readonly JobDeclaration[];
  /** Looks again when that tick is due. */
  wakeAt(nextAt: number): void;
  /**
   * Makes a claimed run; resolves when it is over, with what its tool said, secrets too; null = nothing, or too much. Its call is
   * so many calls inside of others.
   */
  run(claimed: ClaimedRun, hops: number): Promise<Said | null>;
  /** Begins nothing more, and lets what runs end; what does not is lost. */
  drain(): Promise<void>;
}

interface Said {
  readonly result: unknown;
}

export interface RunnerParts {
  readonly platform: Pick<Platform, 'jobs' | 'clock' | 'log'>;
  readonly runs: RunStore;
  readonly calls: InnerCalls;
  readonly registry: Pick<OperationClient<typeof HABITAT, 'universe'>, 'context'>;
  /** Null = there is no other process. */
  readonly presence: Presence | null;
}

const LOOK = 'universe.cron-look';
const LOOK_EVERY_MS = 1000;
const ALIVE_EVERY_MS = 1000;
const LOSE_EVERY_MS = 10_000;
const ANEW_EVERY_MS = 10_000;
const LOSE_FORSAKEN_EVERY_MS = 1000;
/** Looked at together. */
const AT_ONCE = 50;
/** After this long the rest is left to the next look. */
const LOOK_WITHIN_MS = 20_000;
/** Runs that one process makes at a time; another one, or a later look, has the rest. */
const MOST_IN_HAND = 100;
/** Of them; what more of its jobs are due waits, and keeps nobody else's waiting. */
const MOST_OF_FAMILY = 25;
const DRAIN_MS = 10_000;
/** While the database does not take what came of a run. */
const RETRY_MS = 1000;
const RETRIES = 60;
/** Of results that are kept for whoever asked for a run. */
const MOST_RESULT_BYTES = 65_536;

export function createCronRunner(parts: RunnerParts): CronRunner {
  const { platform, runs, presence } = parts;
  const inHand = new Map<string, Promise<unknown>>();
  let isDraining = false;

  function run(claimed: ClaimedRun, hops: number): Promise<Said | null> {
    const running = made(parts, claimed, hops).finally(() => inHand.delete(claimed.runId));
    inHand.set(claimed.runId, running);
    return running;
  }

  const begin = beginning(parts, (claimed) => run(claimed, 1));
  const tell = (err: unknown): void => platform.log.error({ err }, 'a tick of a job could not be begun');

  /** Each that is due once: those that cannot be begun, however many, hide no others, and wait for the next look. */
  async function look(): Promise<void> {
    const endsAt = platform.clock.now() + LOOK_WITHIN_MS;
    let due: DueJob[] = [];
    do {
      if (isDraining) return;
      due = await readDue(parts, due.at(-1) ?? null, inHand.size);
      await Promise.all(due.map((job) => begin(job).catch(tell)));
    } while (due.length === AT_ONCE && platform.clock.now() < endsAt);
    const nextAt = await runs.nextDue();
    if (nextAt !== null) await platform.jobs.wake(LOOK, nextAt);
  }

  return {
    run,
    jobs: [
      { id: LOOK, everyMs: LOOK_EVERY_MS, scope: 'cluster', run: look },
      ...sweeps(runs),
      ...(presence === null ? [] : presenceJobs({ runs, presence, inHand })),
    ],
    wakeAt: (nextAt) => void platform.jobs.wake(LOOK, nextAt),
    async drain() {
      isDraining = true;
      try {
        await within(DRAIN_MS, inHand.values());
        for (const runId of inHand.keys()) await runs.end(runId, LOST);
      } finally {
        presence?.close();
      }
    },
  };
}

/** Resolves when the job has begun, or has to wait for others of its family. */
function beginning(parts: RunnerParts, run: (claimed: ClaimedRun) => Promise<unknown>) {
  const { runs } = parts;
  const families = createPlaces(MOST_OF_FAMILY);
  return async (job: DueJob): Promise<void> => {
    if (job.isHeartbeat) return runs.tick(job.jobKey, await heartbeat(parts, job));
    const { family } = job;
    if (families.isFull(family)) return;
    families.add(family, 1);
    const leave = (): void => families.add(family, -1);
    try {
      const claimed = await runs.claim(job.jobKey);
      if (claimed === null) leave();
      else void run(claimed).finally(leave);
    } catch (error) {
      leave();
      throw error;
    }
  };
}

/** While the doors are not there, the ticks of jobs that call something wait, and are missed. */
async function readDue({ runs, calls }: RunnerParts, after: DueJob | null, inHand: number): Promise<DueJob[]> {
  const page = { after, limit: AT_ONCE };
  const due = await runs.due({ ...page, heartbeatsAlone: false });
  if (due.every(({ isHeartbeat }) => isHeartbeat)) return due;
  const mayCall = inHand < MOST_IN_HAND && (await calls.isReady());
  return mayCall ? due : runs.due({ ...page, heartbeatsAlone: true });
}

interface Presented {
  readonly runs: RunStore;
  readonly presence: Presence;
  readonly inHand: ReadonlyMap<string, unknown>;
}

/** What is in hand is said to be, and what is in the hands of processes that are gone is lost. */
function presenceJobs({ runs, presence, inHand }: Presented): JobDeclaration[] {
  const alive = async (): Promise<void> => {
    if (inHand.size > 0) await runs.touch([...inHand.keys()]);
    await presence.assert();
  };
  const lose = () => runs.loseForsaken(presence);
  return [
    { id: 'universe.cron-alive', everyMs: ALIVE_EVERY_MS, scope: 'process', run: alive },
    { id: 'universe.cron-forsaken', everyMs: LOSE_FORSAKEN_EVERY_MS, scope: 'cluster', run: lose },
  ];
}

function sweeps(runs: RunStore): JobDeclaration[] {
  return [
    { id: 'universe.cron-anew', everyMs: ANEW_EVERY_MS, scope: 'cluster', run: () => runs.countAnew() },
    { id: 'universe.cron-lost', everyMs: LOSE_EVERY_MS, scope: 'cluster', run: () => runs.loseSilent() },
  ];
}

/** Resolves when all are over, or the time is. */
async function within(ms: number, works: Iterable<Promise<unknown>>): Promise<void> {
  const patience = new AbortController();
  const over = sleep(ms, undefined, patience).catch(() => undefined);
  await Promise.race([Promise.all(works), over]);
  patience.abort();
}

/** Whether who made the job may still act where it is at home. Throws when the registry does not answer. */
async function heartbeat(
  { registry }: Pick<RunnerParts, 'registry'>,
  { agentId, workspace }: Pick<DueJob, 'agentId' | 'workspace'>,
): Promise<RunEnd> {
  if (agentId === null) return RAN;
  return heartbeatEnd(await registry.context({ agentId, workspace }), workspace);
}

interface Made {
  readonly how: RunEnd;
  /** For whoever asked for the run and waits for it. */
  readonly said: Said | null;
  /** JSON text, for whoever asks for it again. */
  readonly kept: string | null;
}

async function made(parts: RunnerParts, claimed: ClaimedRun, hops: number): Promise<Said | null> {
  const { platform, runs } = parts;
  const { how, said, kept } = await outcomeOf(parts, claimed, hops);
  for (let retry = 0; ; retry += 1) {
    try {
      await runs.end(claimed.runId, how, kept);
      return said;
    } catch (error) {
      if (retry >= RETRIES) {
        platform.log.error({ err: error, runId: claimed.runId }, 'the end of a run could not be written down');
        return null;
      }
      await sleep(RETRY_MS);
    }
  }
}

async function outcomeOf(parts: RunnerParts, { runId, tick, job }: ClaimedRun, hops: number): Promise<Made> {
  const { calls, platform } = parts;
  if (job.task === null) return { how: await heartbeatNow(parts, job), said: null, kept: null };
  const name = jobPlaceKey(job);
  const outcome = await calls.make({
    ...job.task,
    as: actingFor(job, job.workspace),
    session: sessionOfJob(job.jobKey),
    requestId: runId,
    hops,
    key: `cron:${name}:${job.anchorAt}:${tick ?? runId}`,
    mostBytes: tick === null ? MOST_RESULT_BYTES : 0,
    deadlineAt: platform.clock.now() + MAX_DEADLINE_MS,
  });
  const how = endOf(outcome);
  if (tick !== null || !outcome.ok || outcome.bytes > MOST_RESULT_BYTES) return { how, said: null, kept: null };
  return { how, said: { result: outcome.result }, kept: JSON.stringify(outcome.kept) };
}

async function heartbeatNow(parts: RunnerParts, job: JobRow): Promise<RunEnd> {
  try {
    return await heartbeat(parts, job);
  } catch (error) {
    if (error instanceof CallError) return endOf({ ok: false, code: error.code, error: error.message });
    throw error;
  }
}

function actingFor({ agentId, bound, profile }: Scheduler, workspace: string): ActingAs {
  if (agentId === null) return { kind: 'operator', agentId: null };
  return { kind: 'identity', id: agentId, workspace, limits: { bound, profile, readOnly: false } };
}
