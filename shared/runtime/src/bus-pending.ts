/** Requests that wait for a reply, with one coarse deadline sweep for all instead of a timer for each. */
import type { Clock } from './clock.ts';
import { BusError, type RequestOptions } from './bus.ts';
import { IdleGate } from './idle-gate.ts';

/** A timeout is reported at most this long after the deadline. */
const SWEEP_MS = 20;

/** `holder`: the process it was sent to, when one was chosen. */
interface PendingRequest extends RequestOptions {
  readonly subject: string;
  readonly holder?: string | undefined;
}

interface PendingCall extends PendingRequest {
  readonly resolve: (reply: string) => void;
  readonly reject: (error: BusError) => void;
}

export class PendingCalls {
  readonly #clock: Clock;
  readonly #calls = new Map<number, PendingCall>();
  #lastId = 0;
  #sweep: NodeJS.Timeout | undefined;
  readonly #open = new IdleGate();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Opens a call and hands its id to `send`; an id is never used twice, so late replies find nothing. */
  open(request: PendingRequest, send: (id: number) => void): Promise<string> {
    const { subject, deadlineAt } = request;
    if (deadlineAt <= this.#clock.now()) {
      return Promise.reject(new BusError('TIMEOUT', `the deadline had passed before ${subject} was asked`, true));
    }
    this.#lastId += 1;
    const id = this.#lastId;
    return new Promise((resolve, reject) => {
      this.#open.enter();
      this.#calls.set(id, { ...request, resolve, reject });
      this.#sweep ??= setInterval(() => this.#rejectLate(), SWEEP_MS);
      try {
        send(id);
      } catch (error) {
        this.#take(id);
        reject(error);
      }
    });
  }

  resolve(id: number, reply: string): void {
    this.#take(id)?.resolve(reply);
  }

  reject(id: number, describe: (subject: string) => BusError): void {
    const call = this.#take(id);
    call?.reject(describe(call.subject));
  }

  rejectAll(describe: (subject: string) => BusError): void {
    for (const id of this.#calls.keys()) this.reject(id, describe);
  }

  /** What a process has in hand that shows no sign of life: where that does no harm, or all of it when it is `lost`. */
  rejectHeldBy(process: string, lost: boolean): void {
    for (const [id, { holder, isRepeatable = false }] of this.#calls) {
      if (holder !== process || (!lost && !isRepeatable)) continue;
      this.reject(id, (subject) => new BusError('SILENT', `who was asked ${subject} shows no sign of life`));
    }
  }

  /** What was addressed to one process, on this subject. */
  rejectSentTo(subject: string, describe: (subject: string) => BusError): void {
    for (const [id, call] of this.#calls) {
      if (call.subject === subject && call.holder !== undefined) this.reject(id, describe);
    }
  }

  /** Resolves when no call is open. */
  idle(): Promise<void> {
    return this.#open.idle();
  }

  #take(id: number): PendingCall | undefined {
    const call = this.#calls.get(id);
    if (this.#calls.delete(id)) this.#open.leave();
    return call;
  }

  #rejectLate(): void {
    // Stopped here and not in #take: a caller with one request at a time would start and stop it for each.
    if (this.#calls.size === 0) {
      clearInterval(this.#sweep);
      this.#sweep = undefined;
    }
    const now = this.#clock.now();
    for (const [id, call] of this.#calls) {
      if (call.deadlineAt <= now) {
        this.reject(id, (subject) => new BusError('TIMEOUT', `no reply from ${subject} before the deadline`));
      }
    }
  }
}
