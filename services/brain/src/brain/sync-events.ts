/** What a sync tells those who listen: that it began, how far it is, how it ended. */
import { CALL_ERRORS, CallError, Refusal, REFUSALS } from '@svc/contract/codes.ts';
import type { NewEvent } from '@svc/runtime/outbox.ts';
import { diskRefusalOf } from '@svc/runtime/disk-errors.ts';
import { withPgTransaction } from '@svc/runtime/transaction.ts';
import { RemoteError } from '../git/remote-error.ts';
import type { TransferProgress } from '../git/transfer-output.ts';
import type { OpenBrain } from './open-brain.ts';

const TOLD_AFTER_MS = 2000;
const TOLD_EVERY_MS = 1000;

export type Direction = 'push' | 'pull';

export class SyncTelling {
  readonly #brain: OpenBrain;
  readonly #scope: { brain: string; branch: string; resources: string[] };
  readonly #direction: Direction;
  readonly #remote: string;
  readonly #startedAt: number;

  constructor(brain: OpenBrain, branch: string, direction: Direction, remote: string) {
    const { name, platform } = brain.context;
    this.#brain = brain;
    this.#scope = { brain: name, branch, resources: [`brain:${name}`] };
    this.#direction = direction;
    this.#remote = remote;
    this.#startedAt = platform.clock.now();
  }

  started(): Promise<void> {
    const payload = { ...this.#scope, direction: this.#direction, remote: this.#remote };
    return this.#tell({ name: 'sync:start', payload });
  }

  /** With the code that the call will answer. */
  failed(error: unknown): void {
    this.#tellSoon(this.#failureOf(error));
  }

  error(code: string, error: string): NewEvent {
    return { name: 'sync:error', payload: { ...this.#scope, direction: this.#direction, code, error } };
  }

  complete(status: string, conflicts: number): NewEvent {
    const durationMs = this.#brain.context.platform.clock.now() - this.#startedAt;
    const payload = { ...this.#scope, direction: this.#direction, status, conflicts, durationMs };
    return { name: 'sync:complete', payload };
  }

  /** For one transfer: a short one says nothing, a long one at most once a second. */
  progressOf(direction: Direction): (progress: TransferProgress) => void {
    let tellAt = this.#now() + TOLD_AFTER_MS;
    return ({ stage, percent }) => {
      if (this.#now() < tellAt) return;
      tellAt = this.#now() + TOLD_EVERY_MS;
      const payload = { ...this.#scope, direction, remote: this.#remote, stage, percent };
      this.#tellSoon({ name: 'sync:progress', payload });
    };
  }

  /** The call has its answer; the end of the transfer is told when it comes. */
  endLater(end: Promise<string>): void {
    end.then(
      (status) => this.#tellSoon(this.complete(status, 0)),
      (error: unknown) => this.#tellSoon(this.#failureOf(error)),
    );
  }

  #failureOf(error: unknown): NewEvent {
    const isSaid = error instanceof RemoteError || error instanceof CallError || error instanceof Refusal;
    if (isSaid) return this.error(error.code, error.message);
    if (diskRefusalOf(error) !== null) return this.error('E_STATE_WRITE', REFUSALS.E_STATE_WRITE);
    this.#brain.context.platform.log.error({ err: error, brain: this.#scope.brain }, 'a sync failed');
    return this.error('INTERNAL', CALL_ERRORS.INTERNAL.meaning);
  }

  #now(): number {
    return this.#brain.context.platform.clock.now();
  }

  async #tell(event: NewEvent): Promise<void> {
    await withPgTransaction(this.#brain.context.platform.database.pool, (transaction) =>
      this.#brain.context.outbox.write(transaction, [event]),
    );
    this.#brain.context.outbox.kick();
  }

  /** Nobody waits for these, and nothing depends on them. */
  #tellSoon(event: NewEvent): void {
    this.#tell(event).catch((error: unknown) => {
      this.#brain.context.platform.log.warn({ err: error, brain: this.#scope.brain }, 'a sync event was not told');
    });
  }
}
