/** Budgets and holds. */
import { z } from 'zod';
import { actorName } from '@svc/contract/actor.ts';
import { LimitCredits, microsOf, PositiveCredits } from '@svc/contract/amount.ts';
import { CallError } from '@svc/contract/codes.ts';
import { TimestampMs } from '@svc/contract/params.ts';
import { IdentityId } from '@svc/contract/names.ts';
import { drawFor, mayRead, maySpendFrom, principalOf } from '../access.ts';
import { defineTool, type EscrowDeps } from '../deps.ts';
import { available, budgetOf, credits, openedAccount, poolOf } from '../domain/account.ts';
import { HOLD_TTL } from '../domain/hold.ts';
import { BudgetShown, CallerHoldId, HoldCondition, Layer, OrgId } from './arguments.ts';
import { overview } from './overview.ts';
import { settled } from '@svc/runtime/idempotency.ts';
import { type CallOf, moveCall } from './move-call.ts';

const NAMES = { agent: 'org', agentId: 'org' };

const create = defineTool({
  name: 'escrow_create',
  area: 'escrow',
  description: 'Create a budget, or set the limit of one that exists; what was spent stays.',
  input: z.strictObject({
    org: OrgId,
    budget: LimitCredits.optional().describe('Default as escrow.defaultBudget says (1000), or as it is.'),
  }),
  output: z.strictObject({ ok: z.literal(true), org: z.string(), budget: BudgetShown, created: z.boolean() }),
  access: 'operator',
  effect: 'write-idempotent',
  refuses: ['E_LIMIT_BELOW_COMMITTED', 'E_LEDGER_FROZEN'],
  aliases: NAMES,
  example: { org: 'o1', budget: 1000 },
  async handler({ org, budget }, context) {
    const { ledger, accountOpening } = context.deps;
    const outcome = await ledger.setLimit(moveCall(context), {
      account: org,
      limit: budget === undefined ? null : microsOf(budget),
      opensWith: await accountOpening.defaultBudget(context.caller.registry),
      by: actorName(context.caller),
      repairs: await isWhole(context.deps, org),
    });
    return { ok: true as const, org, ...settled(context, outcome) };
  },
});

/** A frozen account that the audit finds whole again was repaired: the operator's next limit lifts the freeze. */
async function isWhole({ reads, audit }: EscrowDeps, account: string): Promise<boolean> {
  const known = await reads.account(account);
  return known?.frozen === true && (await audit.isWhole(account));
}

const canSpend = defineTool({
  name: 'escrow_canSpend',
  area: 'escrow',
  description: 'Whether an amount fits into what is available; the spend itself decides again.',
  input: z.strictObject({
    agent: OrgId,
    amount: PositiveCredits.optional().describe('Credits, default 1.'),
  }),
  output: z.strictObject({
    allowed: z.boolean(),
    reason: z.enum(['budget_available', 'budget_exceeded', 'unknown_budget', 'frozen']),
    layer: Layer,
    available: z.number(),
  }),
  access: 'identified',
  effect: 'read',
  refuses: [],
  raises: ['FORBIDDEN'],
  aliases: { org: 'agent', agentId: 'agent' },
  example: { agent: 'o1', amount: 10 },
  async handler({ agent, amount = 1 }, { deps, caller, fail }) {
    if (!(await mayRead(deps.registry, caller, agent)))
      throw fail('FORBIDDEN', 'A budget is shown to its agent, members of its organisation and operators.');
    const known = await deps.reads.account(agent);
    const limit = await deps.accountOpening.ofPayer(agent, { operator: caller.operator, stamp: caller.registry });
    const account = known ?? (limit === null ? null : openedAccount(agent, limit));
    const layer = 'Escrow' as const;
    if (account === null) return { allowed: false, reason: 'unknown_budget' as const, layer, available: 0 };
    const left = available(account);
    const shown = { layer, available: credits(left) };
    if (account.frozen) return { allowed: false, reason: 'frozen' as const, ...shown };
    const allowed = left >= microsOf(amount);
    return { allowed, reason: allowed ? ('budget_available' as const) : ('budget_exceeded' as const), ...shown };
  },
});

const hold = defineTool({
  name: 'escrow_hold',
  area: 'escrow',
  description:
    'Hold an amount of a budget or a pool until it is released or its time is over; without an amount, or who pays, it is a record only.',
  input: z.strictObject({ holdId: CallerHoldId, condition: HoldCondition.optional() }),
  output: z.strictObject({
    held: z.literal(true),
    holdId: z.string(),
    expiresAt: TimestampMs,
    reserved: z.number().describe('0 = a record only.'),
  }),
  access: 'identified',
  effect: 'write',
  refuses: [
    'E_HOLD_EXISTS',
    'E_BUDGET',
    'E_HOLD_LIMIT',
    'E_LEDGER_FROZEN',
    'E_UNKNOWN_WORKSPACE',
    'E_MEMBER_LIMIT',
    'E_POOL_EXCEEDED',
  ],
  raises: ['FORBIDDEN'],
  dress: { held: false },
  example: { holdId: 'h1', condition: { amount: 10, agent: 'o1' } },
  async handler({ holdId, condition = {} }, context) {
    const { caller, deps } = context;
    const payer = await payerOf(condition, context);
    if (payer === 'unknown') throw context.refuse('E_UNKNOWN_WORKSPACE', { holdId, reason: 'unknown_workspace' });
    const outcome = await deps.ledger.placeHold(moveCall(context), {
      holdId,
      payer,
      amount: condition.amount === undefined ? 0n : microsOf(condition.amount),
      condition,
      ttlMs: condition.ttlMs ?? HOLD_TTL.defaultMs,
      deadlineAt: null,
      ownerKind: 'caller',
      owner: caller.principal,
      bodyHash: null,
    });
    const { held, expiresAt, reserved } = settled(context, outcome, { holdId });
    return { held, holdId, expiresAt, reserved };
  },
});

