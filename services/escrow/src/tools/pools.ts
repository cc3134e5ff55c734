/** Pools of workspaces: a limit for all, limits for members, and draws. */
import { z } from 'zod';
import { actorName } from '@svc/contract/actor.ts';
import { LimitCredits, microsOf, PositiveCredits } from '@svc/contract/amount.ts';
import { CallError } from '@svc/contract/codes.ts';
import { deny } from '@svc/contract/decision.ts';
import { holdsAtLeast } from '@svc/contract/registry.ts';
import { IdentityId, WorkspaceName } from '@svc/contract/names.ts';
import { page } from '@svc/contract/params.ts';
import { DEFAULT_WORKSPACE } from '@svc/contract/subject.ts';
import type { Caller } from '@svc/contract/tool.ts';
import { nextPage, positionOf } from '@svc/runtime/paging.ts';
import { drawFor, holdsRole, moneyAdmin, rolesOfCaller, verifiedIdentity } from '../access.ts';
import { defineTool, type EscrowDeps } from '../deps.ts';
import { available, budgetOf, credits, DEFAULT_SINK, openedAccount, poolOf } from '../domain/account.ts';
import { drawDenial, memberAvailable } from '../domain/member.ts';
import { rolesOrUnknown } from '../ports.ts';
import { BudgetShown, Layer, MemberShown } from './arguments.ts';
import { poolShown, visibleWorkspaces } from './overview.ts';
import { settled } from '@svc/runtime/idempotency.ts';
import { moveCall } from './move-call.ts';

const adminId = IdentityId.optional().describe('Admin in whose name an operator acts; a token stands for itself.');
const current = WorkspaceName.optional().describe('Default: the current one.');

function currentWorkspace({ subject }: Caller): string {
  return subject.workspace ?? DEFAULT_WORKSPACE;
}

/** Throws VAF_INPUT_INVALID when nobody is named and the caller is nobody in particular. */
function agentOrSelf(agentId: string | undefined, caller: Caller): string {
  const agent = agentId ?? verifiedIdentity(caller);
  if (agent === null) throw new CallError('VAF_INPUT_INVALID', 'agentId: is needed from a caller without identity');
  return agent;
}

const setBudget = defineTool({
  name: 'escrow_setWorkspaceBudget',
  area: 'escrow',
  description: 'Set the limit of the pool of a workspace, as an admin of that workspace.',
  input: z.strictObject({ workspaceId: WorkspaceName, amount: LimitCredits, adminId }),
  output: z.strictObject({
    ok: z.literal(true),
    workspace: z.string(),
    workspaceId: z.string(),
    adminId: z.string(),
    pool: BudgetShown,
  }),
  access: 'identified',
  effect: 'write-idempotent',
  refuses: ['E_LIMIT_BELOW_COMMITTED', 'E_LEDGER_FROZEN'],
  raises: ['RLS_DENIED'],
  example: { workspaceId: 'acme', amount: 500, adminId: 'alice' },
  async handler({ workspaceId, amount, adminId: named }, context) {
    const { deps, caller } = context;
    const admin = await moneyAdmin(deps.registry, caller, workspaceId, named);
    const account = poolOf(workspaceId);
    const outcome = await deps.ledger.setLimit(moveCall(context), {
      account,
      limit: microsOf(amount),
      opensWith: 0n,
      by: admin,
      repairs: caller.operator && (await isWhole(deps, account)),
    });
    const { budget } = settled(context, outcome);
    return { ok: true as const, workspace: workspaceId, workspaceId, adminId: admin, pool: budget };
  },
});

async function isWhole({ reads, audit }: EscrowDeps, account: string): Promise<boolean> {
  return (await reads.account(account))?.frozen === true && audit.isWhole(account);
}

