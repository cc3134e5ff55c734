/** The message bus as services see it. Payloads are text; both implementations pass `bus.contract.ts`. */

/**
 * NOT_CONNECTED: refused because there is no connection now. DISCONNECTED: the connection was lost after sending.
 * SILENT: the process that has it in hand shows no sign of life any more.
 */
export type BusErrorCode =
  | 'NO_RESPONDERS'
  | 'TIMEOUT'
  | 'NOT_CONNECTED'
  | 'DISCONNECTED'
  | 'SILENT'
  | 'TOO_LARGE'
  | 'CLOSED';

const MAYBE_DONE: ReadonlySet<BusErrorCode> = new Set(['TIMEOUT', 'DISCONNECTED', 'SILENT']);

/** Why a request got no reply, or a message was not sent. */
export class BusError extends Error {
  readonly code: BusErrorCode;
  /** True when the request certainly reached nobody; false when somebody may have done the work. */
  readonly undelivered: boolean;

  /** `undelivered` follows from the code, except where it depends on the moment: a late TIMEOUT, a TOO_LARGE reply. */
  constructor(code: BusErrorCode, message: string, undelivered = !MAYBE_DONE.has(code)) {
    super(message);
    this.code = code;
    this.undelivered = undelivered;
  }
}

export interface Subscription {
  /** Stops taking new messages and resolves when those being handled are done. */
  drain(): Promise<void>;
}

export interface RequestOptions {
  /** In ms since the epoch. */
  readonly deadlineAt: number;
  /** Being asked twice does no harm: the requester hears after seconds that who has it in hand shows no sign of life. */
  readonly isRepeatable?: boolean;
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
  /** Connected, it does not hear something that it listens to: the server took the permission away and is asked for it again. */
  readonly isDeaf: boolean;
  /**
   * Milliseconds since this process last stood still, or was cut off, for so long that others may have given up what it had
   * in hand: what is repeatable, to send it elsewhere, or all of it. Infinity = it never did.
   */
  sinceGivenUpMs(repeatable: boolean): number;
  /** Sends to one responder, of a queue group to one that shows signs of life, and resolves with its reply. Throws BusError. */
  request(subject: string, payload: string, options: RequestOptions): Promise<string>;
  /** Sends to every subscriber; at most once, nothing is kept for those away. Throws BusError when it cannot be sent. */
  publish(subject: string, payload: string): void;
  /**
   * Answers requests. The handler must not throw: a reply says what failed; null = no reply, the requester waits until its
   * deadline. Resolves when the server knows of it.
   */
  respond(
    subject: string,
    handler: (payload: string, subject: string) => Promise<string | null>,
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
