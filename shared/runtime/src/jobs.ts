/** Recurring and delayed work as services see it. The truth is in the database; a job only wakes its owner to look. */

export interface JobContext {
  /** The slot or wish this run stands for, ms since the epoch. Slots are the multiples of `everyMs`. */
  readonly scheduledAt: number;
  /** Aborted when the process drains. */
  readonly signal: AbortSignal;
}

export interface JobDeclaration {
  /** Unique within the system, such as `brain.outbox-sweep`. */
  readonly id: string;
  readonly everyMs: number;
  /**
   * `cluster`: one replica runs each slot. `process`: every process runs it for itself.
   * A run may happen twice after a crash, so the work must be safe to repeat.
   */
  readonly scope: 'cluster' | 'process';
  /** Runs of one job never overlap within a process. A thrown error is logged and the next slot comes. */
  run(context: JobContext): Promise<unknown>;
}

export interface Jobs {
  /** Starts the schedule, first run at the next slot; declaring an id again replaces its interval and its work. */
  schedule(job: JobDeclaration): Promise<void>;
  /**
   * Runs a job of this process's schedule once more at `at` (ms since the epoch, or as soon after as possible); the
   * earliest wish wins, and a wish made during a run leads to another one. Does not throw: a wish that cannot be kept
   * (unknown id, Redis away) leaves the work to the next slot.
   */
  wake(id: string, at: number): Promise<void>;
  /** Ends a schedule for all replicas; does not wait for a run under way. */
  cancel(id: string): Promise<void>;
  /** Stops taking runs, waits for those running. */
  close(): Promise<void>;
}

/** The first multiple of `everyMs` after `nowMs`. */
export function slotAfter(nowMs: number, everyMs: number): number {
  return (Math.floor(nowMs / everyMs) + 1) * everyMs;
}