const setMemberLimit = defineTool({
  name: 'escrow_setWorkspaceMemberLimit',
  area: 'escrow',
  description: 'Set how much of the pool one member may use, as an admin of that workspace.',
  input: z.strictObject({
    workspaceId: WorkspaceName,
    agentId: IdentityId,
    limit: LimitCredits.nullable().describe("Null = the pool's."),
    adminId,
  }),
  output: z.strictObject({
    ok: z.literal(true),
    workspace: z.string(),
    workspaceId: z.string(),
    agentId: z.string(),
    adminId: z.string(),
    member: MemberShown,
  }),
  access: 'identified',
  effect: 'write-idempotent',
  refuses: ['E_LIMIT_BELOW_COMMITTED', 'E_LEDGER_FROZEN'],
  raises: ['RLS_DENIED'],
  example: { workspaceId: 'acme', agentId: 'bob', limit: 25, adminId: 'alice' },
  async handler({ workspaceId, agentId, limit, adminId: named }, context) {
    const admin = await moneyAdmin(context.deps.registry, context.caller, workspaceId, named);
    const wish = { workspaceId, agentId, limit: limit === null ? null : microsOf(limit), by: admin };
    const member = settled(context, await context.deps.ledger.setMemberLimit(moveCall(context), wish));
    return { ok: true as const, workspace: workspaceId, workspaceId, agentId, adminId: admin, member };
  },
});

const getPool = defineTool({
  name: 'escrow_getWorkspacePool',
  area: 'escrow',
  description: "The pool of a workspace and its members' parts; members see their own.",
  input: z.strictObject({ workspaceId: current }),
  output: z.strictObject({
    workspace: z.string(),
    workspaceId: z.string(),
    exists: z.boolean(),
    pool: BudgetShown,
    members: z.array(z.strictObject({ agentId: z.string(), ...MemberShown.shape })),
  }),
  // A workspace without a role for the caller is refused like an unknown one, which only the handler can do.
  access: 'identified',
  effect: 'read',
  refuses: ['E_UNKNOWN_WORKSPACE'],
  async handler({ workspaceId }, { deps, caller, refuse }) {
    const workspace = workspaceId ?? currentWorkspace(caller);
    const { known, roles } = caller.operator
      ? await rolesOrUnknown(deps.registry, caller.registry, 'operator', workspace)
      : await rolesOfCaller(deps.registry, caller, workspace);
    if (!known || (!caller.operator && roles.length === 0)) throw refuse('E_UNKNOWN_WORKSPACE');
    const all = caller.operator || holdsAtLeast(roles, 'admin');
    const seen = all ? null : (verifiedIdentity(caller) ?? '');
    // Of one moment: the parts of the members are what makes up the pool.
    return deps.reads.atOnce(async (reads) => {
      const found = await reads.account(poolOf(workspace));
      const pool = found ?? openedAccount(poolOf(workspace), 0n);
      const members = await reads.members(pool, workspace, seen);
      return { workspace, workspaceId: workspace, exists: found !== null, pool: budgetOf(pool), members };
    });
  },
});

const listPools = defineTool({
  name: 'escrow_listWorkspacePools',
  area: 'escrow',
  description: 'The pools of the workspaces in which the caller has a role.',
  input: z.strictObject(page),
  output: z.strictObject({
    pools: z.array(
      z.strictObject({
        workspace: z.string(),
        workspaceId: z.string(),
        spent: z.number(),
        limit: z.number(),
        available: z.number(),
        pending: z.number(),
      }),
    ),
    nextCursor: z.string().optional(),
  }),
  access: 'identified',
  effect: 'read',
  refuses: [],
  async handler({ limit, cursor }, { deps, caller }) {
    const position = positionOf(limit, cursor);
    const workspaces = await visibleWorkspaces(deps, caller);
    const rows = await deps.reads.pools(workspaces, position.after, position.limit + 1);
    const { items, next } = nextPage(rows, position, ({ accountId }) => accountId);
    const pools = items.map(poolShown).map((shown) => ({ ...shown, workspaceId: shown.workspace }));
    return { pools, ...next };
  },
});

