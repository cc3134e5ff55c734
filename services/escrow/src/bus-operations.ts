/** What the ledger does for other services: each operation takes effect once, named by its hold or its reference. */
import { createHash } from 'node:crypto';
import { canonicalJson } from '@svc/contract/canonical.ts';
import { microsOf } from '@svc/contract/amount.ts';
import type { RefusalCode } from '@svc/contract/codes.ts';
import { type Decision, deny } from '@svc/contract/decision.ts';
import { ESCROW, type EscrowOperation, type EscrowRequest, type Payer as NamedPayer } from '@svc/contract/escrow.ts';
import type { z } from 'zod';
import type { EscrowDeps } from './deps.ts';
import { budgetOf, DEFAULT_SINK, isSink, openedAccount, poolOf } from './domain/account.ts';
import type { Payer } from './domain/funds.ts';
import { isServiceHoldId } from './domain/hold.ts';
import { rolesOrUnknown } from './ports.ts';
import type { MoveCall } from './store/move.ts';

/** Who asks: a service, on behalf of somebody. */
export interface BusCall {
  readonly service: string;
  readonly request: EscrowRequest;
}

type Body<Operation extends EscrowOperation> = z.output<(typeof ESCROW)[Operation]['ask']>;
type Answered = Decision<Readonly<Record<string, unknown>>, RefusalCode>;
type Operate<Operation extends EscrowOperation> = (
  deps: EscrowDeps,
  body: Body<Operation>,
  call: BusCall,
) => Promise<Answered>;

function moveCall({ service, request: { deadlineAt, by } }: BusCall): MoveCall {
  return { deadlineAt, idempotency: null, subject: { agentId: by ?? service, verified: false } };
}

function hashOf(body: object): string {
  return createHash('sha256').update(canonicalJson(body)).digest('hex');
}

/** Null = the workspace is not known. */
async function payerOf(
  { registry, accountOpening }: EscrowDeps,
  payer: NamedPayer,
  call: BusCall,
): Promise<Payer | null> {
  if ('workspace' in payer) {
    const { known } = await rolesOrUnknown(registry, null, payer.agent, payer.workspace);
    return known ? { account: poolOf(payer.workspace), member: payer.agent, opensWith: null } : null;
  }
  const account = 'org' in payer ? payer.org : payer.agent;
  const opensWith = await accountOpening.ofPayer(account, { operator: call.request.operator, stamp: null });
  return { account, member: null, opensWith };
}

const unknownWorkspace = () => deny('E_UNKNOWN_WORKSPACE', { reason: 'unknown_workspace' });

async function hold(deps: EscrowDeps, body: Body<'hold'>, call: BusCall): Promise<Answered> {
  const { holdId, amount, ttlMs, condition } = body;
  const payer = body.payer === null ? null : await payerOf(deps, body.payer, call);
  if (body.payer !== null && payer === null) return unknownWorkspace();
  const { decision } = await deps.ledger.placeHold(moveCall(call), {
    holdId,
    payer,
    amount: amount === null ? 0n : microsOf(amount),
    condition,
    ttlMs,
    ownerKind: 'service',
    owner: call.service,
    bodyHash: hashOf(body),
  });
  return shown(decision);
}

async function capture(deps: EscrowDeps, { holdId, amount, payee = DEFAULT_SINK }: Body<'capture'>, call: BusCall) {
  const { decision } = await deps.ledger.capture(moveCall(call), {
    holdId,
    owner: call.service,
    amount: amount === undefined ? null : microsOf(amount),
    payee,
    payeeOpensWith: await deps.accountOpening.ofPayee(payee, { operator: call.request.operator, stamp: null }),
  });
  return shown(decision);
}

async function voidHold(deps: EscrowDeps, { holdId }: Body<'void'>, call: BusCall): Promise<Answered> {
  const { decision } = await deps.ledger.voidHold(moveCall(call), { holdId, owner: call.service });
  return shown(decision);
}

async function state(deps: EscrowDeps, { holdId }: Body<'state'>, { service }: BusCall): Promise<Answered> {
  const found = await deps.reads.serviceHold(holdId, service);
  if (found === null) return { ok: true, value: { state: 'absent' } };
  const { entryId, ...rest } = found;
  return { ok: true, value: { ...rest, ...(entryId === null ? {} : { entryId }) } };
}

async function debit(deps: EscrowDeps, body: Body<'debit'>, call: BusCall): Promise<Answered> {
  const { ref, ...what } = body;
  const { amount, payee = DEFAULT_SINK } = body;
  const payer = await payerOf(deps, body.payer, call);
  if (payer === null) return unknownWorkspace();
  const { decision } = await deps.ledger.debit(moveCall(call), {
    payer,
    amount: microsOf(amount),
    payee,
    payeeOpensWith: await deps.accountOpening.ofPayee(payee, { operator: call.request.operator, stamp: null }),
    by: call.service,
    memo: null,
    reference: { ref, bodyHash: hashOf(what) },
  });
  return shown(decision, { recorded: true });
}

async function refund(deps: EscrowDeps, body: Body<'refund'>, call: BusCall): Promise<Answered> {
  const { ref, ...what } = body;
  const { entryId, amount } = what;
  const { decision } = await deps.ledger.refund(moveCall(call), {
    entryId,
    amount: amount === undefined ? null : microsOf(amount),
    by: call.service,
    ref,
    bodyHash: hashOf(what),
  });
  return shown(decision, { refunded: true });
}

async function open(deps: EscrowDeps, body: Body<'open'>, call: BusCall): Promise<Answered> {
  const { ref, ...what } = body;
  const { account, limit } = what;
  const wish = { account, limit: microsOf(limit), by: call.service, ref, bodyHash: hashOf(what) };
  return shown((await deps.ledger.open(moveCall(call), wish)).decision);
}

async function balance(deps: EscrowDeps, { account }: Body<'balance'>, { request }: BusCall): Promise<Answered> {
  if (isSink(account)) return { ok: true, value: { budget: await deps.reads.sinkBudget(account) } };
  const known = await deps.reads.account(account);
  if (known !== null) return { ok: true, value: { budget: budgetOf(known) } };
  const limit = await deps.accountOpening.ofPayer(account, { operator: request.operator, stamp: null });
  return { ok: true, value: { budget: limit === null ? null : budgetOf(openedAccount(account, limit)) } };
}

function shown(decision: Decision<object, RefusalCode>, leading: object = {}): Answered {
  return decision.ok ? { ok: true, value: { ...leading, ...decision.value } } : decision;
}

const OPERATIONS: { readonly [Operation in EscrowOperation]: Operate<Operation> } = {
  hold,
  capture,
  void: voidHold,
  state,
  debit,
  refund,
  open,
  balance,
};

/** Why the body does not fit, or what came of it. */
export async function operate(
  deps: EscrowDeps,
  operation: EscrowOperation,
  call: BusCall,
): Promise<{ readonly problem: string } | Answered> {
  const parsed = ESCROW[operation].ask.safeParse(call.request.body);
  if (!parsed.success)
    return { problem: parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ') };
  if ('holdId' in parsed.data && !isServiceHoldId(parsed.data.holdId))
    return { problem: 'holdId: is no id of a service' };
  const perform = OPERATIONS[operation] as Operate<EscrowOperation>;
  return perform(deps, parsed.data, call);
}
