/** A call on its way over the bus: repeated where that is safe, its failures named by what the caller may conclude. */
import { setTimeout as sleep } from 'node:timers/promises';
import { CallError } from '@svc/contract/codes.ts';
import { decodeReply, type Reply } from '@svc/contract/rpc.ts';
import type { Effect } from '@svc/contract/tool.ts';
import { BusError } from '@svc/runtime/bus.ts';
import type { StatelessPlatform } from '@svc/runtime/platform.ts';
import type { ToolRoute } from './registry.ts';

/** `payload`: an encoded Envelope. Throws CallError when no service answered. */
export type SendCall = (route: ToolRoute, payload: string, deadlineAt: number) => Promise<Reply>;

/** Together well under the 250 ms in which a caller hears that nobody answers. */
const UNDELIVERED_PAUSES_MS = [10, 30, 60];
const JITTER_MS = 10;
const MAX_REPEATS = 2;
const RETRY_AFTER_MS = 1000;
/** How long a read waits for one process before it is sent to whoever answers now. */
const PATIENCE_MS = 5000;

export function createSendCall({ bus, clock, random }: Pick<StatelessPlatform, 'bus' | 'clock' | 'random'>): SendCall {
  return async function sendCall({ card, subject, meter }, payload, deadlineAt) {
    const attempts = attemptsOf(card.effect, deadlineAt);
    let pauses: ReturnType<typeof pausesOf> | null = null;
    for (;;) {
      try {
        const frame = await bus.request(subject, payload, { deadlineAt: attempts.next(clock.now()) });
        meter.bus('reply');
        return decodeReply(frame);
      } catch (error) {
        if (!(error instanceof BusError)) throw error;
        meter.bus(error.code);
        pauses ??= pausesOf(card.effect);
        const pauseMs = pauses.next(error) + ((random.bytes(1)[0] ?? 0) / 256) * JITTER_MS;
        if (clock.now() + pauseMs >= deadlineAt) throw callErrorFor(error, card.effect);
        await sleep(pauseMs);
      }
    }
  };
}

/**
 * Until when each attempt waits. A service that dies with a call in hand says nothing, so a read is given a share of its
 * time and then sent again; the last attempt has all that is left. A change is not: the service may be slow rather than
 * dead, and the second attempt would tell the caller that it changed nothing.
 */
function attemptsOf(effect: Effect, deadlineAt: number): { next(now: number): number } {
  let left = effect === 'read' ? 1 + MAX_REPEATS : 1;
  return {
    next(now) {
      const share = (deadlineAt - now) / Math.max(1, left);
      left -= 1;
      return left > 0 ? now + Math.min(share, PATIENCE_MS) : deadlineAt;
    },
  };
}

/** How long to wait before the call is sent again, or Infinity. */
function pausesOf(effect: Effect): { next(error: BusError): number } {
  let undelivered = 0;
  let repeats = isRepeatable(effect) ? MAX_REPEATS : 0;
  return {
    next(error) {
      if (isNobodyThere(error)) return UNDELIVERED_PAUSES_MS[undelivered++] ?? Infinity;
      const isLate = effect === 'read' && error.code === 'TIMEOUT' && !error.undelivered;
      return (isLate || error.code === 'DISCONNECTED') && repeats-- > 0 ? 0 : Infinity;
    },
  };
}

/** Nobody got the message, and somebody may be there in a moment. */
function isNobodyThere({ code, undelivered }: BusError): boolean {
  return undelivered && (code === 'NO_RESPONDERS' || code === 'NOT_CONNECTED');
}

function isRepeatable(effect: Effect): boolean {
  return effect === 'read' || effect === 'write-idempotent';
}

function callErrorFor({ code, undelivered }: BusError, effect: Effect): CallError {
  if (code === 'TOO_LARGE' && undelivered) return new CallError('PAYLOAD_TOO_LARGE');
  if (code === 'TIMEOUT' && undelivered) return new CallError('TIMEOUT');
  if (!undelivered && !isRepeatable(effect)) return new CallError('E_OUTCOME_UNKNOWN');
  if (code === 'TIMEOUT') return new CallError('TIMEOUT');
  if (code === 'TOO_LARGE') return new CallError('PAYLOAD_TOO_LARGE', 'The result is larger than a reply may be.');
  return new CallError('SERVICE_UNAVAILABLE', undefined, { retryAfterMs: RETRY_AFTER_MS });
}