/**
 * Who is to pay, as far as the caller may spend there. A record reserves nothing, so it may name anybody; it belongs to
 * the account only when the caller could spend from it.
 */
async function payerOf({ amount, agent, org, workspace }: HoldCondition, { deps, caller }: CallOf) {
  if (workspace !== undefined && agent !== undefined) {
    if (amount === undefined) return null;
    const draws = await drawFor(deps.registry, caller, workspace, agent);
    return draws === 'unknown' ? draws : { account: poolOf(workspace), member: agent, opensWith: null };
  }
  const account = agent ?? org;
  if (account === undefined) return null;
  if (!(await maySpendFrom(deps.registry, caller, account))) {
    if (amount === undefined) return null;
    throw new CallError('FORBIDDEN', 'This is not a budget that the caller may spend from.');
  }
  const { operator, registry: stamp } = caller;
  return { account, member: null, opensWith: await deps.accountOpening.ofPayer(account, { operator, stamp }) };
}

/** Whoever presents the key of the node, or comes from its machine when it has none. */
const OPERATOR = 'operator';

/** Null = the only one under the id, whoever placed it. Throws FORBIDDEN, whether or not there is such a hold. */
function ownerMeant({ principal, operator }: CallOf['caller'], agent: string | undefined): string | null {
  if (agent === undefined) return operator ? null : principal;
  const owner = operator && agent === OPERATOR ? principal : principalOf(agent);
  if (owner !== principal && !operator)
    throw new CallError('FORBIDDEN', 'A hold is given back by who placed it, or by an operator.');
  return owner;
}

const release = defineTool({
  name: 'escrow_release',
  area: 'escrow',
  description: "Give back what a hold of the caller's own reserves; an operator also another caller's.",
  input: z.strictObject({
    holdId: z.string().min(1).max(200),
    agent: z
      .union([z.literal(OPERATOR), IdentityId])
      .optional()
      .describe('Whose hold: of an agent, or operator. Operators need it where several callers use the id.'),
  }),
  output: z.strictObject({ released: z.boolean(), holdId: z.string() }),
  access: 'identified',
  effect: 'write-idempotent',
  refuses: ['E_AMBIGUOUS', 'E_LEDGER_FROZEN'],
  raises: ['FORBIDDEN'],
  aliases: { agentId: 'agent' },
  dress: { released: false },
  example: { holdId: 'h1' },
  async handler({ holdId, agent }, context) {
    const { caller, deps } = context;
    const wish = { holdId, principal: caller.principal, owner: ownerMeant(caller, agent) };
    const outcome = await deps.ledger.release(moveCall(context), wish);
    return { released: settled(context, outcome, { holdId }).released, holdId };
  },
});

const heldShown = z.strictObject({
  held: z.literal(true),
  condition: z.record(z.string(), z.unknown()).nullable(),
  amount: z.number(),
  expiresAt: TimestampMs,
});

const count = z.int();

const status = defineTool({
  name: 'escrow_status',
  area: 'escrow',
  description: 'The budget and the live holds of one, or what there is of each within the view of the caller.',
  input: z.strictObject({ org: OrgId.optional() }),
  output: z.union([
    z.strictObject({
      ok: z.literal(true),
      org: z.string(),
      budget: BudgetShown.nullable(),
      holds: z.record(z.string(), heldShown),
    }),
    z.strictObject({
      ok: z.literal(true),
      budgets: count,
      holds: count,
      approvals: count.describe('Live holds of type approval.'),
      quotas: count.describe('Open qos windows.'),
      workspacePools: z.array(
        z.strictObject({
          workspace: z.string(),
          spent: z.number(),
          limit: z.number(),
          available: z.number(),
          pending: z.number(),
        }),
      ),
    }),
  ]),
  access: 'identified',
  effect: 'read',
  refuses: [],
  aliases: NAMES,
  async handler({ org }, { deps, caller }) {
    return org === undefined ? overview(deps, caller) : statusOf(deps, caller, org);
  },
});

/** One who may not look sees what one sees of an id that does not exist. */
async function statusOf(deps: EscrowDeps, caller: CallOf['caller'], org: string) {
  const shown = { ok: true as const, org };
  if (!(await mayRead(deps.registry, caller, org))) return { ...shown, budget: null, holds: {} };
  const known = await deps.reads.account(org);
  const limit =
    known === null ? await deps.accountOpening.ofPayer(org, { operator: false, stamp: caller.registry }) : null;
  const account = known ?? (limit === null ? null : openedAccount(org, limit));
  // Whoever reads the account of an organisation sees nothing of an agent that has its id for a name.
  const isAgents = caller.operator || caller.principal === principalOf(org);
  const holds = await deps.reads.holdsOf({ account: org, owner: isAgents ? principalOf(org) : null }, caller.principal);
  return { ...shown, budget: account === null ? null : budgetOf(account), holds };
}

export const escrowTools = [create, canSpend, hold, release, status];
