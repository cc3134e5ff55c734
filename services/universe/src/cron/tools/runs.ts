/** cron_run: a job now, beside its schedule. */
import { setTimeout as sleep } from 'node:timers/promises';
import { MAX_DEADLINE_MS } from '@svc/contract/tool.ts';
import { settled } from '@svc/runtime/idempotency.ts';
import { z } from 'zod';
import { defineTool } from '../../deps.ts';
import { hopsAfter } from '../../inner-calls.ts';
import { homeOf, standingOf } from '../../standing.ts';
import { isInJob } from '../domain/run.ts';
import type { ShownRun } from '../run-rows.ts';
import type { RunStore } from '../run-store.ts';
import { isOwn, JobId, mayEnd, RunShown, shownRun, workspace } from './shapes.ts';

/** How often somebody who repeats a call looks whether the run of the first one is over. */
const LOOK_EVERY_MS = 100;

const run = defineTool({
  name: 'cron_run',
  area: 'cron',
  description:
    'Runs a job now, beside its schedule, with the rights of who scheduled it, and waits for what comes of it.',
  input: z.strictObject({ id: JobId, workspace }),
  output: z.strictObject({
    id: z.string(),
    run: RunShown.omit({ tick: true }).extend({
      result: z
        .unknown()
        .optional()
        .describe(
          'What the tool said, when that is at most 64 KiB; a secret is shown once, and null when the call is repeated.',
        ),
    }),
  }),
  access: 'identified',
  effect: 'write',
  destructive: true,
  deadlineMs: MAX_DEADLINE_MS,
  // The result is that of any tool.
  secrets: ['run.result'],
  refuses: ['E_CRON_TOOL', 'E_CRON_ABSENT', 'E_CRON_BUSY', 'E_LIMIT'],
  example: { id: 'beat' },
  async handler({ id, workspace: named }, call) {
    const { deps, caller, refuse, idempotency } = call;
    const { runs, runner } = deps.cron;
    if (isInJob(caller.session)) throw refuse('E_CRON_TOOL');
    const hops = hopsAfter(caller);
    if (hops === null) throw refuse('E_LIMIT');
    const standing = await standingOf(deps, caller);
    const place = { workspace: homeOf(caller, named), id };
    const who = {
      sees: mayEnd(caller, standing, place.workspace),
      runs: (agentId: string | null) => standing.operator || isOwn(caller, agentId),
    };
    const claim = await runs.claimNow({ caller, idempotency, now: call.now }, place, who);
    const claimed = settled(call, claim);
    const said = claim.replayed ? null : await runner.run(claimed, hops);
    const ended = claimed.ended ?? (await endedRun(runs, claimed.runId, caller.deadlineAt));
    if (ended === null) throw refuse('E_CRON_ABSENT');
    const isNews = claimed.ended === undefined && ended.status !== 'running';
    if (idempotency !== null && isNews) await runs.keep(idempotency, claimed, ended);
    const { tick: _tick, ...shown } = shownRun(ended);
    return { id, run: { ...shown, ...(ended.hasResult ? (said ?? { result: ended.result }) : {}) } };
  },
});

/** Somebody else may be at it, when the call is a repeated one. Null = the job was cancelled meanwhile. */
async function endedRun(runs: RunStore, runId: string, deadlineAt: number): Promise<ShownRun | null> {
  for (;;) {
    const run = await runs.read(runId);
    if (run === null || run.status !== 'running' || Date.now() >= deadlineAt) return run;
    await sleep(LOOK_EVERY_MS);
  }
}

export const runTools = [run];
