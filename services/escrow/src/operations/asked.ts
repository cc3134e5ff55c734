/** What a service asks of the ledger, in the words of the ledger. */
import { createHash } from 'node:crypto';
import { sortedJson } from '@svc/contract/canonical.ts';
import type { RefusalCode } from '@svc/contract/codes.ts';
import { type Decision, deny } from '@svc/contract/decision.ts';
import type { OperationOf } from '@svc/contract/operation.ts';
import type { ESCROW, Payer as NamedPayer } from '@svc/contract/operations.escrow.ts';
import type { Handlers, OperationContext } from '@svc/runtime/operations.ts';
import type { EscrowDeps } from '../deps.ts';
import { poolOf } from '../domain/account.ts';
import type { Payer } from '../domain/funds.ts';
import { rolesOrUnknown } from '../ports.ts';
import type { MoveCall } from '../store/move.ts';

export type EscrowHandlers<Name extends OperationOf<typeof ESCROW> = OperationOf<typeof ESCROW>> = Handlers<
  typeof ESCROW,
  EscrowDeps,
  Name
>;
export type Asked = OperationContext<EscrowDeps>;

export function moveCall({ deadlineAt, by, asker }: Asked): MoveCall {
  return { deadlineAt, idempotency: null, subject: { agentId: by ?? asker, verified: false } };
}

/** What tells a repetition from another wish under the same name. */
export function hashOf(question: object): string {
  return createHash('sha256').update(sortedJson(question)).digest('hex');
}

/** Null = the workspace is not known, or the member has no role there; operators pay for anybody. */
export async function payerOf(payer: NamedPayer, { deps, operator }: Asked): Promise<Payer | null> {
  if ('workspace' in payer) {
    const { known, roles } = await rolesOrUnknown(deps.registry, null, payer.agent, payer.workspace);
    const mayDraw = known && (operator || roles.length > 0);
    return mayDraw ? { account: poolOf(payer.workspace), member: payer.agent, opensWith: null } : null;
  }
  const account = 'org' in payer ? payer.org : payer.agent;
  return { account, member: null, opensWith: await deps.accountOpening.ofPayer(account, { operator, stamp: null }) };
}

export function payeeOpensWith(payee: string, { deps, operator }: Asked): Promise<bigint> {
  return deps.accountOpening.ofPayee(payee, { operator, stamp: null });
}

export function unknownWorkspace() {
  return deny('E_UNKNOWN_WORKSPACE', { reason: 'unknown_workspace' });
}

/** The decision with what its answer begins with. */
export function answered<const Leading extends object, Value extends object, Code extends RefusalCode>(
  leading: Leading,
  decision: Decision<Value, Code>,
): Decision<Leading & Value, Code> {
  return decision.ok ? { ok: true, value: { ...leading, ...decision.value } } : decision;
}