const canDraw = defineTool({
  name: 'escrow_workspaceCanSpend',
  area: 'escrow',
  description: 'Whether a member may draw an amount from the pool; the draw itself decides again.',
  input: z.strictObject({
    workspaceId: current,
    agentId: IdentityId.optional().describe('Default: the caller.'),
    amount: PositiveCredits.optional().describe('Credits, default 1.'),
  }),
  output: z.strictObject({
    allowed: z.boolean(),
    reason: z.enum([
      'budget_available',
      'unknown_workspace',
      'member_limit_exceeded',
      'workspace_pool_exceeded',
      'frozen',
    ]),
    layer: Layer,
    available: z.number().describe("The member's."),
    poolAvailable: z.number(),
  }),
  access: 'workspace:viewer',
  effect: 'read',
  refuses: [],
  raises: ['FORBIDDEN'],
  async handler({ workspaceId, agentId, amount = 1 }, { deps, caller, fail }) {
    const workspace = workspaceId ?? currentWorkspace(caller);
    const agent = agentOrSelf(agentId, caller);
    const layer = 'Escrow' as const;
    const isOwn = agent === verifiedIdentity(caller);
    if (!isOwn && !(await holdsRole(deps.registry, caller, workspace, 'admin')))
      throw fail('FORBIDDEN', `What others may draw is shown to admins of the workspace ${workspace}.`);
    const { known } = await rolesOrUnknown(deps.registry, caller.registry, agent, workspace);
    if (!known) return { allowed: false, reason: 'unknown_workspace' as const, layer, available: 0, poolAvailable: 0 };
    const pool = (await deps.reads.account(poolOf(workspace))) ?? openedAccount(poolOf(workspace), 0n);
    const member = await deps.reads.member(workspace, agent);
    const denial = pool.frozen ? ('frozen' as const) : drawDenial(member, pool, microsOf(amount));
    return {
      allowed: denial === null,
      reason: denial ?? ('budget_available' as const),
      layer,
      available: credits(memberAvailable(member, pool)),
      poolAvailable: credits(available(pool)),
    };
  },
});

const recordSpend = defineTool({
  name: 'escrow_workspaceRecordSpend',
  area: 'escrow',
  description: 'Spend from the pool of a workspace, which counts for the member and for the pool.',
  input: z.strictObject({
    workspaceId: WorkspaceName,
    agentId: IdentityId.optional().describe('Default: the caller.'),
    amount: PositiveCredits,
    memo: z
      .string()
      .max(200)
      .refine((text) => text.isWellFormed() && !text.includes('\0'))
      .optional(),
  }),
  output: z.strictObject({
    recorded: z.literal(true),
    spent: z.number().describe("The member's."),
    poolSpent: z.number(),
    available: z.number().describe("The member's."),
    poolAvailable: z.number(),
    entryId: z.string(),
  }),
  access: 'identified',
  effect: 'write',
  refuses: ['E_UNKNOWN_WORKSPACE', 'E_MEMBER_LIMIT', 'E_POOL_EXCEEDED', 'E_LEDGER_FROZEN', 'E_RUNAWAY'],
  raises: ['FORBIDDEN'],
  dress: { recorded: false },
  example: { workspaceId: 'acme', agentId: 'bob', amount: 2.5 },
  async handler({ workspaceId, agentId, amount, memo }, context) {
    const { deps, caller } = context;
    const member = agentOrSelf(agentId, caller);
    const isUnknown = (await drawFor(deps.registry, caller, workspaceId, member)) === 'unknown';
    const denial = isUnknown ? deny('E_UNKNOWN_WORKSPACE', { reason: 'unknown_workspace' }) : null;
    const outcome = await deps.ledger.draw(moveCall(context), denial, {
      workspaceId,
      member,
      amount: microsOf(amount),
      payee: DEFAULT_SINK,
      by: actorName(caller),
      memo: memo ?? null,
      drawsPerMinute: await deps.registry.setting(caller.registry, 'escrow.runawayPerMinute'),
    });
    return { recorded: true as const, ...settled(context, outcome) };
  },
});

export const poolTools = [setBudget, setMemberLimit, getPool, listPools, canDraw, recordSpend];
