/** What other services may have done to workspaces: a place for an identity, a boundary for a resource. */
import { ASKED_WITHIN_MS } from '@svc/contract/registry.ts';
import { allow, deny } from '@svc/contract/decision.ts';
import { workspaceOfTeam, provision } from '../store/provision.ts';
import { claimResource, copyPolicies } from '../store/policy-rows.ts';
import { readSource } from '../store/family-rows.ts';
import { lockWorkspace } from '../store/workspace-rows.ts';
import type { HabitatDeps } from '../deps.ts';
import type { Answers } from './answers.ts';

/** Nobody's call: the service that asks has judged whose wish it is. */
function onBehalfOfNobody({ platform }: HabitatDeps) {
  return {
    caller: { subject: {}, operator: false, deadlineAt: platform.clock.now() + ASKED_WITHIN_MS },
    idempotency: null,
  };
}

export const workspaceAnswers: Pick<Answers, 'claim' | 'copyPolicies' | 'provision'> = {
  async claim({ resource, workspaceId, by, declared = false }, deps) {
    const { decision } = await deps.store.change(onBehalfOfNobody(deps), async (unit) => {
      const workspace = await lockWorkspace(unit.tx, workspaceId);
      const isOpen = workspace === null || (declared && workspace.policy === null);
      return allow(isOpen ? null : await claimResource(unit, { resource, workspace, by }));
    });
    const { stamp } = await deps.revision.read();
    const claim = decision.ok ? decision.value : null;
    return { stamp, claimed: claim?.claimed ?? false, policy: claim?.policy ?? null };
  },
  async copyPolicies(wish, deps) {
    const { decision } = await deps.store.change(onBehalfOfNobody(deps), async (unit) => {
      const copied = await copyPolicies(unit, wish);
      return copied === null ? deny('E_DUPLICATE') : allow(copied);
    });
    const { stamp } = await deps.revision.read();
    return { stamp, copied: decision.ok ? decision.value : null };
  },
  async provision({ agentId, workspace, team, role, owner, by }, deps) {
    const wish = { agentId, workspace: workspace ?? workspaceOfTeam(team), role, owner, by };
    const { decision } = await deps.store.change(onBehalfOfNobody(deps), async (unit) => {
      const source = await readSource(unit.tx, { name: by, operator: false }, agentId);
      return provision(unit, { ...wish, source });
    });
    const { stamp } = await deps.revision.read();
    if (!decision.ok) return { stamp, provisioned: null };
    const { workspace: place, roles, created } = decision.value;
    return { stamp, provisioned: { workspace: place, roles, created } };
  },
};
