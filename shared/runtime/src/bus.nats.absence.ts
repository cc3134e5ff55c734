/** Tells why a server is away: the client tries it again and again, and keeps to itself what came of that. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { RepeatedTrouble } from './repeated-trouble.ts';

interface AbsenceParts {
  readonly log: Pick<Logger, 'warn'>;
  /** Of the server, as the log shows it. */
  readonly address: string;
  /** Tries the server once; null = it can be reached, or why not is told elsewhere. Never rejects. */
  readonly reason: () => Promise<string | null>;
}

/** A server that was only restarted is there again before that. */
const FIRST_LOOK_MS = 1000;
const LOOK_EVERY_MS = 5000;

export class Absence {
  readonly #parts: AbsenceParts;
  readonly #trouble = new RepeatedTrouble();
  #over: AbortController | null = null;

  constructor(parts: AbsenceParts) {
    this.#parts = parts;
  }

  begin(): void {
    this.#over ??= new AbortController();
    void this.#look(this.#over.signal);
  }

  end(): void {
    this.#over?.abort();
    this.#over = null;
    this.#trouble.end();
  }

  async #look(over: AbortSignal): Promise<void> {
    for (let waitMs = FIRST_LOOK_MS; ; waitMs = LOOK_EVERY_MS) {
      await delay(waitMs, undefined, { signal: over, ref: false }).catch(() => undefined);
      if (over.aborted) return;
      const reason = await this.#parts.reason();
      if (over.aborted) return;
      if (reason !== null && this.#trouble.isDue(reason))
        this.#parts.log.warn(`NATS at ${this.#parts.address} cannot be reached: ${reason}; it is tried until it can`);
    }
  }
}
