/** Stops asking a remote that keeps failing. */
import { RemoteError } from './remote-error.ts';

export interface BreakerSettings {
  readonly failuresToOpen?: number;
  readonly openMs?: number;
  /** Milliseconds on a clock that never goes back. */
  readonly now: () => number;
}

export class Breaker {
  readonly #failuresToOpen: number;
  readonly #openMs: number;
  readonly #now: () => number;
  #failures = 0;
  #openUntil = 0;

  constructor({ failuresToOpen = 5, openMs = 30_000, now }: BreakerSettings) {
    this.#failuresToOpen = failuresToOpen;
    this.#openMs = openMs;
    this.#now = now;
  }

  get state(): 'open' | 'closed' {
    return this.#now() < this.#openUntil ? 'open' : 'closed';
  }

  /** Runs the network action unless open. A refusal to push is an answer of a working remote and no failure. */
  async run<Result>(action: () => Promise<Result>): Promise<Result> {
    if (this.state === 'open') {
      const retryAfterMs = Math.ceil(this.#openUntil - this.#now());
      throw new RemoteError('E_REMOTE_UNREACHABLE', 'the remote failed repeatedly', retryAfterMs);
    }
    try {
      const result = await action();
      this.#failures = 0;
      return result;
    } catch (error) {
      this.#note(error);
      throw error;
    }
  }

  #note(error: unknown): void {
    if (!(error instanceof RemoteError)) return;
    const answered = error.code === 'E_REMOTE_REJECTED' || error.code === 'E_REMOTE_RACE';
    this.#failures = answered ? 0 : this.#failures + 1;
    if (this.#failures >= this.#failuresToOpen) this.#openUntil = this.#now() + this.#openMs;
  }
}
