/** Recurring and delayed work as services see it. The truth is in the database; a job only wakes its owner to look. */

export interface JobContext {
  /** The slot this run stands for, ms since the epoch. */
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
  run(context: JobContext): Promise<void>;
}

export interface Jobs {
  /** Starts the schedule; declaring an id again replaces its interval. */
  schedule(job: JobDeclaration): Promise<void>;
  /** Runs a scheduled job once more at `at` (ms since the epoch, or as soon after as possible); the earliest wish wins. */
  wake(id: string, at: number): Promise<void>;
  /** Ends a schedule for all replicas. */
  cancel(id: string): Promise<void>;
  /** Stops taking runs, waits for those running. */
  close(): Promise<void>;
}
