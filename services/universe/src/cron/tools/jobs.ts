/** cron_schedule, cron_list, cron_cancel: what is to be done again and again. */
import { actorOf } from '@svc/contract/actor.ts';
import { CallError } from '@svc/contract/codes.ts';
import { DEFAULT_LIMIT, page } from '@svc/contract/params.ts';
import { familyOf } from '@svc/contract/subject.ts';
import type { Caller } from '@svc/contract/tool.ts';
import { invalidArguments } from '@svc/runtime/arguments.ts';
import { settled } from '@svc/runtime/idempotency.ts';
import { nextPage, positionOf } from '@svc/runtime/paging.ts';
import { z } from 'zod';
import { defineTool, type UniverseDeps } from '../../deps.ts';
import { actingOf } from '../../inner-calls.ts';
import { homeOf, type Standing, standingOf } from '../../standing.ts';
import { isInJob } from '../domain/run.ts';
import { MAX_INTERVAL_MS, mayBeTask, MIN_INTERVAL_MS } from '../domain/schedule.ts';
import { jobPlaceKey, type ListedJob, type NewJob, type Scheduler, type Sight, type Task } from '../job-rows.ts';
import { JobId, mayEnd, RunShown, shownRun, workspace } from './shapes.ts';

const MAX_ARGUMENT_BYTES = 16 * 1024;

const TaskInput = z.strictObject({
  tool: z.string().min(1).max(100),
  arguments: z
    .record(z.string(), z.unknown())
    .default({})
    .refine((args) => Buffer.byteLength(JSON.stringify(args)) <= MAX_ARGUMENT_BYTES, {
      message: 'must be at most 16 KiB as JSON',
    }),
});

const schedule = defineTool({
  name: 'cron_schedule',
  area: 'cron',
  description: 'Calls a tool again and again in the name of the caller, or, without a task, tells an event each time.',
  input: z.strictObject({
    id: JobId.optional().describe('Job; the one that the caller has under that id is replaced.'),
    interval: z
      .int()
      .min(MIN_INTERVAL_MS)
      .max(MAX_INTERVAL_MS)
      .default(60_000)
      .describe('Between two ticks, in ms: a second to a day.'),
    task: TaskInput.optional().describe('What is called, with the rights that the caller has then.'),
    enabled: z.boolean().default(true),
    workspace,
  }),
  output: z.strictObject({
    id: z.string(),
    scheduled: z.literal(true),
    replaced: z.boolean(),
    interval: z.int(),
    task: z.strictObject({ tool: z.string(), arguments: z.record(z.string(), z.unknown()) }).nullable(),
    nextAt: z.number().nullable().describe('Null = it is switched off.'),
    identity: z.string(),
  }),
  access: 'identified',
  effect: 'write',
  destructive: true,
  refuses: ['E_CRON_TOOL', 'E_CRON_TAKEN', 'E_QUOTA'],
  example: { id: 'beat', interval: 60_000, task: { tool: 'svc_memory_state', arguments: { key: 'k', value: 'v' } } },
  async handler({ id, interval, task: given, enabled, workspace: named }, call) {
    const { deps, caller, refuse } = call;
    if (isInJob(caller.session)) throw refuse('E_CRON_TOOL');
    const home = homeOf(caller, named);
    await assertAtHome(deps, caller, home);
    const task = given === undefined ? null : { tool: given.tool, args: given.arguments };
    if (task !== null && !mayBeTask(task)) throw refuse('E_CRON_TOOL');
    if (task !== null) await assertFits(deps, caller, home, task);
    const who = schedulerOf(caller);
    const job = { id: id ?? deps.cron.jobs.newId(), workspace: home, ...who };
    const made = await deps.cron.jobs.schedule(call, { ...job, intervalMs: interval, task, enabled });
    const { nextAt, ...scheduled } = settled(call, made);
    if (enabled) deps.cron.runner.wakeAt(nextAt);
    return {
      ...scheduled,
      scheduled: true as const,
      interval,
      task: given ?? null,
      nextAt: enabled ? nextAt : null,
      identity: who.identity,
    };
  },
});

function schedulerOf(caller: Caller): Scheduler & Pick<NewJob, 'family'> {
  const { identity: agentId, name: identity } = actorOf(caller);
  const { bound = null, profile = null } = caller.token ?? {};
  return { identity, agentId, bound, profile, family: caller.operator ? null : familyOf(caller.subject) };
}

