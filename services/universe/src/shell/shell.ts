/** Programs of callers, while the probe of the last minutes found their sandbox whole. */
import { allow, type Decision, type Denial, deny } from '@svc/contract/decision.ts';
import type { Clock } from '@svc/runtime/clock.ts';
import { keptProbe, type Probe } from '../kept-probe.ts';
import { createSlots, type Tenant } from '../slots.ts';
import { probeShell } from './probe.ts';
import type { RunningShell, ShellRun, ShellSandbox } from './sandbox.ts';

export interface TimedShell extends ShellRun {
  readonly durationMs: number;
}

export interface Shell {
  /** Not older than ten minutes; null = there is no bubblewrap here. */
  probe(): Promise<Probe | null>;
  version(): Promise<string | null>;
  /** Throws RATE_LIMITED when the workspace, the family or the process has as many programs as it may. */
  run(tenant: Tenant, argv: readonly string[], timeMs: number): Promise<Decision<TimedShell, 'E_SHELL_SANDBOX'>>;
  /**
   * The same, and whoever asked does not wait: `begun` is called once the program runs, which is killed when that throws. What
   * it returns is the answer.
   */
  spawn<Value>(
    tenant: Tenant,
    argv: readonly string[],
    timeMs: number,
    begun: (running: RunningShell) => Promise<Value>,
  ): Promise<Decision<Value, 'E_SHELL_SANDBOX'>>;
  counters(): { readonly runs: number; readonly killed: number };
  close(): Promise<void>;
}

export const SHELL_SLOTS = { atOnce: 8, atOnceOfWorkspace: 2, atOnceOfFamily: 4 } as const;

export function createShell(clock: Clock, sandbox: ShellSandbox): Shell {
  const inSlot = createSlots(SHELL_SLOTS);
  let runs = 0;
  let killed = 0;
  const counted = (run: ShellRun): void => {
    runs += 1;
    if (run.exitCode === null) killed += 1;
  };
  return {
    probe: keptProbe(clock, async () => ((await sandbox.version()) === null ? null : probeShell(sandbox, clock))),
    version: sandbox.version,
    run: (tenant, argv, timeMs) =>
      inSlot(tenant, async () => {
        const begunAt = clock.now();
        const run = await sandbox.run(argv, timeMs).done;
        counted(run);
        if (!run.started) return notStarted(run);
        return allow({ ...run, durationMs: clock.now() - begunAt });
      }),
    async spawn<Value>(
      tenant: Tenant,
      argv: readonly string[],
      timeMs: number,
      begun: (running: RunningShell) => Promise<Value>,
    ) {
      const placed = Promise.withResolvers<Decision<Value, 'E_SHELL_SANDBOX'>>();
      const whole = inSlot(tenant, async () => {
        const running = sandbox.run(argv, timeMs);
        placed.resolve(await beginWith(running, begun));
        counted(await running.done);
      });
      whole.catch(placed.reject);
      return placed.promise;
    },
    counters: () => ({ runs, killed }),
    close: sandbox.close,
  };
}

function notStarted({ stderr }: ShellRun): Denial<'E_SHELL_SANDBOX'> {
  return deny('E_SHELL_SANDBOX', { problem: stderr.slice(0, 200) });
}

/** Its place is not free again before it has ended, also when nobody can be told of it. */
async function beginWith<Value>(
  running: RunningShell,
  begun: (running: RunningShell) => Promise<Value>,
): Promise<Decision<Value, 'E_SHELL_SANDBOX'>> {
  if (!(await running.up)) return notStarted(await running.done);
  try {
    return allow(await begun(running));
  } catch (error) {
    running.kill();
    await running.done;
    throw error;
  }
}
