/** Follows programs that go on after their call: what they print, and how they ended, becomes their rows. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Platform } from '@svc/runtime/platform.ts';
import type { JobEnd, JobStore } from './job-store.ts';
import type { RunningShell, ShellRun } from './sandbox.ts';

export interface Following {
  follow(jobId: string, running: Pick<RunningShell, 'done' | 'output'>): void;
  /** Waits for what has ended to be told once more. Programs that still run have to be killed before. */
  close(): Promise<void>;
}

const PRINTED_EVERY_MS = 1000;
/** A job that ended longer ago is shown to nobody. */
const TOLD_FOR_MS = 600_000;

export function createFollowing(
  jobs: Pick<JobStore, 'print' | 'end'>,
  { clock, log }: Pick<Platform, 'clock'> & { readonly log: Pick<Platform['log'], 'warn'> },
  everyMs = PRINTED_EVERY_MS,
): Following {
  const followed = new Set<Promise<void>>();
  const closing = new AbortController();

  /** False = the database is away, which costs a program nothing. */
  async function tell(jobId: string, telling: Promise<void>): Promise<boolean> {
    try {
      await telling;
      return true;
    } catch (error) {
      log.warn({ err: error, jobId }, 'what a program printed waits to be stored');
      return false;
    }
  }

  async function whole(jobId: string, { done, output }: Pick<RunningShell, 'done' | 'output'>): Promise<void> {
    const ended: Promise<ShellRun> = done;
    let printed = '';
    for (let run: ShellRun | null = null; run === null; ) {
      run = await Promise.race([ended, delay(everyMs, null, { ref: false })]);
      const now = outputOf(output());
      if (run === null && now !== printed && (await tell(jobId, jobs.print(jobId, now)))) printed = now;
    }
    const { exitCode, ...said } = await ended;
    await tellEnd(jobId, { output: outputOf(said), exitCode });
  }

  async function tellEnd(jobId: string, end: JobEnd): Promise<void> {
    const until = clock.now() + TOLD_FOR_MS;
    while (!(await tell(jobId, jobs.end(jobId, end)))) {
      if (closing.signal.aborted || clock.now() > until) return;
      await delay(everyMs, null, { signal: closing.signal }).catch(() => {}); // the last attempt
    }
  }

  return {
    follow(jobId, running) {
      const following = whole(jobId, running).finally(() => followed.delete(following));
      followed.add(following);
    },
    async close() {
      closing.abort();
      await Promise.all(followed);
    },
  };
}

/** Of a program: what it printed, without blanks at its ends; of its errors, when it printed nothing else. */
export function outputOf({ stdout, stderr }: Pick<ShellRun, 'stdout' | 'stderr'>): string {
  const printed = stdout.trim();
  return printed === '' ? stderr.trim() : printed;
}
