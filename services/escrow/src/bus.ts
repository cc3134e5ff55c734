/** The operations of the ledger on the bus. */
import { CallError, CALL_ERRORS, type CallErrorCode, REFUSALS } from '@svc/contract/codes.ts';
import {
  ESCROW,
  ESCROW_SUBJECTS,
  type EscrowOperation,
  type EscrowReply,
  EscrowRequest,
} from '@svc/contract/escrow.ts';
import type { Subscription } from '@svc/runtime/bus.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { operate } from './bus-operations.ts';
import type { EscrowDeps } from './deps.ts';

export function answerOperations(
  deps: EscrowDeps,
  { bus, clock, log }: Pick<Platform, 'bus' | 'clock' | 'log'>,
): Promise<Subscription> {
  const answer = async (payload: string, subject: string): Promise<string> => {
    try {
      return JSON.stringify(await replyTo(deps, payload, subject, clock.now()));
    } catch (error) {
      if (!(error instanceof CallError)) log.error({ err: error, subject }, 'an operation failed');
      return JSON.stringify(failed(error instanceof CallError ? error.code : 'INTERNAL'));
    }
  };
  return bus.respond(ESCROW_SUBJECTS, answer, { queue: 'escrow' });
}

async function replyTo(deps: EscrowDeps, payload: string, subject: string, now: number): Promise<EscrowReply> {
  const [, , service = '', name = ''] = subject.split('.');
  if (!Object.hasOwn(ESCROW, name)) return failed('TOOL_NOT_FOUND');
  const parsed = EscrowRequest.safeParse(JSON.parse(payload));
  if (!parsed.success) return failed('VAF_INPUT_INVALID');
  const request = parsed.data;
  if (request.deadlineAt <= now) return failed('TIMEOUT');
  const outcome = await operate(deps, name as EscrowOperation, { service, request });
  if ('problem' in outcome) return failed('VAF_INPUT_INVALID', outcome.problem);
  if (outcome.ok) return { ok: true, answer: outcome.value };
  const { code, message = REFUSALS[code], details = {} } = outcome;
  return { ok: false, code, message, details };
}

function failed(code: CallErrorCode, message: string = CALL_ERRORS[code].meaning): EscrowReply {
  return { ok: false, code, message, details: {} };
}
