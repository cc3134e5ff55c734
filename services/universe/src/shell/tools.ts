/** Programs of callers in a sandbox of the operating system, one command line each, without a shell. */
import { actorName } from '@svc/contract/actor.ts';
import { CallError } from '@svc/contract/codes.ts';
import { allow, type Decision } from '@svc/contract/decision.ts';
import { PlainText, TimestampMs } from '@svc/contract/params.ts';
import type { ToolContext } from '@svc/contract/tool.ts';
import { type Once, settled } from '@svc/runtime/idempotency.ts';
import { z } from 'zod';
import { assertPermitted, defineSandboxTool, type SandboxDeps, tenantOf, workspaceOf } from '../sandbox-deps.ts';
import { decideProgram, decideWords } from './domain/words.ts';
import { outputOf } from './following.ts';
import type { Job } from './job-store.ts';
import type { TimedShell } from './shell.ts';

const REFUSES = ['E_DISABLED', 'E_SHELL_DENIED', 'E_SHELL_SANDBOX', 'E_SHELL_SYNTAX'] as const;
const RAISES = ['FORBIDDEN', 'RATE_LIMITED'] as const;
const DEFAULT_MS = 5000;
const SPAWNED_MS = 60_000;

const cmd = PlainText.min(1)
  .max(4096)
  .describe(
    'A program of shell.allow and its arguments; words are quoted with single or double quotes or a backslash.',
  );
const exitCode = z.int().nullable().describe('Null = it was killed.');

const common = {
  area: 'shell',
  access: 'identified',
  effect: 'external',
  raises: RAISES,
  dress: { ok: false },
} as const;

type Call = ToolContext<SandboxDeps, (typeof REFUSES)[number], (typeof RAISES)[number]>;

/** The words of a line that may be run now. Throws a refusal. */
async function wordsOf(call: Call, line: string): Promise<readonly [string, ...string[]]> {
  const { deps, caller, take } = call;
  await assertReady(call);
  const words = decideWords(line);
  if (!words.ok) deps.refusals.note();
  const [program, ...rest] = take(words);
  const listed = decideProgram(program, await deps.registry.setting('shell.allow', caller.registry));
  if (!listed.ok) deps.refusals.note();
  take(listed);
  return [program, ...rest];
}

async function assertReady({ deps, caller, refuse }: Call): Promise<void> {
  const isEnabled = await deps.registry.setting('shell.enabled', caller.registry);
  if (isEnabled && (await deps.shell.probe())?.ok === true) return;
  deps.refusals.note();
  throw refuse('E_DISABLED', { needs: [isEnabled ? 'sandbox' : 'shell.enabled'] });
}

/** Once for a key; tells what was run, whatever came of it. Throws FORBIDDEN, or a refusal. */
async function ran(call: Call, line: string, timeMs: number): Promise<TimedShell> {
  const { deps, caller } = call;
  await assertPermitted(deps.registry, caller, 'exec');
  const outcome = await deps.keyedRuns.once<Decision<TimedShell, 'E_SHELL_SANDBOX'>, never>(call, async () => {
    const words = await wordsOf(call, line);
    const decision = await deps.shell.run(tenantOf(caller), words, timeMs);
    return deps.sandboxStore.change(call, async ({ emit }) => {
      const [program] = words;
      const [exitCode, code] = decision.ok ? [decision.value.exitCode, null] : [null, decision.code];
      const payload = { by: actorName(caller), program, exitCode, code };
      emit({ name: 'shell:ran', workspace: workspaceOf(caller), payload });
      return allow(decision);
    });
  });
  return call.take(settled(call, outcome));
}

const exec = defineSandboxTool({
  ...common,
  name: 'svc_shell_exec',
  description: 'Run a listed program in a sandbox without network, files or environment of this machine.',
  input: z.strictObject({ cmd, timeout: z.int().min(100).max(30_000).optional().describe('In ms, default 5000.') }),
  output: z.strictObject({
    ok: z.boolean().describe('It ended by itself with 0.'),
    exitCode,
    stdout: z.string(),
    stderr: z.string(),
    truncated: z.boolean(),
    timedOut: z.boolean(),
    durationMs: z.int(),
  }),
  refuses: REFUSES,
  deadlineMs: 40_000,
  example: { cmd: "echo 'a b'" },
  async handler({ cmd: line, timeout = DEFAULT_MS }, call) {
    const { started: _started, ...run } = await ran(call, line, timeout);
    return { ok: run.exitCode === 0, ...run };
  },
});

