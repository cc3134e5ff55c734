/** A call on its way over the bus: repeated where that is safe, its failures named by what the caller may conclude. */
import { setTimeout as sleep } from 'node:timers/promises';
import { CallError } from '@svc/contract/codes.ts';
import { type CallFailure, decodeReply, type Reply } from '@svc/contract/rpc.ts';
import { type Effect, isRepeatable } from '@svc/contract/tool.ts';
import { BusError } from '@svc/runtime/bus.ts';
import type { StatelessPlatform } from '@svc/runtime/platform.ts';
import type { ToolRoute } from './service-directory.ts';

/** `payload`: an encoded Envelope. `isKeyed`: it has an idempotency key, so that it takes effect once however often it is sent. */
export interface OutgoingCall {
  readonly payload: string;
  readonly deadlineAt: number;
  readonly isKeyed: boolean;
}

/** Throws CallError when no service answered. */
export type SendCall = (route: ToolRoute, call: OutgoingCall) => Promise<Reply>;

/** Together well under the 250 ms in which a caller hears that nobody answers. */
const UNDELIVERED_PAUSES_MS = [10, 30, 60];
const JITTER_MS = 10;
const MAX_REPEATS = 2;
const RETRY_AFTER_MS = 1000;
/** How long what may be repeated waits for one process before it is sent to whoever answers now. */
const PATIENCE_MS = 5000;

export function createSendCall({ bus, clock, random }: Pick<StatelessPlatform, 'bus' | 'clock' | 'random'>): SendCall {
  return async function sendCall({ card: { effect }, subject, meter }, { payload, deadlineAt, isKeyed }) {
    const patience = patienceOf(effect, isKeyed);
    const attempts = attemptsOf(patience, deadlineAt);
    let pauses: ReturnType<typeof pausesOf> | null = null;
    const again = async (problem: Problem): Promise<boolean> => {
      pauses ??= pausesOf(patience);
      const pauseMs = pauses.next(problem) + ((random.bytes(1)[0] ?? 0) / 256) * JITTER_MS;
      if (clock.now() + pauseMs >= deadlineAt) return false;
      await sleep(pauseMs);
      return true;
    };
    for (;;) {
      try {
        const options = { deadlineAt: attempts.next(clock.now()), isRepeatable: patience.lost };
        const frame = await bus.request(subject, payload, options);
        meter.bus('reply');
        const reply = decodeReply(frame);
        const problem = reply.ok ? null : problemOf(reply.failure);
        if (problem === null || !(await again(problem))) return reply;
      } catch (error) {
        if (!(error instanceof BusError)) throw error;
        meter.bus(error.code);
        if (!(await again(error))) throw callErrorFor(error, effect);
      }
    }
  };
}

/** What a failed attempt was. */
type Problem = Pick<BusError, 'code' | 'undelivered'> | typeof UNKNOWN | typeof LATE;

/** The service itself lost somebody it had asked. */
const UNKNOWN = { code: 'UNKNOWN', undelivered: false } as const;
/** Its process stood still, and takes it for given up. */
const LATE = { code: 'LATE', undelivered: false } as const;

/** What an answer says that may be worth another attempt. */
function problemOf({ code, late }: CallFailure): Problem | null {
  if (late) return LATE;
  return code === 'E_OUTCOME_UNKNOWN' ? UNKNOWN : null;
}

/** After which failures a call may be sent again: who had it is lost; it says nothing; it does not know what came of it. */
interface Patience {
  readonly lost: boolean;
  readonly late: boolean;
  readonly unknown: boolean;
}

/**
 * A read, and a change that takes effect once under its key, may be sent again at any time. Another change of which a
 * second time is no harm is sent again only when who had it is lost: a process that says nothing may be slow rather than
 * dead, and the second attempt would tell the caller that it changed nothing.
 */
function patienceOf(effect: Effect, isKeyed: boolean): Patience {
  const isOnce = effect === 'read' || (isKeyed && effect !== 'external');
  return { lost: isRepeatable(effect, isKeyed), late: isOnce, unknown: isOnce };
}

/** Until when each attempt waits: a share of the time, and the last one for all that is left. */
function attemptsOf({ late }: Patience, deadlineAt: number): { next(now: number): number } {
  let left = late ? 1 + MAX_REPEATS : 1;
  return {
    next(now) {
      const share = (deadlineAt - now) / Math.max(1, left);
      left -= 1;
      return left > 0 ? now + Math.min(share, PATIENCE_MS) : deadlineAt;
    },
  };
}

/** How long to wait before the call is sent again, or Infinity. */
function pausesOf(patience: Patience): { next(problem: Problem): number } {
  let undelivered = 0;
  let repeats = MAX_REPEATS;
  const mayRepeat = ({ code, undelivered: isUndelivered }: Problem): boolean => {
    if (code === 'DISCONNECTED' || code === 'SILENT' || code === 'LATE') return patience.lost;
    if (code === 'UNKNOWN') return patience.unknown;
    return code === 'TIMEOUT' && !isUndelivered && patience.late;
  };
  return {
    next(problem) {
      if (isNobodyThere(problem)) return UNDELIVERED_PAUSES_MS[undelivered++] ?? Infinity;
      return mayRepeat(problem) && repeats-- > 0 ? 0 : Infinity;
    },
  };
}

/** Nobody got the message, and somebody may be there in a moment. */
function isNobodyThere({ code, undelivered }: Problem): boolean {
  return undelivered && (code === 'NO_RESPONDERS' || code === 'NOT_CONNECTED');
}

function callErrorFor({ code, undelivered }: BusError, effect: Effect): CallError {
  if (code === 'TOO_LARGE' && undelivered)
    return new CallError('PAYLOAD_TOO_LARGE', 'The call is larger than services tell each other at once.');
  if (code === 'TIMEOUT' && undelivered) return new CallError('TIMEOUT');
  if (!undelivered && !isRepeatable(effect, false)) return new CallError('E_OUTCOME_UNKNOWN');
  if (code === 'TIMEOUT') return new CallError('TIMEOUT');
  if (code === 'TOO_LARGE') return new CallError('PAYLOAD_TOO_LARGE', 'The result is larger than a reply may be.');
  return new CallError('SERVICE_UNAVAILABLE', undefined, { retryAfterMs: RETRY_AFTER_MS });
}
