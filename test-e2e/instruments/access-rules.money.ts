/** Rows of the access matrix for budgets, holds, pools and rates. */
import type { Fields } from '../client.ts';
import { type AccessRule, admins, everybody, members, operators } from './access-rule.ts';
import type { Tenant } from './tenants.ts';

const workspaceOf = ({ workspace }: Tenant): Fields => ({ workspaceId: workspace });
const money = (tenant: Tenant): Fields => ({ workspaceId: tenant.workspace, amount: 1 });
const noMoney = (fresh: string): Fields => ({ workspaceId: fresh, amount: 1 });

/** Limits are set by admins alone; to anybody else every workspace is one that they do not know. */
function moneyAdmins(args: AccessRule['args'], unknown: NonNullable<AccessRule['unknown']>): AccessRule {
  return { args, viewer: 'RLS_DENIED', admin: 'served', stranger: 'RLS_DENIED', unknown };
}

export const MONEY: Record<string, AccessRule> = {
  escrow_create: operators((_tenant, fresh) => ({ org: fresh })),
  // The organisation is the admin's; the viewer belongs to it without being trusted with its money.
  escrow_canSpend: members(
    ({ org: id }) => ({ agent: id }),
    'FORBIDDEN',
    (fresh) => ({ agent: `org_${fresh}` }),
  ),
  escrow_hold: admins(
    ({ org: id }, fresh) => ({ holdId: fresh, condition: { org: id, amount: 0.01 } }),
    'FORBIDDEN',
    (fresh) => ({ holdId: fresh, condition: { org: `org_${fresh}`, amount: 0.01 } }),
  ),
  escrow_release: everybody((_tenant, fresh) => ({ holdId: fresh })),
  escrow_status: everybody(({ org }) => ({ org })),
  escrow_setWorkspaceBudget: moneyAdmins(money, noMoney),
  escrow_setWorkspaceMemberLimit: moneyAdmins(
    (tenant) => ({ workspaceId: tenant.workspace, agentId: tenant.agent, limit: 1 }),
    (fresh) => ({ workspaceId: fresh, agentId: `agt_${fresh}`, limit: 1 }),
  ),
  escrow_getWorkspacePool: members(workspaceOf, 'E_UNKNOWN_WORKSPACE', (fresh) => ({ workspaceId: fresh })),
  escrow_listWorkspacePools: everybody(),
  escrow_workspaceCanSpend: members(workspaceOf, 'FORBIDDEN', (fresh) => ({ workspaceId: fresh })),
  escrow_workspaceRecordSpend: admins(
    (tenant) => ({ ...money(tenant), agentId: tenant.agent }),
    'FORBIDDEN',
    (fresh) => ({
      ...noMoney(fresh),
      agentId: `agt_${fresh}`,
    }),
  ),
  qos_canProceed: everybody((_tenant, fresh) => ({ key: fresh })),
  qos_checkQuota: everybody(() => ({ input: 'x' })),
  qos_recordFailure: everybody((_tenant, fresh) => ({ key: fresh })),
  qos_withTimeout: everybody(() => ({ task: 'x' })),
};
