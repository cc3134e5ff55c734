/** The payload limit both buses hold. */
import { BusError } from './bus.ts';

/** A UTF-16 unit takes at most three bytes in UTF-8. */
const MAX_BYTES_PER_UNIT = 3;

export function exceeds(payload: string, maxBytes: number): boolean {
  return payload.length * MAX_BYTES_PER_UNIT > maxBytes && Buffer.byteLength(payload) > maxBytes;
}

/** Throws BusError TOO_LARGE for what may not be sent to `subject`. */
export function assertFits(payload: string, maxBytes: number, subject: string): void {
  if (exceeds(payload, maxBytes)) {
    throw new BusError('TOO_LARGE', `a payload for ${subject} is larger than ${maxBytes} bytes`);
  }
}

/** What a requester gets whose responder did the work and had too much to say. */
export function replyTooLarge(subject: string): BusError {
  return new BusError('TOO_LARGE', `the reply of ${subject} is larger than the bus carries`, false);
}
