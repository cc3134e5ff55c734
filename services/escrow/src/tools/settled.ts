/** Between the context of a call and the ledger's store. */
import type { CallErrorCode, RefusalCode } from '@svc/contract/codes.ts';
import type { ToolContext } from '@svc/contract/tool.ts';
import { auditSubjectOf } from '@svc/runtime/audit.ts';
import type { EscrowDeps } from '../deps.ts';
import type { MoveCall, Outcome } from '../store/move.ts';

/** The part of a call's context that does not hang on the tool. */
export type CallOf = Pick<ToolContext<EscrowDeps, never, never>, 'deps' | 'caller' | 'idempotency'>;

export function moveCall({ caller, idempotency }: Pick<CallOf, 'caller' | 'idempotency'>): MoveCall {
  return { deadlineAt: caller.deadlineAt, idempotency, subject: auditSubjectOf(caller) };
}

/** The answer of the ledger, or its refusal thrown; the reply is marked when the outcome is a stored one. */
export function settled<Answer, Code extends RefusalCode, Raises extends CallErrorCode>(
  context: Pick<ToolContext<EscrowDeps, Code, Raises>, 'markReplayed' | 'take'>,
  outcome: Outcome<Answer, NoInfer<Code>>,
  shown?: Record<string, unknown>,
): Answer {
  if (outcome.replayed) context.markReplayed();
  return context.take(outcome.decision, shown);
}
