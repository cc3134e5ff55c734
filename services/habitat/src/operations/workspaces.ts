/** What other services may have done to workspaces: a place for an identity, a boundary for a resource. */
import { workspaceOfTeam } from '../store/provision.ts';
import { type HabitatHandlers, onBehalfOfNobody } from './handlers.ts';

export const workspaceOperations: HabitatHandlers<'claim' | 'copyPolicies' | 'removeCopies' | 'provision'> = {
  async claim(wish, { deps: { store, revision }, deadlineAt }) {
    const { decision } = await store.claim(onBehalfOfNobody(deadlineAt), wish);
    const { stamp } = await revision.read();
    const claim = decision.ok ? decision.value : null;
    return { stamp, claimed: claim?.claimed ?? false, policy: claim?.policy ?? null };
  },
  async copyPolicies(wish, { deps: { store, revision }, deadlineAt }) {
    const { decision } = await store.copyPolicies(onBehalfOfNobody(deadlineAt), wish);
    const { stamp } = await revision.read();
    const resources = decision.ok ? decision.value : [];
    return { stamp, copied: decision.ok ? resources.length : null, resources };
  },
  async removeCopies(wish, { deps: { store, revision }, deadlineAt }) {
    const { decision } = await store.removeCopies(onBehalfOfNobody(deadlineAt), wish);
    const { stamp } = await revision.read();
    return { stamp, removed: decision.ok ? decision.value : 0 };
  },
  async provision({ workspace, team, ...wish }, { deps: { store, revision }, deadlineAt }) {
    const place = { ...wish, workspace: workspace ?? workspaceOfTeam(team) };
    const { decision } = await store.provisionFor(onBehalfOfNobody(deadlineAt), place);
    const { stamp } = await revision.read();
    if (!decision.ok) return { stamp, provisioned: null };
    const { workspace: home, roles, created } = decision.value;
    return { stamp, provisioned: { workspace: home, roles, created } };
  },
};
