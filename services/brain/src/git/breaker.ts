/** Stops asking a remote that keeps failing. */
import { RemoteError } from './remote-error.ts';

interface BreakerSettings {
  readonly failuresToOpen?: number;
  readonly openMs?: number;
  /** Milliseconds on a clock that never goes back. */
  readonly now: () => number;
}

const PROBE_RETRY_MS = 1000;

export class Breaker {
  readonly #failuresToOpen: number;
  readonly #openMs: number;
  readonly #now: () => number;
  #failures = 0;
  #openUntil = 0;
  #last: RemoteError | null = null;
  #probing = false;

  constructor({ failuresToOpen = 5, openMs = 30_000, now }: BreakerSettings) {
    this.#failuresToOpen = failuresToOpen;
    this.#openMs = openMs;
    this.#now = now;
  }

  get state(): 'open' | 'closed' {
    return this.#now() < this.#openUntil ? 'open' : 'closed';
  }

  /** Runs the network action unless open. After a pause one goes ahead, and the others wait for what it finds. */
  async run<Result>(action: () => Promise<Result>): Promise<Result> {
    const last = this.#failures < this.#failuresToOpen ? null : this.#last;
    if (last !== null && (this.state === 'open' || this.#probing)) {
      const retryAfterMs = Math.max(PROBE_RETRY_MS, Math.ceil(this.#openUntil - this.#now()));
      throw new RemoteError(last.kind, `${last.message} It failed repeatedly and is not asked for a while.`, {
        said: last.said,
        stage: last.stage,
        retryAfterMs,
      });
    }
    this.#probing = last !== null;
    try {
      const result = await action();
      this.#failures = 0;
      return result;
    } catch (error) {
      this.#note(error);
      throw error;
    } finally {
      if (last !== null) this.#probing = false;
    }
  }

  /**
   * Counts what befalls everybody who asks this remote. Any other refusal is an answer of a remote that works, and may
   * concern one brain alone.
   */
  #note(error: unknown): void {
    if (!(error instanceof RemoteError)) return;
    const isRemoteAway = error.code === 'E_REMOTE_UNREACHABLE' || error.code === 'E_REMOTE_TLS';
    this.#failures = isRemoteAway ? this.#failures + 1 : 0;
    this.#last = error;
    if (this.#failures >= this.#failuresToOpen) this.#openUntil = this.#now() + this.#openMs;
  }
}
