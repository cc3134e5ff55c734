/** Runs what callers bring, while the probe of the last minutes found the sandbox whole. */
import { allow, type Decision } from '@svc/contract/decision.ts';
import type { Clock } from '@svc/runtime/clock.ts';
import { createSlots, type Tenant } from '../slots.ts';
import { COMPUTE_LIMITS, type ComputeDenial, decideRun, type Ran, type SandboxTask } from './domain/outcome.ts';
import { keptProbe, type Probe } from '../kept-probe.ts';
import { probeSandbox } from './probe.ts';
import { createSandbox, type Sandbox } from './sandbox.ts';

interface ComputeCounters {
  readonly runs: number;
  /** Ended for their time or memory. */
  readonly killed: number;
}

export interface Timed extends Ran {
  readonly durationMs: number;
}

export interface Compute {
  /** Not older than ten minutes. */
  probe(): Promise<Probe>;
  /** Throws RATE_LIMITED when the workspace, the family or the process has as many runs as it may. */
  run(tenant: Tenant, task: SandboxTask, timeMs: number): Promise<Decision<Timed, ComputeDenial>>;
  running(): number;
  counters(): ComputeCounters;
  close(): Promise<void>;
}

export function createCompute(clock: Clock, sandbox: Sandbox = createSandbox()): Compute {
  const inSlot = createSlots(COMPUTE_LIMITS);
  let runs = 0;
  let killed = 0;
  return {
    probe: keptProbe(clock, () => probeSandbox(sandbox, clock)),
    run: (tenant, task, timeMs) =>
      inSlot(tenant, async () => {
        runs += 1;
        const begunAt = clock.now();
        const decision = decideRun(await sandbox.run(task, timeMs));
        if (!decision.ok && (decision.code === 'E_COMPUTE_TIMEOUT' || decision.code === 'E_COMPUTE_MEMORY'))
          killed += 1;
        return decision.ok ? allow({ ...decision.value, durationMs: clock.now() - begunAt }) : decision;
      }),
    running: sandbox.running,
    counters: () => ({ runs, killed }),
    close: sandbox.close,
  };
}
