/** What a service asks of the ledger, in the words of the ledger. */
import { createHash } from 'node:crypto';
import { sortedJson } from '@svc/contract/canonical.ts';
import type { RefusalCode } from '@svc/contract/codes.ts';
import { allow, type Decision, type Denial, deny } from '@svc/contract/decision.ts';
import type { OperationOf } from '@svc/contract/operation.ts';
import type { ESCROW, Payer as NamedPayer } from '@svc/contract/operations.escrow.ts';
import type { Handlers, OperationContext } from '@svc/runtime/operations.ts';
import type { EscrowDeps } from '../deps.ts';
import { isSink, poolOf } from '../domain/account.ts';
import type { Payer } from '../domain/funds.ts';
import { type RolesIn, rolesOrUnknown } from '../ports.ts';
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

type PayerRefusal = 'E_UNKNOWN_WORKSPACE' | 'E_POOL_EXCEEDED';

type RolesOfMember = (deps: EscrowDeps, payer: Extract<NamedPayer, { workspace: string }>) => Promise<RolesIn>;

/** While the registry is silent: as if it knew nothing. */
const rolesOrNone: RolesOfMember = ({ registry }, { agent, workspace }) =>
  rolesOrUnknown(registry, null, agent, workspace);

/** For what stays refused: throws SERVICE_UNAVAILABLE while the registry is silent, so that it is asked again. */
export const rolesNow: RolesOfMember = ({ registry }, { agent, workspace }) => registry.roles(null, agent, workspace);

/**
 * Not for a workspace that is unknown, or where the member has no role; nor for somebody else to be paid by a pool that
 * anybody could open for itself. Operators pay for anybody.
 */
export async function payerOf(
  payer: NamedPayer,
  payee: string,
  { deps, operator }: Asked,
  rolesOf: RolesOfMember = rolesOrNone,
): Promise<Decision<Payer, PayerRefusal>> {
  if ('workspace' in payer) {
    const { known, confirmed, roles } = await rolesOf(deps, payer);
    if (!known || !(operator || roles.length > 0)) return deny('E_UNKNOWN_WORKSPACE', { reason: 'unknown_workspace' });
    if (!confirmed && !operator && !isSink(payee)) return notConfirmed();
    return allow({ account: poolOf(payer.workspace), member: payer.agent, opensWith: null });
  }
  const account = 'org' in payer ? payer.org : payer.agent;
  const opensWith = await deps.accountOpening.ofPayer(account, { operator, stamp: null });
  return allow({ account, member: null, opensWith });
}

function notConfirmed(): Denial<'E_POOL_EXCEEDED'> {
  const details = { reason: 'workspace_not_confirmed', available: 0, poolAvailable: 0 };
  const until = 'until an operator makes somebody admin there (svc_habitat_addRole)';
  return deny(
    'E_POOL_EXCEEDED',
    details,
    `The pool of a workspace that agents made for themselves pays nobody ${until}.`,
  );
}

export function payeeOpensWith(payee: string, { deps, operator }: Asked): Promise<bigint> {
  return deps.accountOpening.ofPayee(payee, { operator, stamp: null });
}

/** The decision with what its answer begins with. */
export function answered<const Leading extends object, Value extends object, Code extends RefusalCode>(
  leading: Leading,
  decision: Decision<Value, Code>,
): Decision<Leading & Value, Code> {
  return decision.ok ? { ok: true, value: { ...leading, ...decision.value } } : decision;
}
