/** What there is in the ledger within the view of a caller. */
import { DEFAULT_WORKSPACE } from '@svc/contract/subject.ts';
import type { Caller } from '@svc/contract/tool.ts';
import { mayRead, verifiedIdentity } from '../access.ts';
import type { EscrowDeps } from '../deps.ts';
import { type Account, budgetOf, workspaceOfAccount } from '../domain/account.ts';

/** Keys of qos are scoped to it. */
export function qosScope({ subject, operator }: Pick<Caller, 'subject' | 'operator'>): string {
  const isNode = operator && subject.agentId === undefined && subject.userId === undefined;
  return isNode ? 'node' : `ws:${subject.workspace ?? DEFAULT_WORKSPACE}`;
}

/** Workspaces whose pools the caller may see; null = all. */
export async function visibleWorkspaces({ registry }: EscrowDeps, caller: Caller): Promise<readonly string[] | null> {
  if (caller.operator) return null;
  const identity = verifiedIdentity(caller);
  if (identity === null) return [];
  const held = await registry.workspaces(caller.registry, identity);
  const bound = caller.token?.bound ?? null;
  return bound === null ? held : held.filter((workspace) => workspace === bound);
}

export function poolShown(pool: Account) {
  const { spent, limit, available, pending } = budgetOf(pool);
  return { workspace: workspaceOfAccount(pool.accountId) ?? '', spent, limit, available, pending };
}

/** Null also for one who has the id of an organisation for a name: the account of that id is then the organisation's. */
async function ownAccount({ registry }: EscrowDeps, caller: Caller): Promise<string | null> {
  const identity = verifiedIdentity(caller);
  return identity !== null && (await mayRead(registry, caller, identity)) ? identity : null;
}

async function countOf(reads: EscrowDeps['reads'], account: string | null): Promise<number> {
  return account !== null && (await reads.account(account)) !== null ? 1 : 0;
}

const MAX_POOLS = 1000;

export async function overview(deps: EscrowDeps, caller: Caller) {
  const { reads, qos } = deps;
  const view = caller.operator ? null : { account: await ownAccount(deps, caller), owner: caller.principal };
  const [budgets, holds, quotas, pools] = await Promise.all([
    view === null ? reads.countBudgets() : countOf(reads, view.account),
    reads.holdCounts(view),
    qos.countOpen(caller.operator ? null : qosScope(caller)),
    visibleWorkspaces(deps, caller).then((workspaces) => reads.pools(workspaces, null, MAX_POOLS)),
  ]);
  return { ok: true as const, budgets, ...holds, quotas, workspacePools: pools.map(poolShown) };
}
