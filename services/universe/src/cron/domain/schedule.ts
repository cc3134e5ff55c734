/** When a job is due. Tick n of a schedule is due at `anchorAt + n * intervalMs`; the first one is tick 1. */
export const MIN_INTERVAL_MS = 1000;
export const MAX_INTERVAL_MS = 86_400_000;
export const MAX_JOBS = 100;
/** Runs of each job that are kept. */
export const KEPT_RUNS = 200;

/** Of the schedule of a job. Times in ms since the epoch; `lastTick`: the latest that came to be. */
export interface Schedule {
  readonly anchorAt: number;
  readonly intervalMs: number;
  readonly lastTick: number;
}

/** The tick that is to be run now. `missed`: those that were due before it while nothing ran. */
interface DueTick {
  readonly tick: number;
  readonly missed: number;
  readonly nextAt: number;
}

/** Null = nothing is due. Of ticks that were missed the latest alone is run. */
export function dueTick({ anchorAt, intervalMs, lastTick }: Schedule, now: number): DueTick | null {
  const tick = Math.floor((now - anchorAt) / intervalMs);
  if (tick <= lastTick) return null;
  return { tick, missed: tick - lastTick - 1, nextAt: anchorAt + (tick + 1) * intervalMs };
}

const CRON_TOOLS: ReadonlySet<string> = new Set(['cron_schedule', 'cron_run']);

/** A job that makes or runs jobs would have no end. */
export function mayBeTask({ tool, args }: { readonly tool: string; readonly args: Record<string, unknown> }): boolean {
  return !CRON_TOOLS.has(tool === 'svc_call' ? String(args['name']) : tool);
}
