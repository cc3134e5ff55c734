/** Runs of a job that throw: told once when they begin, then now and then, and once more when one succeeds. */
import type { Logger } from 'pino';
import type { JobContext, JobDeclaration } from './jobs.ts';

/** A service that is away fails what runs every second: the log shall stay readable until it is back. */
const TOLD_EVERY_MS = 60_000;

export class JobLog {
  readonly #log: Pick<Logger, 'error' | 'info'>;
  /** Runs that failed since the last that did not. */
  #failures = 0;
  #said = '';
  #saidAt = 0;

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
    this.#said = '';
  }

  #failed(job: string, err: unknown): void {
    this.#failures += 1;
    const now = performance.now();
    if (String(err) === this.#said && now - this.#saidAt < TOLD_EVERY_MS) return;
    this.#said = String(err);
    this.#saidAt = now;
    this.#log.error({ err, job, failures: this.#failures }, 'a job failed; its next slot comes');
  }
}
