/** The message bus as services see it. Payloads are text; both implementations pass `bus.contract.ts`. */

export type BusErrorCode = 'NO_RESPONDERS' | 'TIMEOUT' | 'DISCONNECTED' | 'TOO_LARGE' | 'CLOSED';

/**
 * Why a request got no reply. After NO_RESPONDERS, TOO_LARGE and CLOSED nothing was executed; after TIMEOUT and
 * DISCONNECTED somebody may have done the work.
 */
export class BusError extends Error {
  readonly code: BusErrorCode;

  constructor(code: BusErrorCode, message: string) {
    super(message);
    this.code = code;
  }

  /** True when the request certainly reached nobody. */
  get undelivered(): boolean {
    return this.code === 'NO_RESPONDERS' || this.code === 'TOO_LARGE' || this.code === 'CLOSED';
  }
}

export interface Subscription {
  /** Stops taking new messages and resolves when those being handled are done. */
  drain(): Promise<void>;
}

export interface RespondOptions {
  /** Members of one queue group share the messages; without it every subscriber gets each. */
  readonly queue?: string;
}

/** Subjects are dot-separated tokens; a subscription may use `*` (one token) and a trailing `>` (one or more). */
export interface Bus {
  /** Largest payload in bytes that a request, a reply or a message may have. */
  readonly maxPayloadBytes: number;
  readonly connected: boolean;
  /** Sends to one responder and resolves with its reply. `deadlineAt` in ms since the epoch. Throws BusError. */
  request(subject: string, payload: string, options: { readonly deadlineAt: number }): Promise<string>;
  /** Sends to every subscriber; at most once, nothing is kept for those away. Throws BusError when it cannot be sent. */
  publish(subject: string, payload: string): void;
  /** Answers requests. The handler must not throw: a reply says what failed. Resolves when the server knows of it. */
  respond(
    subject: string,
    handler: (payload: string, subject: string) => Promise<string>,
    options?: RespondOptions,
  ): Promise<Subscription>;
  /** Hears published messages, in order per publisher. Resolves when the server knows of it. */
  subscribe(
    subject: string,
    handler: (payload: string, subject: string) => void,
    options?: RespondOptions,
  ): Promise<Subscription>;
  /** Called with false when the connection is lost and with true when it is back; returns how to stop. */
  onConnection(listener: (connected: boolean) => void): () => void;
  /** Finishes what is in flight, then closes; later calls throw CLOSED. */
  close(): Promise<void>;
}

export const MAX_PAYLOAD_BYTES = 8 * 1024 * 1024;
