/** What other services ask about belonging: to organisations and their parts, to workspaces, and whose an account is. */
import { PlanName } from '@svc/contract/registry.ts';
import { grantingPermission, SPEND } from '../domain/team-permissions.ts';
import { isMemberOf, readAccount, readPlan } from '../store/belonging.ts';
import type { HabitatHandlers } from './handlers.ts';

export const teamOperations: HabitatHandlers<'member' | 'plan' | 'account'> = {
  async member({ owner, agentId }, { deps: { store } }) {
    const { stamp, value } = await isMemberOf(store.client, owner, agentId);
    return { stamp, ...value };
  },
  async plan({ agentId }, { deps: { store } }) {
    const { stamp, value } = await readPlan(store.client, agentId);
    return { stamp, plan: PlanName.nullable().parse(value) };
  },
  async account({ account, by = null }, { deps: { store } }) {
    const { stamp, value } = await readAccount(store.client, account, by);
    const { kind, isOwner, isMember, permissions } = value;
    const isSelf = kind === 'identity' && account === by;
    const maySpend = isSelf || isOwner || grantingPermission(permissions, SPEND) !== null;
    return { stamp, kind, maySpend, mayRead: maySpend || isMember };
  },
};
