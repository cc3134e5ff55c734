/** Runs of a job that throw: told once when they begin, then now and then, and once more when one succeeds. */
import type { Logger } from 'pino';
import { lastingTrouble } from './failures.ts';
import type { JobContext, JobDeclaration } from './jobs.ts';
import { RepeatedTrouble, troubleOf } from './repeated-trouble.ts';

export type JobLogger = Pick<Logger, 'error' | 'warn' | 'info'>;

export class JobLog {
  readonly #log: JobLogger;
  /** Runs that failed since the last that did not. */
  #failures = 0;
  /** A service that is away fails what runs every second. */
  readonly #trouble = new RepeatedTrouble();

  constructor(log: JobLogger) {
    this.#log = log;
  }

  /** Never throws. */
  async run(declaration: JobDeclaration, context: JobContext): Promise<void> {
    try {
      await declaration.run(context);
    } catch (err) {
      return this.#failed(declaration.id, err);
    }
    if (this.#failures > 0) this.#log.info({ job: declaration.id, failures: this.#failures }, 'a job works again');
    this.#failures = 0;
    this.#trouble.end();
  }

  #failed(job: string, err: unknown): void {
    this.#failures += 1;
    const lasting = lastingTrouble(err);
    if (!this.#trouble.isDue(lasting ?? troubleOf(err))) return;
    const failed = { job, failures: this.#failures };
    if (lasting === null) this.#log.error({ err, ...failed }, 'a job failed; its next slot comes');
    else this.#log.warn(failed, `a job waits: ${lasting}`);
  }
}