/** Throws FORBIDDEN: a job runs for who has a role in its workspace, and for operators who are nobody. */
async function assertAtHome({ registry }: UniverseDeps, caller: Caller, home: string): Promise<void> {
  const { identity } = actorOf(caller);
  if (identity === null) return;
  const { holds } = await standingOf({ registry }, { ...caller, operator: false });
  if (!holds(home, 'viewer')) throw new CallError('FORBIDDEN', `${identity} has no role in ${home}.`);
}

/** Throws VAF_INPUT_INVALID for a tool that there is not, and for arguments that do not fit it. */
async function assertFits({ calls }: UniverseDeps, caller: Caller, home: string, task: Task): Promise<void> {
  const { session, requestId, deadlineAt } = caller;
  const acting = actingOf(caller);
  const as = acting.kind === 'identity' ? { ...acting, workspace: home } : acting;
  try {
    await calls.assertFits({ ...task, as, session, requestId, deadlineAt, hops: 1 });
  } catch (error) {
    if (!(error instanceof CallError)) throw error;
    if (error.code === 'TOOL_NOT_FOUND') throw invalidArguments([{ path: 'task.tool', message: error.message }]);
    if (error.code !== 'VAF_INPUT_INVALID') throw error;
    throw invalidArguments([{ path: 'task.arguments', message: error.message }]);
  }
}

const JobShown = z.strictObject({
  id: z.string(),
  workspace: z.string(),
  identity: z.string(),
  interval: z.int(),
  tool: z.string().nullable(),
  enabled: z.boolean(),
  nextAt: z.number().nullable(),
  runs: z.int(),
  failures: z.int(),
  missed: z.int(),
  lastRun: RunShown.nullable(),
});

const list = defineTool({
  name: 'cron_list',
  area: 'cron',
  description: 'The jobs that the caller may see, and of one of them its runs, the newest first.',
  input: z.strictObject({
    id: JobId.optional().describe('Only that job, with its runs.'),
    ...page,
    workspace: workspace.describe('Only jobs of that workspace; with an id the current one, unless it is named.'),
  }),
  output: z.strictObject({
    jobs: z.array(JobShown),
    history: z.array(RunShown).optional(),
    nextCursor: z.string().optional(),
  }),
  access: 'identified',
  effect: 'read',
  refuses: [],
  example: { id: 'beat' },
  async handler({ id, limit = DEFAULT_LIMIT, cursor, workspace: named }, { deps, caller }) {
    const { jobs } = deps.cron;
    const sight = sightOf(caller, await standingOf(deps, caller));
    if (id !== undefined) {
      const [job] = await jobs.list(sight, { workspace: homeOf(caller, named), id, after: null, limit: 1 });
      if (job === undefined) return { jobs: [], history: [] };
      return { jobs: [shownJob(job)], history: (await jobs.history(job.jobKey)).map(shownRun) };
    }
    const position = positionOf(limit, cursor);
    const wanted = { workspace: named ?? null, id: null, after: position.after, limit: limit + 1 };
    const { items, next } = nextPage(await jobs.list(sight, wanted), position, jobPlaceKey);
    return { jobs: items.map(shownJob), ...next };
  },
});

function sightOf(caller: Caller, { workspaces, holds }: Standing): Sight {
  const whole = workspaces?.filter((home) => holds(home, 'admin')) ?? null;
  return { agentId: actorOf(caller).identity, own: workspaces ?? [], whole };
}

function shownJob({ id, workspace: home, identity, intervalMs, task, enabled, nextAt, lastRun, ...counts }: ListedJob) {
  const { runs, failures, missed } = counts;
  return {
    id,
    workspace: home,
    identity,
    interval: intervalMs,
    tool: task?.tool ?? null,
    enabled,
    nextAt: enabled ? nextAt : null,
    runs,
    failures,
    missed,
    lastRun: lastRun === null ? null : shownRun(lastRun),
  };
}

const cancel = defineTool({
  name: 'cron_cancel',
  area: 'cron',
  description: 'Ends a job and forgets its runs; a run that goes on is not stopped.',
  input: z.strictObject({ id: JobId, workspace }),
  output: z.strictObject({ id: z.string(), cancelled: z.boolean().describe('False = there is none of the caller.') }),
  access: 'identified',
  effect: 'write-idempotent',
  destructive: true,
  refuses: [],
  example: { id: 'beat' },
  async handler({ id, workspace: named }, call) {
    const { deps, caller } = call;
    const standing = await standingOf(deps, caller);
    const home = homeOf(caller, named);
    const who = { name: standing.name, may: mayEnd(caller, standing, home) };
    return { id, cancelled: settled(call, await deps.cron.jobs.cancel(call, { workspace: home, id }, who)) };
  },
});

export const jobTools = [schedule, list, cancel];
