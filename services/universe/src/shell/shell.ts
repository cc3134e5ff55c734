/** Programs of callers, while the probe of the last minutes found their sandbox whole. */
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import type { Clock } from '@svc/runtime/clock.ts';
import { keptProbe, type Probe } from '../kept-probe.ts';
import { createSlots } from '../slots.ts';
import { probeShell } from './probe.ts';
import type { RunningShell, ShellRun, ShellSandbox } from './sandbox.ts';

export interface TimedShell extends ShellRun {
  readonly durationMs: number;
}

export interface Shell {
  /** Not older than ten minutes; null = there is no bubblewrap here. */
  probe(): Promise<Probe | null>;
  version(): Promise<string | null>;
  /** Throws RATE_LIMITED when the workspace, or the process, has as many programs as it may. */
  run(workspace: string, argv: readonly string[], timeMs: number): Promise<Decision<TimedShell, 'E_SHELL_SANDBOX'>>;
  /** The same, and whoever asked does not wait: `begun` is called once the program has its place. */
  spawn(
    workspace: string,
    argv: readonly string[],
    timeMs: number,
    begun: (running: RunningShell) => Promise<void>,
  ): Promise<void>;
  counters(): { readonly runs: number; readonly killed: number };
  close(): Promise<void>;
}

export const SHELL_SLOTS = { atOnce: 8, atOnceOfWorkspace: 2 } as const;

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
    run: (workspace, argv, timeMs) =>
      inSlot(workspace, async () => {
        const begunAt = clock.now();
        const run = await sandbox.run(argv, timeMs).done;
        counted(run);
        if (!run.started) return deny('E_SHELL_SANDBOX', { problem: run.stderr.slice(0, 200) });
        return allow({ ...run, durationMs: clock.now() - begunAt });
      }),
    async spawn(workspace, argv, timeMs, begun) {
      const placed = Promise.withResolvers<void>();
      const whole = inSlot(workspace, async () => {
        const running = sandbox.run(argv, timeMs);
        await begun(running);
        placed.resolve();
        counted(await running.done);
      });
      whole.catch(placed.reject);
      await placed.promise;
    },
    counters: () => ({ runs, killed }),
    close: sandbox.close,
  };
}
