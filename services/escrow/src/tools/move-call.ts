/** Between the context of a call and the ledger's store. */
import type { ToolContext } from '@svc/contract/tool.ts';
import { auditSubjectOf } from '@svc/runtime/audit.ts';
import type { EscrowDeps } from '../deps.ts';
import type { MoveCall } from '../store/move.ts';

/** The part of a call's context that does not hang on the tool. */
export type CallOf = Pick<ToolContext<EscrowDeps, never, never>, 'deps' | 'caller' | 'idempotency'>;

export function moveCall({ caller, idempotency }: Pick<CallOf, 'caller' | 'idempotency'>): MoveCall {
  return { deadlineAt: caller.deadlineAt, idempotency, subject: auditSubjectOf(caller) };
}
