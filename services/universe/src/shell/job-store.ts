/** Programs that go on after their call, and what came of them: rows, so that every process can tell. */
import { allow } from '@svc/contract/decision.ts';
import { epochMs, NOW_AS_KEPT } from '@svc/runtime/sql-time.ts';
import type { ChangeCall } from '@svc/runtime/store.ts';
import type { UniverseEvent, UniverseStore } from '../universe-store.ts';

interface NewJob {
  readonly jobId: string;
  readonly by: string;
  readonly cmd: string;
  /** So long after its start it is not alive any more. */
  readonly aliveMs: number;
}

export interface Job extends Omit<NewJob, 'aliveMs'> {
  readonly startedAt: number;
  readonly killAt: number;
}

interface JobView extends Job {
  readonly state: 'running' | 'exited' | 'killed';
  readonly output: string;
  readonly exitCode: number | null;
}

export interface JobEnd {
  readonly output: string;
  readonly exitCode: number | null;
}

export type JobStore = ReturnType<typeof createJobStore>;

const KEPT = "interval '10 minutes'";
/** From the end of a program to its row. */
const GRACE = "interval '5 seconds'";

const JOB = `job_id AS "jobId", by, cmd, ${epochMs('started_at')} AS "startedAt", ${epochMs('kill_at')} AS "killAt"`;
const VIEW = `${JOB},
  coalesce(output, '') AS output, exit_code AS "exitCode",
  CASE WHEN ended_at IS NULL THEN CASE WHEN kill_at + ${GRACE} < clock_timestamp() THEN 'killed' ELSE 'running' END
    WHEN exit_code IS NULL THEN 'killed' ELSE 'exited' END AS state`;

export function createJobStore({ client, change }: Pick<UniverseStore, 'client' | 'change'>) {
  return {
    begin: (call: ChangeCall, { jobId, by, cmd, aliveMs }: NewJob, event: UniverseEvent) =>
      change(call, async ({ tx, emit }) => {
        const [job] = await tx.$queryRawUnsafe<Job[]>(
          `INSERT INTO universe.jobs (job_id, by, cmd, started_at, kill_at)
           SELECT $1, $2, $3, now, now + $4::float8 * interval '1 ms' FROM (SELECT ${NOW_AS_KEPT} AS now) moment
           RETURNING ${JOB}`,
          jobId,
          by,
          cmd,
          aliveMs,
        );
        if (job === undefined) throw new Error('a job was not kept');
        emit(event);
        return allow(job);
      }),
    /** What it has printed so far. */
    async print(jobId: string, output: string): Promise<void> {
      await client.$executeRawUnsafe(
        'UPDATE universe.jobs SET output = $2 WHERE job_id = $1 AND ended_at IS NULL',
        jobId,
        output,
      );
    },
    async end(jobId: string, { output, exitCode }: JobEnd): Promise<void> {
      await client.$executeRawUnsafe(
        'UPDATE universe.jobs SET ended_at = clock_timestamp(), output = $2, exit_code = $3 WHERE job_id = $1',
        jobId,
        output,
        exitCode,
      );
    },
    /** Null = there is none, or it is not kept any more. */
    async find(jobId: string): Promise<JobView | null> {
      const [row] = await client.$queryRawUnsafe<JobView[]>(
        `SELECT ${VIEW} FROM universe.jobs
         WHERE job_id = $1 AND coalesce(ended_at, kill_at) > clock_timestamp() - ${KEPT}`,
        jobId,
      );
      return row ?? null;
    },
    sweep: () =>
      client.$executeRawUnsafe(
        `DELETE FROM universe.jobs WHERE coalesce(ended_at, kill_at) < clock_timestamp() - ${KEPT}`,
      ),
  };
}