const capture = defineSandboxTool({
  ...common,
  name: 'svc_shell_capture',
  description: 'The same for what it prints alone; with jobId, what a program that was spawned has printed.',
  input: z.strictObject({ cmd: cmd.optional(), jobId: z.string().min(1).max(64).optional() }),
  output: z.strictObject({
    ok: z.boolean(),
    output: z.string().describe('Without blanks at its ends; of the errors, when it printed nothing else.'),
    exitCode,
    jobId: z.string().optional(),
    state: z.enum(['running', 'exited', 'killed']).optional(),
  }),
  refuses: [...REFUSES, 'E_JOB_ABSENT'],
  example: { cmd: 'date' },
  async handler({ cmd: line, jobId }, call) {
    if ((line === undefined) === (jobId === undefined))
      throw new CallError('VAF_INPUT_INVALID', 'Either cmd or jobId.');
    if (line !== undefined) {
      const run = await ran(call as Call, line, DEFAULT_MS);
      return { ok: run.exitCode === 0, output: outputOf(run), exitCode: run.exitCode };
    }
    const { deps, caller, refuse } = call;
    await assertPermitted(deps.registry, caller, 'exec');
    await assertReady(call as Call);
    const job = await deps.jobs.find(jobId ?? '');
    if (job === null || (!caller.operator && job.by !== jobOwner(caller))) throw refuse('E_JOB_ABSENT');
    const { state, exitCode: code, output } = job;
    return { ok: code === 0, jobId: job.jobId, state, output, exitCode: code };
  },
});

/** Whose a job is: a token that is bound to a workspace has only what was started there by such a one. No id has a blank in it. */
function jobOwner(caller: Call['caller']): string {
  const bound = caller.token?.bound ?? null;
  return bound === null ? actorName(caller) : `${actorName(caller)} in ${bound}`;
}

async function spawned(call: Call, line: string): Promise<Once<Job, 'E_SHELL_SANDBOX'>> {
  const { deps, caller } = call;
  const words = await wordsOf(call, line);
  const by = actorName(caller);
  const job = { jobId: deps.newJobId(), by: jobOwner(caller), cmd: line, aliveMs: SPAWNED_MS };
  const payload = { by, jobId: job.jobId, program: words[0] };
  const told = { name: 'shell:spawned', workspace: workspaceOf(caller), payload } as const;
  const placed = await deps.shell.spawn(tenantOf(caller), words, SPAWNED_MS, async (running) => {
    const begun = await deps.jobs.begin(call, job, told);
    // Somebody who took over from this process was sooner.
    if (begun.replayed) running.kill();
    else deps.following.follow(job.jobId, running);
    return begun;
  });
  return placed.ok ? placed.value : { decision: placed, replayed: false };
}

const spawn = defineSandboxTool({
  ...common,
  name: 'svc_shell_spawn',
  description:
    'Start a listed program that may go on for a minute; svc_shell_capture tells what it has printed up to about a second ago.',
  input: z.strictObject({ cmd }),
  output: z.strictObject({
    jobId: z.string(),
    cmd: z.string(),
    state: z.literal('running'),
    startedAt: TimestampMs,
    killAt: TimestampMs,
  }),
  refuses: REFUSES,
  example: { cmd: 'tail -f /dev/null' },
  async handler({ cmd: line }, call) {
    await assertPermitted(call.deps.registry, call.caller, 'exec');
    const outcome = await call.deps.keyedRuns.once(call, () => spawned(call, line));
    const { by: _by, ...shown } = settled(call, outcome);
    return { ...shown, state: 'running' as const };
  },
});

export const shellTools = [exec, capture, spawn];
