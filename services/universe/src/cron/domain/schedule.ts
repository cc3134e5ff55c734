/** When a job is due: tick n at `anchorAt + n * intervalMs`, the first one being tick 1; and whether there may be one more job. */
import { allow, type Decision, deny } from '@svc/contract/decision.ts';

export const MIN_INTERVAL_MS = 1000;
export const MAX_INTERVAL_MS = 86_400_000;
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

export interface JobCounts {
  readonly ofWorkspace: number;
  /** Those that no operator made. */
  readonly ofMembers: number;
  readonly ofFamily: number;
}

/** Jobs of one workspace: no family takes the place of all others, nor all of them together that of operators. */
export const MOST_JOBS: JobCounts = { ofWorkspace: 100, ofMembers: 80, ofFamily: 20 };

/** Whether the family may have one more; operators are no family. */
export function decideNewJob(
  { ofWorkspace, ofMembers, ofFamily }: JobCounts,
  family: string | null,
): Decision<null, 'E_QUOTA'> {
  if (family !== null && ofFamily >= MOST_JOBS.ofFamily) {
    return deny('E_QUOTA', { limit: MOST_JOBS.ofFamily, of: 'family' });
  }
  if (family !== null && ofMembers >= MOST_JOBS.ofMembers) {
    return deny('E_QUOTA', { limit: MOST_JOBS.ofMembers, of: 'workspace' });
  }
  if (ofWorkspace >= MOST_JOBS.ofWorkspace) return deny('E_QUOTA', { limit: MOST_JOBS.ofWorkspace, of: 'workspace' });
  return allow(null);
}

const CRON_TOOLS: ReadonlySet<string> = new Set(['cron_schedule', 'cron_run']);

/** A job that makes or runs jobs would have no end. */
export function mayBeTask({ tool, args }: { readonly tool: string; readonly args: Record<string, unknown> }): boolean {
  return !CRON_TOOLS.has(tool === 'svc_call' ? String(args['name']) : tool);
}
