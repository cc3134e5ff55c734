/** What other services may have done to workspaces: a place for an identity, a boundary for a resource. */
import { workspaceOfTeam } from '../store/provision.ts';
import { type Answers, onBehalfOfNobody } from './answers.ts';

export const workspaceAnswers: Pick<Answers, 'claim' | 'copyPolicies' | 'provision'> = {
  async claim(wish, { store, platform, revision }) {
    const { decision } = await store.claim(onBehalfOfNobody(platform), wish);
    const { stamp } = await revision.read();
    const claim = decision.ok ? decision.value : null;
    return { stamp, claimed: claim?.claimed ?? false, policy: claim?.policy ?? null };
  },
  async copyPolicies(wish, { store, platform, revision }) {
    const { decision } = await store.copyPolicies(onBehalfOfNobody(platform), wish);
    const { stamp } = await revision.read();
    return { stamp, copied: decision.ok ? decision.value : null };
  },
  async provision({ workspace, team, ...wish }, { store, platform, revision }) {
    const place = { ...wish, workspace: workspace ?? workspaceOfTeam(team) };
    const { decision } = await store.provisionFor(onBehalfOfNobody(platform), place);
    const { stamp } = await revision.read();
    if (!decision.ok) return { stamp, provisioned: null };
    const { workspace: home, roles, created } = decision.value;
    return { stamp, provisioned: { workspace: home, roles, created } };
  },
};
