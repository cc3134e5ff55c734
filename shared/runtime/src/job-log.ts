/** Runs of a job that throw: told once when they begin, then now and then, and once more when one succeeds. */
import type { Logger } from 'pino';
import type { JobContext, JobDeclaration } from './jobs.ts';
import { RepeatedTrouble } from './repeated-trouble.ts';

export class JobLog {
  readonly #log: Pick<Logger, 'error' | 'info'>;
  /** Runs that failed since the last that did not. */
  #failures = 0;
  /** A service that is away fails what runs every second. */
  readonly #trouble = new RepeatedTrouble();

  constructor(log: Pick<Logger, 'error' | 'info'>) {
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
    if (!this.#trouble.isDue(String(err))) return;
    this.#log.error({ err, job, failures: this.#failures }, 'a job failed; its next slot comes');
  }
}
